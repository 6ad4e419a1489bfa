"""Bech32m (BIP-350): bytes as letters and digits with a checksum that detects typing errors. BIP-173's limit of 90 characters is ignored.

The older form of BIP-173 (`older=True`) has another checksum. Nostr uses it for names (NIP-19).
"""

from __future__ import annotations

from collections.abc import Iterable

_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CONSTANT, _OLDER_CONSTANT = 0x2BC830A3, 1


def encode_bech32m(human_part: str, content: bytes, *, older: bool = False) -> str:
    values = _regroup(content, 8, 5, pad=True)
    remainder = _remainder([*_expand(human_part), *values, *[0] * 6]) ^ (_OLDER_CONSTANT if older else _CONSTANT)
    checksum = [(remainder >> 5 * (5 - place)) & 31 for place in range(6)]
    return f"{human_part}1" + "".join(_ALPHABET[value] for value in [*values, *checksum])


def decode_bech32m(human_part: str, text: str, *, older: bool = False) -> bytes:
    """The decoded bytes; `ValueError` if the human part differs, the checksum is wrong, or upper and lower case are mixed."""
    if text not in (text.lower(), text.upper()):
        raise ValueError("upper and lower case are mixed")
    human, separator, data = text.lower().rpartition("1")
    if not separator or human != human_part or len(data) < 6:
        raise ValueError("not of this kind")
    values = [_ALPHABET.index(letter) for letter in data]
    if _remainder([*_expand(human), *values]) != (_OLDER_CONSTANT if older else _CONSTANT):
        raise ValueError("the checksum is wrong")
    return bytes(_regroup(values[:-6], 5, 8, pad=False))


def _expand(human_part: str) -> list[int]:
    return [ord(letter) >> 5 for letter in human_part] + [0] + [ord(letter) & 31 for letter in human_part]


def _remainder(values: Iterable[int]) -> int:
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for place, part in enumerate(_GENERATOR):
            check ^= part if top >> place & 1 else 0
    return check


def _regroup(values: Iterable[int], from_bits: int, to_bits: int, *, pad: bool) -> list[int]:
    held, bits, groups = 0, 0, []
    for value in values:
        held, bits = (held << from_bits) | value, bits + from_bits
        while bits >= to_bits:
            bits -= to_bits
            groups.append((held >> bits) & ((1 << to_bits) - 1))
        held &= (1 << bits) - 1
    if pad and bits:
        groups.append((held << (to_bits - bits)) & ((1 << to_bits) - 1))
    elif not pad and (bits >= from_bits or held):
        raise ValueError("the padding is wrong")
    return groups
