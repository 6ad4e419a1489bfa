"""Blinded outputs: what a swap asks the mint to sign, with everything needed to turn the answer into money.

We store them completely before we ask the mint. With them, one can always get the signatures again (NUT-09).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from stepwell.errors import MintAnswerError
from stepwell.payments.cashu.curve import blind, parse_scalar, proves_signature, unblind
from stepwell.payments.cashu.derivation import derive
from stepwell.payments.cashu.keysets import Keyset
from stepwell.payments.cashu.locks import lock_secret
from stepwell.payments.cashu.money import BlindedMessage, BlindSignature, Dleq, Proof, split

Purpose = Literal["session", "earnings", "refund"]
"""What becomes of the money: it is held for a payer, earned, or refunded."""


@dataclass(frozen=True)
class Output:
    """One future proof."""

    amount: int
    keyset_id: str
    purpose: Purpose
    blinded: str
    secret: str = field(repr=False)
    factor: str = field(repr=False)

    @property
    def message(self) -> BlindedMessage:
        return BlindedMessage(self.amount, self.keyset_id, self.blinded)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Output:
        return cls(**data)


@dataclass(frozen=True)
class Share:
    """An amount that a swap gives to one owner, locked to a key if there is one."""

    purpose: Purpose
    amount: int
    lock_key: str | None = None


def count_pieces(shares: Iterable[Share], keyset: Keyset) -> int:
    """How many counters the shares need."""
    return sum(len(split(share.amount, list(keyset.keys))) for share in shares)


def make_outputs(shares: Iterable[Share], keyset: Keyset, seed: bytes, counter: int) -> list[Output]:
    """Outputs for the shares, starting at `counter`. A lock's nonce is derived too, so that the seed alone can restore the output."""
    outputs = []
    for share in shares:
        for amount in split(share.amount, list(keyset.keys)):
            derived = derive(seed, keyset.keyset_id, counter)
            secret = lock_secret(share.lock_key, derived.secret) if share.lock_key else derived.secret
            outputs.append(
                Output(amount, keyset.keyset_id, share.purpose, blind(secret, derived.factor), secret, derived.factor.hex())
            )
            counter += 1
    return outputs


def make_proofs(outputs: Sequence[Output], signatures: Sequence[BlindSignature], keysets: Mapping[str, Keyset]) -> list[Proof]:
    """Proofs from the mint's signatures. `MintAnswerError` if one does not match its output, or is not provably the mint's."""
    if len(outputs) != len(signatures):
        raise MintAnswerError(f"We asked the mint for {len(outputs)} signatures and got {len(signatures)}.")
    return [
        _make_proof(output, signature, keysets[output.keyset_id]) for output, signature in zip(outputs, signatures, strict=True)
    ]


def _make_proof(output: Output, signature: BlindSignature, keyset: Keyset) -> Proof:
    if (signature.amount, signature.keyset_id) != (output.amount, output.keyset_id):
        raise MintAnswerError("The mint signed another amount than requested, or used another keyset.")
    key, dleq = keyset.key(output.amount), signature.dleq
    if dleq is None or not proves_signature(output.blinded, signature.signature, key, dleq.e, dleq.s):
        raise MintAnswerError("The mint does not prove that it signed with the key it publishes (NUT-12).", "mint_proof")
    return Proof(
        amount=output.amount,
        keyset_id=output.keyset_id,
        secret=output.secret,
        signature=unblind(signature.signature, parse_scalar(output.factor), key),
        dleq=Dleq(dleq.e, dleq.s, output.factor),
    )
