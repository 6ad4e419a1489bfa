"""A run's events reach the log in order and in batches, and a write that fails is not forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stepwell.database.events.log import EventLog
from stepwell.database.types import Lease, NewEvent, RunEvent
from stepwell.errors import LeaseLostError
from stepwell.runs.streaming.journal import Journal

LEASE = Lease("thread", "run", fence=1, owner="somebody")


class SlowLog(EventLog):
    """A log whose writes end when the test says so."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []
        self.writes = asyncio.Queue[asyncio.Future[list[RunEvent]]]()

    def append(self, lease: Lease, events: Sequence[NewEvent]) -> asyncio.Future[list[RunEvent]]:
        self.batches.append([event.data for event in events])
        writing: asyncio.Future[list[RunEvent]] = asyncio.get_running_loop().create_future()
        self.writes.put_nowait(writing)
        return writing


class QuickLog(SlowLog):
    """One whose writes have ended before anybody waits for them."""

    def append(self, lease: Lease, events: Sequence[NewEvent]) -> asyncio.Future[list[RunEvent]]:
        writing = super().append(lease, events)
        writing.set_result([])
        return writing


def words(*given: bytes) -> list[NewEvent]:
    return [NewEvent("custom", word) for word in given]


async def test_the_first_event_is_written_at_once_and_what_comes_meanwhile_goes_together():
    log = SlowLog()
    async with Journal(log, LEASE) as journal:
        for word in (b"1", b"2", b"3"):
            await journal.add(words(word))
        flushing = asyncio.ensure_future(journal.flush())
        for _ in range(2):
            (await log.writes.get()).set_result([])
        await flushing
    assert log.batches == [[b"1"], [b"2", b"3"]]


async def test_a_write_that_has_ended_before_it_is_waited_for_does_not_hold_up_the_flush():
    log = QuickLog()
    async with Journal(log, LEASE) as journal, asyncio.timeout(60):
        await journal.add(words(b"1"))
        await journal.add(words(b"2"))
        await journal.flush()
        await journal.add(words(b"3"))
        await journal.flush()
    assert log.batches == [[b"1"], [b"2"], [b"3"]]


async def test_a_refused_write_is_raised_by_the_next_event_and_by_the_flush():
    log = SlowLog()
    async with Journal(log, LEASE) as journal:
        await journal.add(words(b"1"))
        (await log.writes.get()).set_exception(LeaseLostError("the lease is not the newest"))
        await asyncio.sleep(0)
        with pytest.raises(LeaseLostError):
            await journal.add(words(b"2"))
        with pytest.raises(LeaseLostError):
            await journal.flush()
    assert log.batches == [[b"1"]]


async def test_a_graph_that_is_faster_than_the_log_is_held_back():
    log = SlowLog()
    async with Journal(log, LEASE) as journal:
        await journal.add(words(b"1"))
        adding = asyncio.ensure_future(journal.add(words(*[b"2"] * 2000)))
        await asyncio.sleep(0)
        assert not adding.done()
        for _ in range(2):
            (await log.writes.get()).set_result([])
        await adding


async def test_whoever_is_held_back_may_be_cancelled_and_nothing_is_lost():
    log = SlowLog()
    async with Journal(log, LEASE) as journal:
        await journal.add(words(b"1"))
        adding = asyncio.ensure_future(journal.add(words(*[b"2"] * 2000)))
        await asyncio.sleep(0)
        adding.cancel()
        flushing = asyncio.ensure_future(journal.flush())
        for _ in range(2):
            (await log.writes.get()).set_result([])
        await flushing
    assert [len(batch) for batch in log.batches] == [1, 2000]


async def test_leaving_without_a_flush_drops_the_rest():
    log = SlowLog()
    async with Journal(log, LEASE) as journal:
        await journal.add(words(b"1"))
        await journal.add(words(b"2"))
    assert (await log.writes.get()).cancelled()
    assert log.batches == [[b"1"]]
