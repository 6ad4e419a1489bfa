"""What the suite for maintenance stands on: a clock that the test moves, threads in every condition, and histories to shrink."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import Pregel
from typing_extensions import TypedDict

from stepwell.clock import Clock
from stepwell.runs.maintenance import Maintenance
from stepwell.runs.persistence import Persistence
from stepwell.runs.queue import Admission, ClaimedRun
from stepwell.runs.records import PendingInterrupt, RunOutcome
from stepwell.testing.driven_runs import DrivenRuns, a_run, driving, new_id

Graph = Pregel[Any, Any, Any, Any]


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
