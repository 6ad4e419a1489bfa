"""What the suite for queues stands on: runs to admit, and work on the queue that a test drives by hand."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.driven_runs import DrivenRuns, a_run, driving, new_id

from stepwell.clock import Clock
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission, Admitted
from stepwell.database.types import BareAnswer, PendingInterrupt, RunOutcome


def asking(*interrupts: str) -> RunOutcome:
    """A run that ended with interrupts of these ids."""
    return RunOutcome(
        "success", "interrupted", interrupts=[PendingInterrupt(name, "why?", task_id=f"task-{name}") for name in interrupts]
    )


class ShiftedClock(Clock):
    """The machine's own clock, ahead by as much as a test says."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def move(self, seconds: float) -> None:
        self._ahead += timedelta(seconds=seconds)


class QueueCase:
    """Override `persistence`."""

    @pytest.fixture
    def persistence(self) -> Persistence:
        raise NotImplementedError("Give the suite a persistence to test.")

    @pytest.fixture
    def clock(self) -> ShiftedClock:
        """What `persistence` should tell the time by."""
        return ShiftedClock()

    @pytest.fixture
    def second(self, persistence: Persistence) -> Persistence:
        """Another server on the same database. Override it where the database lets two in."""
        return persistence

    @pytest.fixture
    def thread_id(self) -> str:
        return new_id()

    async def admit(
        self, persistence: Persistence, thread_id: str, answers: Mapping[str, Any] | BareAnswer | None = None, **changes: Any
    ) -> Admitted:
        admission_only = {name: changes.pop(name) for name in ("max_active", "create_thread", "checked") if name in changes}
        return await persistence.queue.admit(
            Admission(a_run(thread_id, **changes), answers, **{"create_thread": True, **admission_only})
        )

    def working(
        self, persistence: Persistence, concurrency: int = 10, worker: str = "a test"
    ) -> AbstractAsyncContextManager[DrivenRuns]:
        """Runs that are claimed wait for the test: `claim = await worker.next()`, then `await worker.end(claim, outcome)`."""
        return driving(persistence, concurrency, worker)
