"""Keysets: a mint's public keys by amount, and the id that is derived from them (NUT-01, NUT-02).

```
00…  first version: 7 bytes of a hash over the keys, in order of their amounts
01…  second version: 32 bytes of a hash over amounts, keys, unit, fee and expiry; a token carries the first 8 bytes only
```
We always derive the id from the keys again, so a mint cannot give different payers different keys, and in the second version cannot
lie about its fee either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stepwell.errors import TokenInvalidError

_SHORT = 16


@dataclass(frozen=True)
class KeysetInfo:
    """A keyset as listed by its mint."""

    keyset_id: str
    unit: str
    active: bool
    fee_ppk: int = 0
    final_expiry: int | None = None


@dataclass(frozen=True)
class Keyset:
    """A keyset with its keys, checked against its id."""

    info: KeysetInfo
    keys: Mapping[int, str] = field(repr=False)

    @property
    def keyset_id(self) -> str:
        return self.info.keyset_id

    def key(self, amount: int) -> str:
        """The key for proofs of this amount; `TokenInvalidError` if the keyset has none."""
        try:
            return self.keys[amount]
        except KeyError:
            raise TokenInvalidError(f"The mint has no key for pieces of {amount}.", "token_malformed") from None


def derive_id(keys: Mapping[int, str], info: KeysetInfo) -> str:
    """The id of these keys, in the version given by the first digits of the keyset's own id."""
    if info.keyset_id.startswith("01"):
        return _derive_second(keys, info)
    joined = b"".join(bytes.fromhex(keys[amount]) for amount in sorted(keys))
    return "00" + hashlib.sha256(joined).hexdigest()[:14]


def _derive_second(keys: Mapping[int, str], info: KeysetInfo) -> str:
    text = ",".join(f"{amount}:{keys[amount].lower()}" for amount in sorted(keys)) + f"|unit:{info.unit.lower()}"
    if info.fee_ppk:
        text += f"|input_fee_ppk:{info.fee_ppk}"
    if info.final_expiry is not None:
        text += f"|final_expiry:{info.final_expiry}"
    return "01" + hashlib.sha256(text.encode()).hexdigest()


def short_id(keyset_id: str) -> str:
    """The id as a token carries it."""
    return keyset_id[:_SHORT] if keyset_id.startswith("01") else keyset_id


def full_id(carried: str, known: Iterable[str]) -> str:
    """The full id of the keyset that a token names. A short id that fits two keysets is rejected as ambiguous."""
    fitting = [keyset_id for keyset_id in known if keyset_id == carried or short_id(keyset_id) == carried]
    if len(fitting) != 1:
        fact = "does not know it" if not fitting else "has several keysets that match"
        raise TokenInvalidError(
            f"The token is of keyset '{carried[:66]}', and its mint {fact}. Ask the wallet for a new token.", "keyset_unknown"
        )
    return fitting[0]
