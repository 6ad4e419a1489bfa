"""The embedded event log beyond the shared suite: several loops, events of the queue, what is handed over in a strange order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.driven_runs import DrivenRuns, driving, new_id

from stepwell.clock import SystemClock
from stepwell.database.events.followers import MOST_WAITING, Follower
from stepwell.database.events.log import EventLog, insert_events
from stepwell.database.queue.types import ClaimedRun
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import NewEvent, RunEvent

PATIENCE_S = 60.0


@pytest.fixture
async def persistence(tmp_path: Path) -> AsyncIterator[EmbeddedPersistence]:
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as opened:
        yield opened


@pytest.fixture
async def runs(persistence: EmbeddedPersistence) -> AsyncIterator[DrivenRuns]:
    async with driving(persistence) as runs:
        yield runs


@pytest.fixture
async def claim(runs: DrivenRuns) -> ClaimedRun:
    return await runs.begin(new_id())


def word(n: int) -> NewEvent:
    return NewEvent("values", str(n).encode())


def event(seq: int) -> RunEvent:
    return RunEvent(seq, "t", "r", "values", b"")


async def everything(log: EventLog, claim: ClaimedRun) -> list[RunEvent]:
    return [event async for batch in log.follow_run(claim.run.thread_id, claim.run.run_id) for event in batch]


async def test_a_follower_in_another_loop_is_told_of_every_event(
    persistence: EmbeddedPersistence, runs: DrivenRuns, claim: ClaimedRun
):
    heard: list[int] = []
    joined = threading.Event()

    async def follow() -> None:
        async for batch in persistence.events.follow_run(claim.run.thread_id, claim.run.run_id):
            heard.extend(event.seq for event in batch)
            joined.set()

    await persistence.events.append(claim.lease, [word(0)])
    elsewhere = threading.Thread(target=asyncio.run, args=(asyncio.wait_for(follow(), PATIENCE_S),))
    elsewhere.start()
    assert await asyncio.to_thread(joined.wait, PATIENCE_S)
    for number in range(1, 200):
        await persistence.events.append(claim.lease, [word(number)])
    await runs.end(claim)
    await asyncio.to_thread(elsewhere.join, PATIENCE_S)
    assert heard == list(range(1, 202))


async def test_loops_that_append_at_once_leave_no_gap_for_a_follower(
    persistence: EmbeddedPersistence, runs: DrivenRuns, claim: ClaimedRun
):
    """Commits of two loops are handed over in either order; a follower still sees one order."""
    following = asyncio.create_task(everything(persistence.events, claim))

    async def talk() -> None:
        for number in range(200):
            await persistence.events.append(claim.lease, [word(number)])

    others = [threading.Thread(target=asyncio.run, args=(talk(),)) for _ in range(3)]
    for other in others:
        other.start()
    await talk()
    for other in others:
        await asyncio.to_thread(other.join, PATIENCE_S)
    await runs.end(claim)
    heard = await asyncio.wait_for(following, PATIENCE_S)
    assert [event.seq for event in heard] == list(range(1, 802))


@pytest.mark.parametrize("given", [True, False], ids=["with the events", "without the events"])
async def test_events_of_a_foreign_transaction_are_heard_when_announced(
    persistence: EmbeddedPersistence, claim: ClaimedRun, given: bool
):
    log, thread_id = persistence.events, claim.run.thread_id
    following = log.follow_run(thread_id, claim.run.run_id)
    (first,) = await log.append(claim.lease, [word(0)])
    assert await anext(following) == [first]
    coming = asyncio.ensure_future(anext(following))
    await asyncio.sleep(0)
    events = await persistence.database.write(
        lambda connection: insert_events(connection, thread_id, claim.run.run_id, [word(1), word(2)], 0.0)
    )
    log.announce(thread_id, events=events if given else ())
    assert await asyncio.wait_for(coming, PATIENCE_S) == events
    await following.aclose()


async def test_events_of_a_transaction_that_fails_leave_no_gap_in_the_numbers(
    persistence: EmbeddedPersistence, claim: ClaimedRun
):
    def fails(connection) -> None:
        insert_events(connection, claim.run.thread_id, claim.run.run_id, [word(1)], 0.0)
        raise ValueError("after all")

    with pytest.raises(ValueError, match="after all"):
        await persistence.database.write(fails)
    (written,) = await persistence.events.append(claim.lease, [word(2)])
    assert written.seq == 1


async def test_nobody_is_left_behind_when_followers_leave(
    persistence: EmbeddedPersistence, runs: DrivenRuns, claim: ClaimedRun
):
    log = persistence.events
    await log.append(claim.lease, [word(1)])
    followers = [log.follow_thread(claim.run.thread_id, after=0) for _ in range(10)]
    for following in followers:
        await anext(following)
    assert log.following == 10
    for following in followers:
        await following.aclose()
    assert log.following == 0


async def test_a_thread_without_followers_costs_nothing_to_announce(tmp_path: Path):
    database = Database(tmp_path / "stepwell.db")
    log = EventLog(database, SystemClock())
    log.announce("no such thread", "no such run", events=[event(1)])
    assert log.following == 0
    await asyncio.to_thread(database.close)


async def test_a_follower_that_is_given_too_much_is_told_to_look_again():
    follower = Follower(asyncio.get_running_loop())
    assert follower.take() == ([], True)
    follower.give([event(1)])
    assert follower.take() == ([event(1)], False)
    for seq in range(MOST_WAITING + 1):
        follower.give([event(seq)])
    assert follower.take() == ([], True)
    assert follower.take() == ([], False)


async def test_a_follower_that_is_given_large_events_is_told_to_look_again():
    follower = Follower(asyncio.get_running_loop())
    follower.take()
    for seq in range(4):
        follower.give([RunEvent(seq, "t", "r", "values", b"x" * 100_000)])
    assert follower.take() == ([], True)


async def test_one_event_is_handed_over_however_large():
    follower = Follower(asyncio.get_running_loop())
    follower.take()
    large = [event(1), RunEvent(2, "t", "r", "values", b"x" * 5_000_000), event(3)]
    follower.give(large)
    assert follower.take() == (large, False)


async def test_a_follower_whose_loop_is_gone_does_not_hurt_whoever_appends():
    loop = asyncio.new_event_loop()
    follower = Follower(loop)
    loop.close()
    follower.give([event(1)])
    assert follower.first_given == 1
