"""Secrets and blinding factors, derived from a seed and a counter (NUT-13). The seed is enough to ask a mint again for all it ever signed.

```
keyset 00…   BIP32, m/129372'/0'/<keyset as a number>'/<counter>'/0 for the secret, /1 for the factor
keyset 01…   HMAC-SHA256 over keyset and counter, and 0 or 1
```
Each counter is used once. The ledger allocates them.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from stepwell.errors import needs_extra
from stepwell.payments.cashu.curve import ORDER

with needs_extra("Payments", "payments"):
    from coincurve import PublicKey

_HARDENED = 0x80000000
_PURPOSE = 129372


@dataclass(frozen=True)
class Derived:
    """The secret and blinding factor of one counter."""

    secret: str = field(repr=False)
    factor: bytes = field(repr=False)


def derive(seed: bytes, keyset_id: str, counter: int) -> Derived:
    if keyset_id.startswith("01"):
        message = b"Cashu_KDF_HMAC_SHA256" + bytes.fromhex(keyset_id) + counter.to_bytes(8, "big")
        secret, factor = (hmac.digest(seed, message + kind, "sha256") for kind in (b"\x00", b"\x01"))
        return Derived(secret.hex(), _scalar(int.from_bytes(factor, "big") % ORDER))
    place = int.from_bytes(bytes.fromhex(keyset_id), "big") % (2**31 - 1)
    node = _master(seed)
    for index in (_PURPOSE, 0, place, counter):
        node = _child(node, index + _HARDENED)
    return Derived(_child(node, 0)[0].hex(), _child(node, 1)[0])


_Node = tuple[bytes, bytes]
"""A BIP32 private key and its chain code."""


def _master(seed: bytes) -> _Node:
    digest = hmac.digest(b"Bitcoin seed", seed, "sha512")
    return digest[:32], digest[32:]


def _child(parent: _Node, index: int) -> _Node:
    key, chain = parent
    head = b"\x00" + key if index >= _HARDENED else PublicKey.from_secret(key).format()
    digest = hmac.digest(chain, head + index.to_bytes(4, "big"), "sha512")
    number = (int.from_bytes(digest[:32], "big") + int.from_bytes(key, "big")) % ORDER
    return _scalar(number), digest[32:]


def _scalar(number: int) -> bytes:
    if number == 0:
        raise ArithmeticError("a derived key is zero, which has a chance of 2^-256")
    return number.to_bytes(32, "big")
