"""The suite for event logs: what is appended under a lease is numbered, kept as it is, and read back."""

from __future__ import annotations

import asyncio

import orjson
import pytest
from tests.contract.suites.event_log.case import (
    EventLogCase,
    append_documents,
    gather,
    large_state,
    numbers,
    said,
    said_of,
    trim,
    words,
)
from tests.support.driven_runs import OWNER, DrivenRuns, new_id

from stepwell.database.documents.book import VALUES
from stepwell.database.events.log import EventLog
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import ClaimedRun
from stepwell.database.types import Document, NewEvent, RunOutcome
from stepwell.errors import LeaseLostError


class AppendingCases(EventLogCase):
    async def test_events_are_numbered_from_one_without_gaps(self, log: EventLog, claim: ClaimedRun) -> None:
        first = await log.append(claim.lease, words(1, 2))
        second = await log.append(claim.lease, words(3))
        assert numbers(first + second) == [1, 2, 3]
        assert await log.read(claim.run.thread_id) == first + second

    async def test_the_newest_number_is_the_last_events(self, log: EventLog, claim: ClaimedRun) -> None:
        assert await log.newest(claim.run.thread_id) == await log.newest(new_id()) == 0
        await log.append(claim.lease, words(1, 2, 3))
        assert await log.newest(claim.run.thread_id) == 3

    async def test_the_newest_number_stays_when_its_event_is_trimmed(
        self, log: EventLog, runs: DrivenRuns, persistence: Persistence, claim: ClaimedRun
    ) -> None:
        await log.append(claim.lease, words(1, 2))
        await runs.end(claim)
        await runs.begin(claim.run.thread_id)
        newest = await log.newest(claim.run.thread_id)
        assert await trim(persistence) == newest
        assert await log.read(claim.run.thread_id) == []
        assert await log.newest(claim.run.thread_id) == newest

    async def test_an_event_comes_back_as_it_was_written(self, log: EventLog, claim: ClaimedRun) -> None:
        awkward = [
            NewEvent("messages|tools:1", b'{"text": "\xc3\xbc \\u0000"}'),
            NewEvent("custom", b""),
            NewEvent("x" * 500, b"[" * 70_000),
        ]
        await log.append(claim.lease, awkward)
        back = await log.read(claim.run.thread_id)
        assert [NewEvent(event.event, event.data) for event in back] == awkward
        assert {(event.thread_id, event.run_id) for event in back} == {(claim.run.thread_id, claim.run.run_id)}

    async def test_what_is_stored_as_changes_is_read_whole(self, log: EventLog, claim: ClaimedRun) -> None:
        texts = await append_documents(log, claim, range(1, 40))
        back = await log.read(claim.run.thread_id)
        assert [event.data for event in back] == texts
        assert all(event.complete for event in back)
        for event in back:
            assert await log.read(claim.run.thread_id, after=event.seq - 1, limit=1) == [event]

    async def test_forgetting_events_leaves_whole_what_others_build_on(
        self, log: EventLog, runs: DrivenRuns, persistence: Persistence, claim: ClaimedRun
    ) -> None:
        thread_id = claim.run.thread_id
        await append_documents(log, claim, range(1, 11))
        last = (await log.documents(thread_id)).write(VALUES, large_state(10))
        await runs.end(claim, RunOutcome("success", "idle", values=last))
        second = await runs.begin(thread_id)
        texts = await append_documents(log, second, range(11, 20))
        assert await trim(persistence) > 20
        assert [event.data for event in await log.read(thread_id)] == texts

    async def test_values_stored_as_changes_are_the_next_runs_base(
        self, log: EventLog, runs: DrivenRuns, persistence: Persistence, claim: ClaimedRun
    ) -> None:
        thread_id, state = claim.run.thread_id, large_state(60)
        for count in (61, 62):
            documents = await log.documents(thread_id)
            outcome = RunOutcome(
                "success", "idle", values=documents.write(VALUES, state), result=documents.write(VALUES, state)
            )
            await runs.end(claim, outcome)
            assert (await persistence.records.get_thread(OWNER, thread_id)).values == state
            _, result = await persistence.records.get_run_and_result(OWNER, thread_id, claim.run.run_id)
            assert orjson.loads(result or b"") == state
            claim, state = await runs.begin(thread_id), large_state(count)
        written = (await log.documents(thread_id)).write(VALUES, state)
        assert isinstance(written, Document)
        assert written.base is not None
        assert len(written.changes or b"") < 500

    async def test_appending_nothing_writes_nothing(self, log: EventLog, claim: ClaimedRun) -> None:
        assert await log.append(claim.lease, []) == []
        assert await log.read(claim.run.thread_id) == []

    async def test_a_lost_lease_writes_nothing(self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun) -> None:
        await log.append(claim.lease, words(1))
        newer = await runs.lose(claim)
        with pytest.raises(LeaseLostError):
            await log.append(claim.lease, words(2))
        with pytest.raises(LeaseLostError):
            await log.append(claim.lease, [])
        assert said(await log.read(claim.run.thread_id)) == said_of(words(1))
        await log.append(newer.lease, words(3))

    async def test_a_refused_append_takes_no_other_with_it(self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun) -> None:
        newer, other = await runs.lose(claim), await runs.begin(new_id())
        leases = [newer.lease, claim.lease, other.lease] * 20
        answers = await asyncio.gather(*(log.append(lease, words(n)) for n, lease in enumerate(leases)), return_exceptions=True)
        refused = [isinstance(answer, LeaseLostError) for answer in answers]
        assert refused == [False, True, False] * 20
        assert len(await log.read(claim.run.thread_id)) == len(await log.read(other.run.thread_id)) == 20

    async def test_a_run_that_ended_writes_nothing(self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun) -> None:
        await runs.end(claim)
        with pytest.raises(LeaseLostError):
            await log.append(claim.lease, words(1))

    async def test_an_append_that_nobody_waits_for_any_more_is_whole_or_absent(self, log: EventLog, claim: ClaimedRun) -> None:
        following = asyncio.create_task(gather(log.follow_run(claim.run.thread_id, claim.run.run_id), until=21))
        for _ in range(20):
            appending = asyncio.ensure_future(log.append(claim.lease, words(1, 2, 3)))
            await asyncio.sleep(0)
            appending.cancel()
            await asyncio.gather(appending, return_exceptions=True)
        await log.append(claim.lease, words(*range(21)))
        there = await log.read(claim.run.thread_id)
        followed = await following
        assert (len(there) - 21) % 3 == 0
        assert numbers(there) == list(range(1, len(there) + 1))
        assert followed == there[: len(followed)]


class LogReadingCases(EventLogCase):
    async def test_reading_goes_on_after_a_place(self, log: EventLog, claim: ClaimedRun) -> None:
        await log.append(claim.lease, words(*range(10)))
        thread_id = claim.run.thread_id
        assert numbers(await log.read(thread_id, after=7)) == [8, 9, 10]
        assert numbers(await log.read(thread_id, after=3, limit=2)) == [4, 5]
        assert numbers(await log.read(thread_id, after=-1, limit=1)) == [1]
        assert await log.read(thread_id, after=10**30) == []

    async def test_reading_one_run_leaves_the_others_out(self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun) -> None:
        await log.append(claim.lease, words(1))
        await runs.end(claim)
        second = await runs.begin(claim.run.thread_id)
        await log.append(second.lease, words(2, 3))
        mine = await log.read(claim.run.thread_id, run_id=second.run.run_id)
        assert said(mine) == said_of(words(2, 3))
        assert await log.read(new_id(), run_id=second.run.run_id) == []

    async def test_trimming_removes_from_the_front_and_numbers_go_on(
        self, log: EventLog, runs: DrivenRuns, persistence: Persistence, claim: ClaimedRun
    ) -> None:
        thread_id = claim.run.thread_id
        await log.append(claim.lease, words(*range(5)))
        await runs.end(claim)
        newest = await log.newest(thread_id)
        second = await runs.begin(thread_id)
        await log.append(second.lease, words(*range(5, 10)))
        assert await trim(persistence) == newest
        assert await trim(persistence) == 0
        assert numbers(await log.read(thread_id)) == [newest + n for n in range(1, 6)]
        assert numbers(await log.append(second.lease, words(11))) == [newest + 6]
