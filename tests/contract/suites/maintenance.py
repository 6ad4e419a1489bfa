"""What keeping any database in shape must do, and must leave alone, as tests. Subclass `MaintenanceConformance` and give it a
`persistence` fixture that is opened with the suite's `clock`.

```python
class TestMyMaintenance(MaintenanceConformance):
    @pytest.fixture
    async def persistence(self, clock, tmp_path):
        async with MyPersistence(..., clock=clock) as opened:
            yield opened
```
"""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import Pregel
from tests.support.driven_runs import OWNER, DrivenRuns, a_run, driving, new_id
from typing_extensions import TypedDict

from stepwell.clock import Clock
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission, ClaimedRun
from stepwell.database.types import ModelUsage, NewEvent, PendingInterrupt, RunOutcome
from stepwell.database.upkeep.maintenance import Maintenance
from stepwell.errors import NotFoundError
from stepwell.tools.effect_journal import Done

Graph = Pregel[Any, Any, Any, Any]
DAY = timedelta(days=1)


class MovableClock(Clock):
    """Time that goes on only when a test says so. It begins now, because databases have clocks of their own."""

    def __init__(self) -> None:
        self._moment = datetime.now(UTC)

    def now(self) -> datetime:
        return self._moment

    def move(self, by: timedelta) -> datetime:
        self._moment += by
        return self._moment


class _Words(TypedDict):
    words: Annotated[list[str], operator.add]


def three_steps(persistence: Persistence, claim: ClaimedRun) -> Graph:
    """A graph that keeps its state with the run's saver: each time it is driven it adds three words, and five checkpoints."""
    builder = StateGraph(_Words)
    names = ("one", "two", "three")
    for name in names:
        builder.add_node(name, lambda state, name=name: {"words": [name]})
    for left, right in zip((START, *names), (*names, END), strict=True):
        builder.add_edge(left, right)
    return builder.compile(checkpointer=persistence.saver(claim.lease))


class MaintenanceCase:
    """Override `persistence`, and open yours with `clock`."""

    @pytest.fixture
    def clock(self) -> MovableClock:
        return MovableClock()

    @pytest.fixture
    def persistence(self, clock: MovableClock) -> Persistence:
        raise NotImplementedError("Give the suite a persistence to test.")

    @pytest.fixture
    def maintenance(self, persistence: Persistence) -> Maintenance:
        return persistence.maintenance

    @pytest.fixture
    async def runs(self, persistence: Persistence) -> AsyncIterator[DrivenRuns]:
        async with driving(persistence) as runs:
            yield runs

    async def at_rest(self, runs: DrivenRuns) -> str:
        """A thread with a run that has ended."""
        claim = await runs.begin(new_id())
        await runs.end(claim)
        return claim.run.thread_id

    async def unrest(self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock) -> dict[str, str]:
        """Threads that nobody may touch, by why."""
        first, second = await runs.begin(new_id()), await runs.begin(new_id())
        await runs.end(first, RunOutcome("success", "interrupted", interrupts=[PendingInterrupt("a" * 32, "why?")]))
        await runs.end(second, RunOutcome("success", "interrupted"))
        running = await runs.begin(new_id())
        queued = await self.at_rest(runs)
        later = clock.now() + timedelta(days=365)
        await persistence.queue.admit(Admission(a_run(queued, due_at=later)))
        return {
            "asks": first.run.thread_id,
            "stands at a breakpoint": second.run.thread_id,
            "is driven": running.run.thread_id,
            "is to be driven later": queued,
        }

    async def with_history(self, persistence: Persistence, runs: DrivenRuns, times: int = 2) -> str:
        """A thread with five checkpoints for each time."""
        thread_id = new_id()
        for _ in range(times):
            await self.drive_three_steps(persistence, runs, thread_id)
        return thread_id

    async def drive_three_steps(self, persistence: Persistence, runs: DrivenRuns, thread_id: str) -> list[str]:
        claim = await runs.begin(thread_id)
        state = await three_steps(persistence, claim).ainvoke({"words": []}, {"configurable": {"thread_id": thread_id}})
        await runs.end(claim)
        return list(state["words"])

    async def checkpoints(self, persistence: Persistence, thread_id: str) -> int:
        config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        return len([found async for found in persistence.saver().alist(config)])


class _LookingCases(MaintenanceCase):
    async def test_the_backlog_is_what_could_run_now_and_for_how_long(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        empty = await maintenance.backlog()
        assert (empty.pending, empty.running, empty.oldest_s) == (0, 0, 0.0)
        driven = await runs.begin(new_id())
        await persistence.queue.admit(Admission(a_run(driven.run.thread_id)))
        await persistence.queue.admit(Admission(a_run(new_id(), due_at=clock.now() + DAY), create_thread=True))
        clock.move(timedelta(seconds=90))
        found = await maintenance.backlog()
        assert (found.pending, found.running) == (1, 1)
        assert found.oldest_s == pytest.approx(90, abs=30)

    async def test_the_figures_count_what_is_written(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns
    ) -> None:
        before = maintenance.figures()
        claim = await runs.begin(new_id())
        await persistence.events.append(claim.lease, [NewEvent("values", b"1")] * 7)
        after = maintenance.figures()
        assert after.events_written - before.events_written == 7
        assert after.waiting_writes >= 0
        assert after.size_bytes > 0


class _ErasingCases(MaintenanceCase):
    async def test_only_threads_at_rest_that_nobody_has_touched_are_old(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        old = await self.at_rest(runs)
        restless = await self.unrest(persistence, runs, clock)
        limit = clock.move(DAY)
        clock.move(DAY)
        fresh = await self.at_rest(runs)
        assert await maintenance.old_threads(limit) == [old]
        for thread_id in (fresh, *restless.values()):
            assert not await maintenance.erase(thread_id, limit)
            await persistence.records.get_thread(OWNER, thread_id)

    async def test_old_threads_come_page_by_page(self, maintenance: Maintenance, runs: DrivenRuns, clock: MovableClock) -> None:
        threads = sorted([await self.at_rest(runs) for _ in range(5)])
        limit = clock.move(DAY)
        assert await maintenance.old_threads(limit, limit=2) == threads[:2]
        assert await maintenance.old_threads(limit, after=threads[1], limit=2) == threads[2:4]
        assert await maintenance.old_threads(limit, after=threads[4]) == []

    async def test_an_erased_thread_is_gone_and_only_its_cost_is_left(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        claim = await runs.begin(new_id())
        thread_id = claim.run.thread_id
        await persistence.events.append(claim.lease, [NewEvent("values", b"1")])
        await runs.end(claim, RunOutcome("success", "idle", values=b"{}", usage=[ModelUsage("m", 1, 2, 3, 0.5)]))
        limit = clock.move(DAY)
        assert await maintenance.erase(thread_id, limit)
        assert not await maintenance.erase(thread_id, limit), "it is gone"
        with pytest.raises(NotFoundError):
            await persistence.records.get_thread(OWNER, thread_id)
        assert await persistence.events.read(thread_id) == []
        (left,) = await persistence.records.usage(OWNER, "thread")
        assert (left.key, left.usage.cost_usd) == ("", 0.5)

    async def test_a_thread_that_was_touched_meanwhile_is_not_erased(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        thread_id = await self.at_rest(runs)
        limit = clock.move(DAY)
        assert await maintenance.old_threads(limit) == [thread_id]
        clock.move(DAY)
        await persistence.records.merge_thread_metadata(OWNER, thread_id, {"looked": "at"})
        assert not await maintenance.erase(thread_id, limit)

    async def test_the_sweep_takes_what_has_expired_and_nothing_else(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        kept = await self.at_rest(runs)
        stateless = a_run(new_id())
        stateless = replace(stateless, request=replace(stateless.request, delete_thread_after=True))
        await persistence.queue.admit(Admission(stateless, create_thread=True, temporary_thread=True))
        await runs.end(await runs.next())
        store = persistence.store(OWNER)
        await store.aput(("kept",), "a", {"x": 1})
        await store.aput(("gone",), "b", {"x": 1}, ttl=1)
        assert await maintenance.sweep() == 0, "whoever is a little behind still reads it"
        clock.move(DAY)
        assert await maintenance.sweep() == 2
        with pytest.raises(NotFoundError):
            await persistence.records.get_thread(OWNER, stateless.thread_id)
        await persistence.records.get_thread(OWNER, kept)
        assert await store.aget(("kept",), "a") is not None
        assert await store.aget(("gone",), "b") is None
        assert await maintenance.sweep() == 0


class _ShrinkingCases(MaintenanceCase):
    async def test_long_threads_are_those_with_more_checkpoints_than_wanted(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns
    ) -> None:
        short, long = await self.with_history(persistence, runs, 1), await self.with_history(persistence, runs, 3)
        (found,) = await maintenance.long_threads(5)
        assert (found.thread_id, found.owner, found.checkpoints) == (long, OWNER, 15)
        assert [each.thread_id for each in await maintenance.long_threads(4)] == sorted([short, long])
        assert await maintenance.long_threads(4, after=max(short, long)) == []
        assert len(await maintenance.long_threads(4, limit=1)) == 1

    @pytest.mark.parametrize("keep_last", [1, 4])
    async def test_a_shrunk_thread_goes_on_with_the_same_state(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, keep_last: int
    ) -> None:
        thread_id = await self.with_history(persistence, runs, 2)
        report = await maintenance.compact(thread_id, keep_last, graph=None, serde=None)
        assert report is not None
        assert (report.before.checkpoints, report.after.checkpoints) == (10, keep_last)
        assert await self.checkpoints(persistence, thread_id) == keep_last
        assert await self.drive_three_steps(persistence, runs, thread_id) == ["one", "two", "three"] * 3

    async def test_a_thread_that_is_not_at_rest_is_not_shrunk(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns
    ) -> None:
        thread_id = await self.with_history(persistence, runs, 2)
        claim = await runs.begin(thread_id)
        assert await maintenance.long_threads(1) == []
        assert await maintenance.compact(thread_id, 1, graph=None, serde=None) is None
        assert await self.checkpoints(persistence, thread_id) == 10
        await runs.end(claim)
        async with persistence.queue.hold(OWNER, thread_id, "test"):
            assert await maintenance.compact(thread_id, 1, graph=None, serde=None) is None

    async def test_space_is_given_back_and_everything_stays(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        kept = await self.with_history(persistence, runs, 1)
        limit = clock.move(DAY)
        clock.move(DAY)
        await persistence.records.merge_thread_metadata(OWNER, kept, {"kept": True})
        assert await maintenance.erase(await self._large(persistence, runs), clock.move(DAY))
        assert await maintenance.give_back_space() >= 0
        assert await maintenance.give_back_space() == 0, "there is no more"
        assert await maintenance.old_threads(limit) == []
        assert await self.drive_three_steps(persistence, runs, kept) == ["one", "two", "three"] * 2

    async def _large(self, persistence: Persistence, runs: DrivenRuns) -> str:
        claim = await runs.begin(new_id())
        await persistence.events.append(claim.lease, [NewEvent("values", b"1" * 200_000)] * 5)
        await runs.end(claim)
        return claim.run.thread_id


class _TrimmingCases(MaintenanceCase):
    async def test_earlier_runs_lose_their_events_and_the_newest_keeps_them(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        thread_id = new_id()
        claims = []
        for _ in range(3):
            claim = await runs.begin(thread_id)
            await persistence.events.append(claim.lease, [NewEvent("values", b"1")] * 3)
            await runs.end(claim)
            claims.append(claim)
        assert await maintenance.trim_events(clock.now() - DAY) == 0
        limit = clock.move(DAY)
        assert await maintenance.trim_events(limit, dry_run=True) == 8
        assert len(await persistence.events.read(thread_id)) == 12
        assert await maintenance.trim_events(limit) == 8
        assert await maintenance.trim_events(limit) == 0
        left = await persistence.events.read(thread_id)
        assert {event.run_id for event in left} == {claims[-1].run.run_id}
        assert [event.seq for event in left] == [9, 10, 11, 12], "numbers stay as they were"

    async def test_what_a_run_under_way_has_said_is_not_trimmed(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        claim = await runs.begin(new_id())
        await persistence.events.append(claim.lease, [NewEvent("values", b"1")] * 3)
        assert await maintenance.trim_events(clock.move(DAY)) == 0
        assert len(await persistence.events.read(claim.run.thread_id)) == 3

    async def test_an_effect_that_a_checkpoint_may_ask_for_is_not_forgotten(
        self, maintenance: Maintenance, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        thread_id = await self.with_history(persistence, runs, 1)
        claim = await runs.begin(thread_id)
        effects = persistence.effects(claim.lease)
        effects.begin("paid").result(timeout=20)
        effects.finish("paid", b'"receipt"').result(timeout=20)
        limit = clock.move(DAY)
        assert await maintenance.forget_settled(limit, dry_run=True) == 0
        assert await maintenance.forget_settled(limit) == 0
        assert effects.begin("paid").result(timeout=20) == Done(b'"receipt"')
        await runs.end(claim)


class MaintenanceConformance(_LookingCases, _ErasingCases, _ShrinkingCases, _TrimmingCases):
    """All of it."""
