"""Every operation on money: the one object that the server, the middleware and the command line use.

```
validate   what a token is worth                    fund      store a token for a session; nothing is taken yet
reserve    money for a call; redeems the token      settle    charge for the answer      release   the call failed
confirm    the answers are checkpointed             refund    separate what was spent from what is left
claim      fetch the refund, as often as needed     payout    pay out the earnings
sweep      end idle sessions, record what is spent  recover   finish what a crash left under way
```
Amounts are sats. A payer's token is parsed where it arrives (`decode_token`); everything here takes a `Token`. All fields of a
`Session` are safe to show; tokens leave only through `claim` and `payout`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Self
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

from stepwell.clock import Clock, SystemClock
from stepwell.errors import (
    ConfigurationError,
    MintUnavailableError,
    PaymentError,
    PaymentRequiredError,
    RefundUnavailableError,
    TokenInUseError,
    TokenInvalidError,
    TokenSpentError,
)
from stepwell.payments.cashu.locks import require_key
from stepwell.payments.cashu.money import total
from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.ledger.ledger import Funding, HandedOut, Ledger, NewFunding, Reservation, Session
from stepwell.payments.wallet.accepting import UNIT, Valuation, find_mint, value_token
from stepwell.payments.wallet.auditing import Audit, audit_money
from stepwell.payments.wallet.mint import Mint
from stepwell.payments.wallet.swapping import Swapper

logger = logging.getLogger(__name__)

_LEAST_SEED = 16
_TRIES = 10
_BELOW_FEE = "refund_below_fee"
_TEMPORARY = frozenset({"mint_unavailable", "mint_slow", "mint_answer", "token_pending"})
"""Error codes of temporary faults at a mint. All others need an operator."""
_PAUSES = (1, 2, 4, 8)
_PATIENT_S = 60.0
_MAX_PAID_OUT = 100
"""Proofs per payout: mints accept no more at once."""


@dataclass(frozen=True)
class Swept:
    """The results of a sweep, as counts."""

    refunded: int = 0
    released: int = 0
    claimed: int = 0
    failed: int = 0


class Wallet:
    """Money at some mints, recorded in a ledger. `seed` restores all of it if the ledger is lost (NUT-13): store it elsewhere."""

    def __init__(
        self,
        ledger: Ledger,
        mints: Iterable[Mint],
        seed: bytes,
        *,
        clock: Clock | None = None,
        new_id: Callable[[], str] = lambda: uuid4().hex,
        idle_s: float = 24 * 3600,
        stale_s: float = 3600,
        pause_s: float = 0.3,
    ) -> None:
        if len(seed) < _LEAST_SEED:
            raise ConfigurationError(f"The wallet's seed has {len(seed)} bytes; give it at least {_LEAST_SEED}, better 32.")
        self._ledger = ledger
        self._mints = {mint.url: mint for mint in mints}
        self._clock = clock or SystemClock()
        self._new_id = new_id
        self._idle = timedelta(seconds=idle_s)
        self._stale = timedelta(seconds=stale_s)
        self._pause_s = pause_s
        self._swapper = Swapper(ledger, self._mints, seed, new_id, pause_s)
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, asyncio.Lock]] = WeakKeyDictionary()

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    def through(self, ledger: Ledger) -> Self:
        """The same wallet for the calls of one run, whose driver writes through its own view of the ledger."""
        other = copy(self)
        other._ledger = ledger
        return other

    @property
    def accepted_mints(self) -> tuple[str, ...]:
        return tuple(sorted(self._mints))

    async def validate(self, token: Token) -> Valuation:
        """What a token is worth; a `PaymentError` if we refuse it. Changes nothing anywhere."""
        return await value_token(token, find_mint(token, self._mints), self._clock.now().timestamp())

    async def fund(
        self,
        owner: str,
        token: Token,
        *,
        session_id: str | None = None,
        ceiling_sats: int | None = None,
        refund_pubkey: str | None = None,
        approved: bool = True,
    ) -> Funding:
        """Store a token for a new session, or to top one up. Nothing is taken before the first call. Sending it again has no effect."""
        key = require_key(refund_pubkey) if refund_pubkey else None
        if ceiling_sats is not None and ceiling_sats < 0:
            raise TokenInvalidError("The ceiling is below zero.", "ceiling")
        if known := await self.find_funding(owner, token, session_id):
            return known
        try:
            value = await self.validate(token)
        except (TokenSpentError, MintUnavailableError):
            # If the same token was sent twice at the same moment, it may be our own swap that has spent it.
            if known := await self.find_funding(owner, token, session_id):
                return known
            raise
        return await self._ledger.add_funding(
            NewFunding(
                fingerprint=value.fingerprint,
                session_id=session_id or self._new_id(),
                owner=owner,
                mint=value.mint,
                amount=value.amount_sats,
                fee=value.fee_sats,
                points=tuple(proof.point for proof in value.token.proofs),
                token=encode_token(value.token),
                approved=approved,
                top_up=session_id is not None,
                ceiling=ceiling_sats,
                refund_key=key,
            )
        )

    async def find_funding(self, owner: str, token: Token, session_id: str | None = None) -> Funding | None:
        """The funding of a token that was sent before. A token that was returned untouched counts as new: `None`.

        Raises:
            TokenInUseError: Another owner sent it, or it is in another session than `session_id`.
        """
        find_mint(token, self._mints)
        known = await self._ledger.funding(token.fingerprint)
        if known is None or known.state == "returned":
            return None
        if known.owner != owner or session_id not in (None, known.session_id):
            raise TokenInUseError("This token was sent before. It counts where it was sent first.")
        return known

    def mint_of(self, token: Token) -> str:
        return find_mint(token, self._mints).url

    async def approve(self, owner: str, session_id: str) -> Session:
        await self._ledger.session(owner, session_id)
        return await self._ledger.approve(session_id)

    async def session(self, owner: str | None, session_id: str) -> Session:
        return await self._ledger.session(owner, session_id)

    async def reserve(
        self, owner: str | None, session_id: str, key: str, amount_sats: int, *, confirms: Sequence[str] = ()
    ) -> Reservation:
        """Set money aside for a call. Redeems waiting tokens when needed, so usually only the first call of a session asks the mint.
        `confirms`: keys of charges whose answers are checkpointed by now."""
        if amount_sats < 0:
            raise ValueError("a reservation below zero")
        patience = _MintPatience(self._pause_s)
        for _ in range(_TRIES):
            try:
                return await self._ledger.reserve(owner, session_id, key, amount_sats, confirms=confirms)
            except PaymentRequiredError as short:
                if short.code != "unredeemed":
                    raise
            try:
                await self._redeem_next(session_id)
            except MintUnavailableError as error:
                await patience.wait_after(error)
        raise MintUnavailableError("The session's tokens could not be redeemed. Try again in a moment.")

    async def settle(self, reservation: Reservation, cost_sats: int) -> Reservation:
        return await self._ledger.settle(reservation.key, reservation.attempt, cost_sats)

    async def release(self, reservation: Reservation) -> Reservation:
        return await self._ledger.release(reservation.key, reservation.attempt)

    async def confirm(self, session_id: str, keys: Sequence[str] | None = None) -> int:
        return await self._ledger.confirm(session_id, keys)

    async def refund(self, owner: str | None, session_id: str) -> HandedOut:
        """End a session and prepare its refund. Calling it again returns the same refund."""
        for _ in range(_TRIES):
            session = await self._ledger.session(owner, session_id)
            known = await self._ledger.refund_of(session_id)
            if known is not None:
                return known
            await self._end(session)
        raise RefundUnavailableError("The session keeps changing. Try again when no call is under way.", "session_changed")

    async def claim(self, owner: str | None, refund_id: str) -> str:
        """The refund as a token: the same one every time, until the mint says that it is spent."""
        handed_out = await self._ledger.handed_out(owner, refund_id)
        if not handed_out.claimed:
            try:
                await self._notice_spent([handed_out])
            except MintUnavailableError as error:
                logger.warning("returning a refund without asking its mint: %s", error)
            handed_out = await self._ledger.handed_out(owner, refund_id)
        if handed_out.claimed:
            raise RefundUnavailableError(f"Refund '{refund_id}' was fetched and spent, or was nothing.", "refund_claimed")
        return handed_out.token

    async def payout(self, mint_url: str) -> HandedOut:
        """Earnings at one mint as a token, stored in the ledger until it is spent: all of them, or as much as a token may hold. A payout
        needs no swap, because handing over the token moves the money."""
        proofs = tuple(await self._ledger.earnings(mint_url))[:_MAX_PAID_OUT]
        if not proofs:
            raise RefundUnavailableError(f"Nothing has been earned at {mint_url} that was not paid out.", "nothing_earned")
        token = encode_token(Token(mint_url, UNIT, proofs))
        new = HandedOut(self._new_id(), "payout", None, "", mint_url, total(proofs), False, token)
        return await self._ledger.pay_out(new, proofs)

    async def recover(self) -> int:
        """Finish every swap that was begun. Returns how many are still under way because their mint cannot be reached."""
        left = 0
        for operation in await self._ledger.operations():
            try:
                async with self._alone(operation.session_id):
                    await self._swapper.carry_out(operation)
            except MintUnavailableError as error:
                left += 1
                logger.warning("payment operation %s waits for its mint: %s", operation.operation_id, error)
            except PaymentError as error:
                logger.info("payment operation %s has ended: %s", operation.operation_id, error.code)
        return left

    async def sweep(self) -> Swept:
        """End sessions that are idle or have no thread, free money held for calls that never returned, and record spent refunds."""
        now = self._clock.now()
        stale = await self._ledger.held_since(now - self._stale)
        for reservation in stale:
            await self.release(reservation)
        refunded = failed = claimed = 0
        for session in await self._ledger.sessions(None, ("authorized", "active", "exhausted"), now - self._idle):
            current = await self._ledger.session(None, session.session_id)
            if current.touched_at != session.touched_at:
                continue  # it was used again while we paid back other sessions, which can take long
            if current.reason == _BELOW_FEE:
                continue  # we tried before, and nothing has changed since
            try:
                await self.refund(None, session.session_id)
                refunded += 1
            except PaymentError as error:
                failed += 1
                if error.code == _BELOW_FEE:
                    await self._ledger.keep_rest(session.session_id)
                logger.info("payment session %s is not settled yet: %s", session.session_id, error.code)
        for mint, waiting in _by_mint(await self._ledger.unclaimed()).items():
            try:
                claimed += await self._notice_spent(waiting)
            except PaymentError as error:
                failed += len(waiting)
                logger.info("%d refunds not checked, because %s could not be asked: %s", len(waiting), mint, error.code)
        return Swept(refunded, len(stale), claimed, failed)

    async def audit(self) -> Audit:
        """Whether lines, sums and proofs agree, and whether the mints agree with us. Names mints that could not be asked."""
        return await audit_money(self._ledger, self._mints)

    async def _redeem_next(self, session_id: str) -> None:
        async with self._alone(session_id):
            for operation in await self._ledger.operations(("pending", "unknown")):
                if operation.session_id == session_id:
                    await self._swapper.carry_out(operation)
                    return
            for funding in await self._ledger.fundings(session_id, ("authorized",)):
                await self._swapper.redeem(funding)
                return

    async def _end(self, session: Session) -> None:
        """One step towards the refund of a session."""
        if session.state in ("redeeming", "settling") or await self._ledger.fundings(session.session_id, ("redeeming",)):
            await self._redeem_next(session.session_id)
        elif session.state in ("pending", "authorized"):
            await self._hand_back(session)
        elif session.state not in ("active", "exhausted"):
            raise RefundUnavailableError(
                f"Payment session '{session.session_id}' is {session.state}: there is nothing to pay back.",
                "nothing_taken",
            )
        elif session.reserved:
            raise RefundUnavailableError(
                "This session is paying for calls that are under way. Wait for them, or cancel the run, then ask again.",
                "calls_under_way",
            )
        elif await self._ledger.fundings(session.session_id, ("authorized",)):
            await self._redeem_next(session.session_id)
        elif session.balance == 0:
            nothing = HandedOut(self._new_id(), "refund", session.session_id, session.owner, session.mint, 0, True, "")
            await self._ledger.close_empty(session.session_id, nothing)
        else:
            async with self._alone(session.session_id):
                await self._swapper.settle(session)

    async def _hand_back(self, session: Session) -> None:
        """Nothing was taken: return the tokens as they are, without a fee."""
        tokens = [
            decode_token(funding.token)
            for funding in await self._ledger.fundings(session.session_id, ("pending", "authorized"))
        ]
        proofs = tuple(proof for token in tokens for proof in token.proofs)
        text = encode_token(Token(session.mint, UNIT, proofs))
        await self._ledger.hand_back(
            session.session_id,
            HandedOut(self._new_id(), "refund", session.session_id, session.owner, session.mint, total(proofs), False, text),
        )

    async def _notice_spent(self, waiting: Sequence[HandedOut]) -> int:
        """Mark which of these tokens, all of one mint, were spent, and return how many. Asks the mint about all of them together."""
        points = {ready.token_id: [proof.point for proof in decode_token(ready.token).proofs] for ready in waiting}
        asked = dict.fromkeys(point for of_token in points.values() for point in of_token)
        states = await self._swapper.mint(waiting[0].mint).states(list(asked))
        spent = [token_id for token_id, of_token in points.items() if {states[point] for point in of_token} == {"SPENT"}]
        for token_id in spent:
            await self._ledger.mark_claimed(token_id)
        return len(spent)

    @asynccontextmanager
    async def _alone(self, session_id: str) -> AsyncIterator[None]:
        """One swap per session at a time in this event loop. This only avoids useless requests; the ledger would be correct without it."""
        locks = self._locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        lock = locks.get(session_id)
        if lock is None:
            lock = locks[session_id] = asyncio.Lock()
        async with lock:
            yield


class _MintPatience:
    """Retries a redemption, so that a short outage of the mint does not end a run. That is safe, because the redemption is stored first.
    It retries a few times only, and not when the tries have taken long."""

    def __init__(self, pause_s: float) -> None:
        self._pauses = [pause_s * factor for factor in _PAUSES]
        self._give_up_at = monotonic() + _PATIENT_S

    async def wait_after(self, error: MintUnavailableError) -> None:
        """Wait before the next try. Raises the error if no tries are left, or a retry would not help."""
        if error.code not in _TEMPORARY or not self._pauses or monotonic() > self._give_up_at:
            raise error
        logger.warning("a mint could not be asked, retrying: %s", error.code)
        await asyncio.sleep(self._pauses.pop(0))


def _by_mint(waiting: Iterable[HandedOut]) -> dict[str, list[HandedOut]]:
    found: dict[str, list[HandedOut]] = {}
    for ready in waiting:
        found.setdefault(ready.mint, []).append(ready)
    return found
