"""Parts of a ceiling: who gets one, in which order, and for how long somebody waits."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack

import pytest

from stepwell.middleware.spending.reservations import Account, Hold, aholding, await_for, holding, wait_for
from stepwell.middleware.spending.sums import Ceilings, Spending


def account(spent: int = 0, **more: float) -> Account:
    return Account(Spending(tokens=spent), Ceilings(tokens=1_000), **more)


def hold(tokens: int | None) -> Hold:
    return Hold(lambda: None if tokens is None else Spending(tokens=tokens, calls=1))


def test_what_fits_together_is_held_together():
    ours = account()
    holds = [hold(300) for _ in range(4)]
    for each in holds:
        ours.enter(each)
    assert [each.decided.done() for each in holds] == [True, True, True, False]
    ours.leave(holds[0])
    assert holds[3].decided.result() is None


def test_a_call_that_nobody_can_measure_is_alone():
    ours = account()
    first, second, third = hold(None), hold(1), hold(None)
    for each in (first, second, third):
        ours.enter(each)
    assert first.decided.result() is None
    assert not second.decided.done()
    ours.leave(first)
    assert second.decided.result() is None
    assert not third.decided.done()


def test_a_call_that_is_alone_may_pass_the_ceiling():
    ours = account(spent=999)
    only = hold(5_000)
    ours.enter(only)
    assert only.decided.result() is None


def test_small_calls_do_not_pass_a_large_one_that_waits():
    ours = account()
    under_way, large, small = hold(500), hold(900), hold(10)
    for each in (under_way, large, small):
        ours.enter(each)
    assert not small.decided.done()
    ours.leave(under_way)
    assert large.decided.result() is None
    assert small.decided.result() is None, "beside 900 there is room for 10"


def test_whoever_waits_is_refused_once_the_ceiling_is_reached():
    ours = account()
    under_way, waiting = hold(900), hold(900)
    ours.enter(under_way)
    ours.enter(waiting)
    ours.add(Spending(tokens=1_200))
    ours.leave(under_way)
    assert waiting.decided.result() == "the budget of 1,000 tokens is used up"


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_waiting_has_an_end(is_async: bool):
    ours = account(patience_s=0.05)
    ours.enter(hold(900))
    mine = hold(900)
    refusal = await await_for(ours, mine) if is_async else await asyncio.to_thread(wait_for, ours, mine)
    assert refusal == "calls under way hold the rest of the budget, and did not end in time"


async def test_a_thread_and_the_event_loop_wait_for_one_another():
    ours = account(patience_s=120)
    begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        with holding([ours], hold(900).measure):
            begun.set()
            may_end.wait(120)

    thread = threading.Thread(target=work)
    thread.start()
    await asyncio.to_thread(begun.wait, 60)

    async def wait() -> str | None:
        async with aholding([ours], hold(900).measure) as refusal:
            return refusal

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    may_end.set()
    assert await waiting is None
    await asyncio.to_thread(thread.join)


async def test_whoever_gives_up_waiting_is_forgotten():
    ours = account(patience_s=120)
    under_way = hold(900)
    ours.enter(under_way)

    async def wait() -> None:
        async with aholding([ours], hold(900).measure):
            pytest.fail("it had to wait")

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    ours.leave(under_way)
    with holding([ours], hold(1_000).measure) as refusal:
        assert refusal is None


def test_accounts_within_one_another_are_held_all_or_none():
    outer, inner = account(), account()
    with ExitStack() as held:
        assert held.enter_context(holding([outer, inner], hold(900).measure)) is None
        late = hold(200)
        outer.enter(late)
        assert not late.decided.done()
    assert late.decided.result() is None
