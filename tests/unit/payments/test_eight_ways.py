"""Eight ways in which payers or operators of the nearest system in use could lose money, each shown to lose nothing here.

The list follows Routstr's own audit of its money paths (github.com/Routstr/routstr-core, pull request 654) and the reports around it
(462, 602, 605, 644): most are one mistake. Money was moved at the mint, then writing it down failed, and the failure was swallowed.
Writing is made to fail here in the ledger itself, at the moment it matters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.unit.payments.conftest import SEED

from stepwell.errors import PaymentError, RefundUnavailableError, SessionClosedError, StorageUnavailableError
from stepwell.payments.memory_ledger import MemoryLedger
from stepwell.payments.wallet import Wallet
from stepwell.testing import MemoryMint


class FailingLedger(MemoryLedger):
    """Cannot write down what the next calls of some methods are to remember: the disk is full, the database is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: list[str] = []

    def _fail(self, method: str) -> None:
        if method in self.failing:
            self.failing.remove(method)
            raise StorageUnavailableError("The database cannot be used now: disk full.")

    async def complete(self, *given, **named):
        self._fail("complete")
        return await super().complete(*given, **named)

    async def settle(self, *given, **named):
        self._fail("settle")
        return await super().settle(*given, **named)

    async def release(self, *given, **named):
        self._fail("release")
        return await super().release(*given, **named)

    async def pay_out(self, *given, **named):
        self._fail("pay_out")
        return await super().pay_out(*given, **named)

    async def mark_claimed(self, *given, **named):
        self._fail("mark_claimed")
        return await super().mark_claimed(*given, **named)


@pytest.fixture
def ledger() -> Iterator[FailingLedger]:
    ledger = FailingLedger()
    yield ledger
    ledger.close()


@pytest.fixture
def wallet(ledger: FailingLedger, mint: MemoryMint) -> Wallet:
    return Wallet(ledger, [mint], SEED, pause_s=0)


async def open_session(wallet: Wallet, mint: MemoryMint, spend: int = 10) -> str:
    session_id = (await wallet.fund("alice", mint.issue(100))).session_id
    await wallet.settle(await wallet.reserve("alice", session_id, "first", spend), spend)
    return session_id


async def all_found(wallet: Wallet, mint: MemoryMint) -> None:
    """Nothing is under way, and what the mint owes is what is held here or was handed out."""
    assert await wallet.recover() == 0
    audit = await wallet.audit()
    assert audit.adds_up
    assert audit.spent_elsewhere == 0
    waiting = sum(ready.amount for ready in await wallet.ledger.unclaimed())
    assert mint.outstanding == audit.totals.session_proofs + audit.totals.earned_proofs + waiting


async def test_1_a_refund_that_could_not_be_written_down_is_found_again(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger
):
    """Theirs: the refund was made at the mint, storing it failed, the failure was swallowed: nobody could find it again."""
    session_id = await open_session(wallet, mint)
    ledger.failing = ["complete"]
    with pytest.raises(StorageUnavailableError):
        await wallet.refund("alice", session_id)
    assert (await wallet.session("alice", session_id)).state == "settling"
    refund = await wallet.refund("alice", session_id)
    assert mint.spend(await wallet.claim("alice", refund.token_id)) == 88
    await ledger.mark_claimed(refund.token_id)
    await all_found(wallet, mint)


async def test_2_a_failed_call_costs_nothing_even_if_that_cannot_be_written_down(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger
):
    """Theirs: after a failed call an emergency refund was made, and lost the same way. Here a failed call has taken nothing."""
    session_id = await open_session(wallet, mint)
    held = await wallet.reserve("alice", session_id, "fails", 50)
    ledger.failing = ["release"]
    with pytest.raises(StorageUnavailableError):
        await wallet.release(held)
    assert (await wallet.session("alice", session_id)).spent == 10
    await wallet.release(held)
    assert (await wallet.refund("alice", session_id)).amount == 88
    await all_found(wallet, mint)


async def test_3_a_stream_that_breaks_off_is_not_charged(wallet: Wallet, mint: MemoryMint, ledger: FailingLedger):
    """Theirs: the second kind of endpoint had the same emergency path, and the same hole. Here there is one path: what was not settled is
    not charged, and a charge that could not be written down is tried again under the same key."""
    session_id = await open_session(wallet, mint)
    held = await wallet.reserve("alice", session_id, "stream", 20)
    ledger.failing = ["settle"]
    with pytest.raises(StorageUnavailableError):
        await wallet.settle(held, 20)
    assert (await wallet.session("alice", session_id)).spent == 10
    for _ in range(2):
        await wallet.settle(held, 20)
    assert (await wallet.session("alice", session_id)).spent == 30
    await all_found(wallet, mint)


async def test_4_a_token_that_was_redeemed_and_not_written_down_is_credited_later(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger
):
    """Theirs: the mint took the token, then the write or the answer was lost, and the payer had neither token nor credit."""
    session_id = (await wallet.fund("alice", mint.issue(100))).session_id
    mint.faults = ["after", "before", "before"]
    ledger.failing = ["complete"]
    with pytest.raises((StorageUnavailableError, PaymentError)):
        await wallet.reserve("alice", session_id, "k", 1)
    with pytest.raises(StorageUnavailableError):
        await wallet.recover()
    await all_found(wallet, mint)
    session = await wallet.session("alice", session_id)
    assert (session.credits, session.balance) == (100, 99)


async def test_5_a_refund_whose_response_was_lost_is_given_again(wallet: Wallet, mint: MemoryMint):
    """Theirs: who asked again after a lost response was told that there was no balance."""
    session_id = await open_session(wallet, mint)
    first = await wallet.refund("alice", session_id)
    restarted = Wallet(wallet.ledger, [mint], SEED, pause_s=0)
    again = await restarted.refund("alice", session_id)
    assert again == first
    assert await restarted.claim("alice", again.token_id) == await wallet.claim("alice", first.token_id)
    mint.down = True
    assert await restarted.claim("alice", again.token_id), "also while the mint cannot be asked"
    mint.down = False
    await all_found(wallet, mint)


async def test_6_a_top_up_that_races_a_refund_is_in_it_or_still_the_payers(wallet: Wallet, mint: MemoryMint):
    """Theirs: money that was topped up while a refund was made went into a balance that the refund then set to zero."""
    for _ in range(20):
        session_id = await open_session(wallet, mint)
        token = mint.issue(50)
        results = await asyncio.gather(
            wallet.refund("alice", session_id),
            wallet.fund("alice", token, session_id=session_id),
            wallet.refund("alice", session_id),
            return_exceptions=True,
        )
        refund = await wallet.refund("alice", session_id)
        if any(isinstance(result, SessionClosedError) for result in results):
            assert refund.amount == 88
            assert mint.spend(token) == 50
        else:
            assert refund.amount >= 88 + 48
    await all_found(wallet, mint)


async def test_7_earnings_are_paid_out_once_whatever_crashes(wallet: Wallet, mint: MemoryMint, ledger: FailingLedger):
    """Theirs: earnings were paid, then the counter was reset; a crash in between paid them twice."""
    session_id = await open_session(wallet, mint, spend=40)
    await wallet.refund("alice", session_id)
    ledger.failing = ["pay_out"]
    with pytest.raises(StorageUnavailableError):
        await wallet.payout(mint.url)
    payout = await wallet.payout(mint.url)
    assert payout.amount == 40
    with pytest.raises(RefundUnavailableError) as nothing:
        await wallet.payout(mint.url)
    assert nothing.value.code == "nothing_earned"
    assert mint.spend(payout.token) == 40
    assert (await wallet.audit()).adds_up


async def test_8_a_payout_whose_token_was_never_seen_can_be_fetched_again(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger
):
    """Theirs: the operator's withdrawal left no record; when the response was lost, so was the money."""
    session_id = await open_session(wallet, mint, spend=40)
    await wallet.refund("alice", session_id)
    await wallet.payout(mint.url)
    (payout,) = [ready for ready in await ledger.unclaimed() if ready.kind == "payout"]
    assert mint.spend(await wallet.claim(None, payout.token_id)) == 40
    ledger.failing = ["mark_claimed"]
    with pytest.raises(StorageUnavailableError):
        await wallet.claim(None, payout.token_id)
    with pytest.raises(RefundUnavailableError):
        await wallet.claim(None, payout.token_id)
