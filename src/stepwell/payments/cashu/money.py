"""The values of the protocol: proofs (the money itself), messages to sign, their signatures, and sums (NUT-00, NUT-02).

`repr` of a proof shows no secret, because values end up in logs and tracebacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from stepwell.errors import TokenInvalidError
from stepwell.payments.cashu.curve import secret_point

LARGEST_AMOUNT = 2**53
"""Above this, JSON loses digits; it is also more than all sats there will ever be."""


@dataclass(frozen=True)
class Dleq:
    """A mint's proof that it signed with the key it publishes. `r` comes with money that another wallet unblinded."""

    e: str
    s: str
    r: str = field(default="", repr=False)


@dataclass(frozen=True)
class Proof:
    """Money: anyone who knows `secret` and `signature` can spend it."""

    amount: int
    keyset_id: str
    secret: str = field(repr=False)
    signature: str = field(repr=False)
    dleq: Dleq | None = field(default=None, repr=False)
    witness: str | None = field(default=None, repr=False)

    @cached_property
    def point(self) -> str:
        """Identifies the money to the mint without revealing the secret."""
        return secret_point(self.secret)

    def to_wire(self) -> dict[str, Any]:
        """The proof as we send it to a mint, without the DLEQ, which would only tell the mint who paid whom."""
        wire: dict[str, Any] = {"amount": self.amount, "id": self.keyset_id, "secret": self.secret, "C": self.signature}
        if self.witness is not None:
            wire["witness"] = self.witness
        return wire


@dataclass(frozen=True)
class BlindedMessage:
    """What we ask a mint to sign."""

    amount: int
    keyset_id: str
    blinded: str

    def to_wire(self) -> dict[str, Any]:
        return {"amount": self.amount, "id": self.keyset_id, "B_": self.blinded}


@dataclass(frozen=True)
class BlindSignature:
    """A mint's signature on a blinded message."""

    amount: int
    keyset_id: str
    signature: str
    dleq: Dleq | None = None


def total(proofs: Iterable[Proof]) -> int:
    return sum(proof.amount for proof in proofs)


def require_amount(value: Any) -> int:
    """A whole number of the unit, at least one."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST_AMOUNT:
        raise TokenInvalidError("The token contains an amount that is not a whole number of sats.", "token_malformed")
    return value


def split(amount: int, values: Sequence[int]) -> list[int]:
    """The amount split into the fewest of these values, smallest first."""
    pieces = []
    for value in sorted(values, reverse=True):
        count, amount = divmod(amount, value)
        pieces += [value] * count
    if amount:
        raise ValueError(f"a keyset without a key for 1 cannot pay the last {amount}")
    return pieces[::-1]


def swap_fee(proofs: Iterable[Proof], fees_ppk: Mapping[str, int]) -> int:
    """The mint's fee for swapping these proofs: the sum of their fees in thousandths, rounded up once (NUT-02)."""
    return -(-sum(fees_ppk[proof.keyset_id] for proof in proofs) // 1000)
