"""Swaps that cannot be lost: we store them whole, then send them, then ask what happened, for as long as it takes.

```
begin (outputs are stored) ──> ask the mint ──signatures──────────────────────────────> complete
                                  │ no answer: retry the same request, now and later (`recover`); the mint may have done it
                                  └ refused: ask for the signatures again (NUT-09)
                                       ├ all of them: it had done it before ───────────> complete
                                       ├ some or all, and the inputs are unspent ──────> fail: the outputs were used before
                                       ├ none, and the inputs are unspent ─────────────> fail: nothing was taken
                                       ├ none, and the inputs are spent for good ──────> fail: they were spent elsewhere
                                       │     (our own inputs, in a settlement) ────────> unknown: the mint contradicts itself
                                       └ some of them ─────────────────────────────────> unknown
```
Any number of workers may carry out one operation at the same time: all send the same request, and one of them completes it. If one
worker gives up and another then gets the signatures after all, the signatures count, because what the mint has signed is money.

Outputs are derived from the seed and a counter (NUT-13). A database restored from an older backup, or started afresh with the same seed,
reuses counters, and the mint has already signed those outputs for other money. We skip those counters, because otherwise a payer would
get credit for a token that we never took.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from stepwell.errors import (
    MintAnswerError,
    MintRejectedError,
    MintUnavailableError,
    RefundUnavailableError,
    TokenInvalidError,
    TokenSpentError,
)
from stepwell.payments.cashu.keysets import Keyset
from stepwell.payments.cashu.money import BlindSignature, Proof, total
from stepwell.payments.cashu.outputs import Output, Share, count_pieces, make_outputs, make_proofs
from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.ledger.ledger import Funding, HandedOut, Ledger, Operation, Session
from stepwell.payments.wallet.accepting import UNIT, fee_of, resolve_keysets
from stepwell.payments.wallet.mint import Mint

logger = logging.getLogger(__name__)

_TRIES = 3
_KEYSET_INACTIVE = 12002
_NOT_BALANCED = 11005
_NOT_DECIDED = frozenset({11001, 11002, 11003, 11004})
"""The codes for spent, pending, signed, outputs pending. The mint has seen this request before, and we must still find out its outcome."""
_OUTPUTS_USED = "outputs_used"
_SKIPPED_AT_ONCE = 100
_MAX_SKIPPED = 200 * _SKIPPED_AT_ONCE
"""How many counters we skip per step, and in total. Wallets that restore money from a seed give up after a few hundred unused ones."""


@dataclass(frozen=True)
class _Outcome:
    """What we found out after a refusal: the signatures the mint had made, or why there are none."""

    signatures: list[BlindSignature] | None = None
    reason: str = ""
    final: bool = False
    unknown: bool = False


class Swapper:
    """Redeems tokens and settles sessions."""

    def __init__(
        self, ledger: Ledger, mints: Mapping[str, Mint], seed: bytes, new_id: Callable[[], str], pause_s: float = 0.3
    ) -> None:
        self._ledger = ledger
        self._mints = mints
        self._seed = seed
        self._new_id = new_id
        self._pause_s = pause_s

    def mint(self, url: str) -> Mint:
        """The mint of money that we hold; `MintUnavailableError` if the operator has taken it off the list meanwhile."""
        try:
            return self._mints[url]
        except KeyError:
            raise MintUnavailableError(
                f"The ledger holds money of {url}, which is no longer among the accepted mints. Put it back on the list.",
                "mint_missing",
            ) from None

    async def redeem(self, funding: Funding) -> None:
        """Swap a token for money of our own. `TokenSpentError` or `MintRejectedError` if the mint refuses it."""
        token = decode_token(funding.token)
        mint = self.mint(token.mint)
        keyset = await self._active_keyset(mint)
        token = await resolve_keysets(token, mint)
        fee = await fee_of(token.proofs, mint)
        if fee >= token.amount:  # the mint has raised it since we checked the token
            raise TokenInvalidError(
                f"Redeeming the token costs {fee} sats by now, which is all it is worth.", "token_below_fee"
            )
        outputs = await self._outputs(keyset, [Share("session", token.amount - fee)])
        operation = await self._ledger.begin(
            Operation(
                operation_id=self._new_id(),
                kind="redeem",
                session_id=funding.session_id,
                owner=funding.owner,
                mint=mint.url,
                amount=token.amount,
                fee=fee,
                inputs=token.proofs,
                outputs=tuple(outputs),
                fingerprint=funding.fingerprint,
            )
        )
        if operation is not None:
            await self.carry_out(operation)

    async def settle(self, session: Session) -> bool:
        """Separate what was spent from what is left. False if the session has changed meanwhile and must be read again."""
        mint = self.mint(session.mint)
        keyset = await self._active_keyset(mint)
        inputs = _choose(await self._ledger.session_proofs(session.session_id), session.balance)
        fee = await fee_of(inputs, mint)
        if fee >= session.balance:
            raise RefundUnavailableError(
                f"The {session.balance} sats that are left are not more than the mint's fee of {fee} for paying them out.",
                "refund_below_fee",
            )
        shares = [
            Share("refund", session.balance - fee, session.refund_key),
            Share("earnings", total(inputs) - session.balance),
        ]
        operation = await self._ledger.begin(
            Operation(
                operation_id=self._new_id(),
                kind="settle",
                session_id=session.session_id,
                owner=session.owner,
                mint=mint.url,
                amount=total(inputs),
                fee=fee,
                inputs=inputs,
                outputs=tuple(await self._outputs(keyset, shares)),
            )
        )
        if operation is None:
            return False
        await self.carry_out(operation)
        return True

    async def carry_out(self, operation: Operation) -> None:
        """Have the mint do the swap, or find out what it did. `MintUnavailableError` leaves everything as it is, for a retry."""
        if operation.state == "unknown":
            raise MintAnswerError(
                f"We cannot tell what the mint did with operation '{operation.operation_id}'. An operator has to look.",
                "mint_unknown_outcome",
            )
        mint = self.mint(operation.mint)
        try:
            signatures = await self._ask(mint, operation)
        except MintRejectedError as refusal:
            outcome = await self._find_out(mint, operation, refusal)
            if outcome.signatures is None:
                await self._give_up(operation, outcome, refusal)
                return
            signatures = outcome.signatures
        keysets = {output.keyset_id: await mint.keyset(output.keyset_id) for output in operation.outputs}
        await self._complete(operation, make_proofs(operation.outputs, signatures, keysets))

    async def _ask(self, mint: Mint, operation: Operation) -> list[BlindSignature]:
        """Sends the swap, and retries it after a fault or an unusable answer. That is safe, because a mint that has done the swap already
        gives the same answer (NUT-19), or refuses."""
        messages = [output.message for output in operation.outputs]
        for attempt in range(1, _TRIES + 1):
            try:
                return await mint.swap(operation.inputs, messages)
            except MintUnavailableError:
                if attempt == _TRIES:
                    raise
                await asyncio.sleep(self._pause_s * attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _find_out(self, mint: Mint, operation: Operation, refusal: MintRejectedError) -> _Outcome:
        """Another worker may be sending the same swap right now. So we check the inputs before we ask for the signatures: if
        the inputs are spent and the signatures are still missing, even after a retry, the inputs were spent elsewhere."""
        points = [proof.point for proof in operation.inputs]
        for attempt in range(1, _TRIES + 1):
            states = set((await mint.states(points)).values())
            restored = await mint.restore([output.message for output in operation.outputs])
            if restored and states != {"SPENT"}:  # another worker's swap in between would have spent the inputs too
                states = set((await mint.states(points)).values())
            if restored and states == {"SPENT"}:
                return _found(operation, restored)
            if (
                restored and "PENDING" not in states and attempt == _TRIES
            ):  # a swap takes all inputs or none, so it was not this one
                return _Outcome(reason=_OUTPUTS_USED)
            decided = not restored and "PENDING" not in states and ("SPENT" in states or refusal.mint_code not in _NOT_DECIDED)
            if decided and ("SPENT" not in states or attempt == _TRIES):
                return _judge(operation, refusal, states)
            await asyncio.sleep(self._pause_s * attempt)
        raise MintUnavailableError("The mint is still working on this money. Try again in a moment.", "token_pending")

    async def _give_up(self, operation: Operation, outcome: _Outcome, refusal: MintRejectedError) -> None:
        """Record that nothing was taken, or that the outcome is unknown, then raise the error that says so."""
        if outcome.unknown:
            logger.error("payment operation %s has an unknown outcome: %s", operation.operation_id, outcome.reason)
            await self._ledger.mark_unknown(operation.operation_id, outcome.reason)
            raise MintAnswerError(
                "The mint contradicts itself. Nothing is lost; an operator has to look.", "mint_unknown_outcome"
            )
        if not await self._ledger.fail(operation.operation_id, outcome.reason, final=outcome.final):
            return  # another worker has finished it meanwhile, one way or the other
        if outcome.reason == _OUTPUTS_USED:
            logger.warning("outputs of payment operation %s were used before; skipping to later ones", operation.operation_id)
            await self._skip_used(self.mint(operation.mint), operation.outputs[0].keyset_id)
            return  # the caller retries
        if outcome.reason == "token_spent":
            raise TokenSpentError(
                "The token was valid when you sent it, but was spent elsewhere before work began. Nothing was taken; send another one.",
                "token_spent_since",
            ) from refusal
        if refusal.mint_code == _NOT_BALANCED:
            raise MintRejectedError(
                "The mint charges a fee other than the one it publishes. Nothing was taken; pay with a token of another mint.",
                refusal.mint_code,
                "mint_fee",
            ) from refusal
        raise refusal

    async def _complete(self, operation: Operation, proofs: Sequence[Proof]) -> None:
        refund = None
        if operation.kind == "settle":
            back = tuple(proof for proof, output in zip(proofs, operation.outputs, strict=True) if output.purpose == "refund")
            refund = HandedOut(
                token_id=operation.operation_id,
                kind="refund",
                session_id=operation.session_id,
                owner=operation.owner,
                mint=operation.mint,
                amount=total(back),
                claimed=False,
                token=encode_token(Token(operation.mint, UNIT, back)),
            )
        await self._ledger.complete(operation.operation_id, proofs, refund)

    async def _skip_used(self, mint: Mint, keyset_id: str) -> None:
        """Advance the counter until the mint no longer knows the outputs."""
        keyset = await mint.keyset(keyset_id)
        for _ in range(0, _MAX_SKIPPED, _SKIPPED_AT_ONCE):
            counter = await self._ledger.next_counter(keyset_id, _SKIPPED_AT_ONCE)
            (probe,) = make_outputs([Share("session", 1)], keyset, self._seed, counter)
            if not await mint.restore([probe.message]):
                return

    async def _outputs(self, keyset: Keyset, shares: Sequence[Share]) -> list[Output]:
        shares = [share for share in shares if share.amount]
        counter = await self._ledger.next_counter(keyset.keyset_id, count_pieces(shares, keyset))
        return make_outputs(shares, keyset, self._seed, counter)

    async def _active_keyset(self, mint: Mint) -> Keyset:
        """The active keyset that is cheapest to spend later. We ask the mint before computing fees: its list from a minute
        ago may be out of date, and the mint refuses a swap that is one sat short."""
        active = [info for info in (await mint.keysets(fresh=True)).values() if info.active and info.unit == UNIT]
        if not active:
            raise MintAnswerError("The mint has no active keyset for sats.", "mint_keys")
        return await mint.keyset(min(active, key=lambda info: (info.fee_ppk, info.keyset_id)).keyset_id)


def _found(operation: Operation, restored: Mapping[str, BlindSignature]) -> _Outcome:
    """The outcome if the inputs are spent and the mint has signatures."""
    if len(restored) < len(operation.outputs):
        return _Outcome(reason="the mint signed a part of the outputs", unknown=True)
    return _Outcome([restored[output.blinded] for output in operation.outputs])


def _judge(operation: Operation, refusal: MintRejectedError, states: Collection[str]) -> _Outcome:
    """The outcome if the mint has signed nothing for us. It depends on whether the inputs are still unspent."""
    if "SPENT" not in states:
        # If the keyset was rotated meanwhile, the token isn't at fault: it may be retried with the new one.
        return _Outcome(reason=f"mint_rejected_{refusal.mint_code}", final=refusal.mint_code != _KEYSET_INACTIVE)
    if operation.kind == "settle":
        return _Outcome(reason="the mint calls our own money spent and has signed nothing for it", unknown=True)
    return _Outcome(reason="token_spent", final=True)


def _choose(proofs: Sequence[Proof], amount: int) -> tuple[Proof, ...]:
    """The fewest proofs that cover an amount, because each costs a fee. The others are earned as they are."""
    chosen: list[Proof] = []
    for proof in sorted(proofs, key=lambda proof: proof.amount, reverse=True):
        if total(chosen) >= amount:
            break
        chosen.append(proof)
    return tuple(chosen)
