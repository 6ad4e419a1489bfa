"""Eight ways in which payers or operators of the nearest system in use could lose money, each shown to lose nothing here.

The list, with its names, is Routstr's own audit of its money paths (github.com/Routstr/routstr-core, pull request 654). All are one
mistake: money was moved at the mint, writing it down failed, and the failure was swallowed. So writing is made to fail here, in the ledger
itself, at the moment it matters. Three more that were reported beside the list follow it.

| theirs | where it was | here |
|---|---|---|
| V-E1 | the change of a call | the refund of a session |
| V-E2, V-E3 | the emergency refund of a call that failed, in two kinds of endpoints | a failed call, in both colours of an agent |
| V-E4 | the refund that a payer asks for | the same, also over a restart |
| V-E5 | a token that is redeemed | the same |
| V-E6 | the refund in an endpoint of its own | the refund that the sweeper makes |
| V-E7 | a token that is redeemed in that endpoint | a token that tops up a session at work |
| V-E8 | the operator's withdrawal | a payout |
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from tests.unit.payments.conftest import SEED, SetClock

from stepwell import CashuPaymentMiddleware, create_deep_agent
from stepwell.errors import PaymentError, RefundUnavailableError, SessionClosedError, StorageUnavailableError
from stepwell.payments.cashu.tokens import decode_token
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint, ScriptedModel, fail, say


class FailingLedger(MemoryLedger):
    """Cannot write down what the next calls of some methods are to remember: the disk is full, the database is gone."""

    def __init__(self, clock: SetClock) -> None:
        super().__init__(clock)
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
def ledger(clock: SetClock) -> Iterator[FailingLedger]:
    ledger = FailingLedger(clock)
    yield ledger
    ledger.close()


@pytest.fixture
def wallet(ledger: FailingLedger, mint: MemoryMint, clock: SetClock) -> Wallet:
    return Wallet(ledger, [mint], SEED, clock=clock, pause_s=0)


async def open_session(wallet: Wallet, mint: MemoryMint, spend: int = 10) -> str:
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
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


async def test_v_e1_a_refund_that_could_not_be_written_down_is_found_again(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger
):
    session_id = await open_session(wallet, mint)
    ledger.failing = ["complete"]
    with pytest.raises(StorageUnavailableError):
        await wallet.refund("alice", session_id)
    assert mint.swaps == 2, "the money has moved"
    assert (await wallet.session("alice", session_id)).state == "settling"
    refund = await wallet.refund("alice", session_id)
    assert mint.spend(await wallet.claim("alice", refund.token_id)) == 88
    await ledger.mark_claimed(refund.token_id)
    await all_found(wallet, mint)


def paid_agent(wallet: Wallet, *replies: Any) -> Any:
    payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(10)), owner="alice")
    return create_deep_agent(ScriptedModel(list(replies)), middleware=[payment], checkpointer=InMemorySaver())


async def ask(agent: Any, colour: str, given: Any, session_id: str) -> Any:
    config = {"configurable": {"thread_id": "t", "funding_id": session_id}}
    return await (asyncio.to_thread(agent.invoke, given, config) if colour == "sync" else agent.ainvoke(given, config))


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_v_e2_a_call_that_fails_is_free_even_if_that_cannot_be_written_down(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger, clock: SetClock, colour: str
):
    """Nothing was taken, so there is no refund to lose: what was set aside is free again when the sweeper comes by."""
    session_id = await open_session(wallet, mint)
    ledger.failing = ["release"]
    agent = paid_agent(wallet, fail(ValueError("half an answer")))
    with pytest.raises(StorageUnavailableError):
        await ask(agent, colour, {"messages": [("user", "hello")]}, session_id)
    session = await wallet.session("alice", session_id)
    assert (session.spent, session.reserved) == (10, 10)
    clock.move(hours=2)
    assert (await wallet.sweep()).released == 1
    assert (await wallet.refund("alice", session_id)).amount == 88
    await all_found(wallet, mint)


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_v_e3_an_answer_whose_charge_cannot_be_written_down_is_not_handed_on(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger, colour: str
):
    session_id = await open_session(wallet, mint)
    ledger.failing = ["settle"]
    agent = paid_agent(wallet, say("lost"), say("kept"))
    with pytest.raises(StorageUnavailableError):
        await ask(agent, colour, {"messages": [("user", "hello")]}, session_id)
    assert (await wallet.session("alice", session_id)).spent == 10
    result = await ask(agent, colour, None, session_id)
    assert [message.content for message in result["messages"]] == ["hello", "kept"]
    assert (await wallet.session("alice", session_id)).spent == 20
    assert (await wallet.refund("alice", session_id)).amount == 78
    await all_found(wallet, mint)


async def test_v_e4_a_refund_that_a_payer_asked_for_survives_the_failure_and_the_restart(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger
):
    session_id = await open_session(wallet, mint)
    ledger.failing = ["complete"] * 2
    mint.faults = ["after"]
    for _ in range(2):
        with pytest.raises(StorageUnavailableError):
            await wallet.refund("alice", session_id)
    restarted = Wallet(ledger, [mint], SEED, pause_s=0)
    refund = await restarted.refund("alice", session_id)
    assert (refund.amount, mint.swaps) == (88, 2)
    assert mint.spend(await restarted.claim("alice", refund.token_id)) == 88
    await ledger.mark_claimed(refund.token_id)
    await all_found(restarted, mint)


async def test_v_e5_a_token_that_was_redeemed_and_not_written_down_is_credited_later(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger
):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    mint.faults = ["after", "before", "before"]
    ledger.failing = ["complete"] * 2
    with pytest.raises((StorageUnavailableError, PaymentError)):
        await wallet.reserve("alice", session_id, "k", 1)
    with pytest.raises(StorageUnavailableError):
        await wallet.recover()
    await all_found(wallet, mint)
    session = await wallet.session("alice", session_id)
    assert (session.credits, session.balance) == (100, 99)


async def test_v_e6_a_refund_that_the_sweeper_could_not_write_down_is_found_again(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger, clock: SetClock
):
    session_id = await open_session(wallet, mint)
    clock.move(hours=25)
    ledger.failing = ["complete"]
    with pytest.raises(StorageUnavailableError):
        await wallet.sweep()
    assert (await wallet.session("alice", session_id)).state == "settling"
    assert await wallet.recover() == 0
    (refund,) = await ledger.unclaimed("alice")
    assert mint.spend(await wallet.claim("alice", refund.token_id)) == 88
    await ledger.mark_claimed(refund.token_id)
    await all_found(wallet, mint)


async def test_v_e7_a_token_that_tops_up_is_credited_once_whatever_cannot_be_written_down(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger
):
    session_id = await open_session(wallet, mint)
    await wallet.fund("alice", mint.issue_token(50), session_id=session_id)
    ledger.failing = ["complete"]
    with pytest.raises(StorageUnavailableError):
        await wallet.reserve("alice", session_id, "large", 100)
    await wallet.settle(await wallet.reserve("alice", session_id, "large", 100), 100)
    session = await wallet.session("alice", session_id)
    assert (session.credits, session.spent) == (150, 110)
    assert [entry.kind for entry in await ledger.entries("alice", session_id)].count("credit") == 2
    await all_found(wallet, mint)


async def test_v_e8_a_payout_that_could_not_be_written_down_is_not_handed_out(
    wallet: Wallet, mint: MemoryMint, ledger: FailingLedger
):
    session_id = await open_session(wallet, mint, spend=40)
    await wallet.refund("alice", session_id)
    ledger.failing = ["pay_out"]
    with pytest.raises(StorageUnavailableError):
        await wallet.payout(mint.url)
    assert (await ledger.totals()).earned_proofs == 40
    await wallet.payout(mint.url)
    (payout,) = [ready for ready in await ledger.unclaimed() if ready.kind == "payout"]
    assert mint.spend(await wallet.claim(None, payout.token_id)) == 40, "whoever lost the response fetches it again"
    ledger.failing = ["mark_claimed"]
    with pytest.raises(StorageUnavailableError):
        await wallet.claim(None, payout.token_id)
    with pytest.raises(RefundUnavailableError):
        await wallet.claim(None, payout.token_id)


async def test_beside_a_refund_whose_response_was_lost_is_given_again(wallet: Wallet, mint: MemoryMint):
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


async def test_beside_a_top_up_that_races_a_refund_is_in_it_or_still_the_payers(wallet: Wallet, mint: MemoryMint):
    """Theirs: money that was topped up while a refund was made went into a balance that the refund then set to zero."""
    for _ in range(20):
        session_id = await open_session(wallet, mint)
        token = mint.issue(50)
        results = await asyncio.gather(
            wallet.refund("alice", session_id),
            wallet.fund("alice", decode_token(token), session_id=session_id),
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


async def test_beside_earnings_are_paid_out_once_whatever_crashes(wallet: Wallet, mint: MemoryMint, ledger: FailingLedger):
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
