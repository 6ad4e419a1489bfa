"""What the suite for queues stands on: runs to admit, and a worker that drives them as a test says."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from stepwell.runs.persistence import Persistence
from stepwell.runs.queue import Admission, Admitted, BareAnswer, ClaimedRun
from stepwell.runs.records import PendingInterrupt, Run, RunOutcome, RunRequest

OWNER = "somebody"
PATIENCE_S = 10.0

DONE = RunOutcome("success", "idle", values=b"{}")


def new_id() -> str:
    return str(uuid.uuid4())


def asking(*interrupts: str) -> RunOutcome:
    """A run that ended with questions."""
    return RunOutcome(
        "success", "interrupted", interrupts=[PendingInterrupt(name, "why?", task_id=f"task-{name}") for name in interrupts]
    )


class Worker:
    """Drives claims one by one, as a test says: `claim = await worker.next()`, then `await worker.end(claim, outcome)`."""

    def __init__(self, persistence: Persistence) -> None:
        self.persistence = persistence
        self.claims: asyncio.Queue[ClaimedRun] = asyncio.Queue()
        self._ended: dict[str, asyncio.Event] = {}

    async def drive(self, claim: ClaimedRun) -> None:
        self._ended[claim.run.run_id] = asyncio.Event()
        await self.claims.put(claim)
        await self._ended[claim.run.run_id].wait()

    async def next(self) -> ClaimedRun:
        return await asyncio.wait_for(self.claims.get(), PATIENCE_S)

    async def end(self, claim: ClaimedRun, outcome: RunOutcome = DONE) -> Run:
        run = await self.persistence.queue.finish(claim.lease, outcome)
        self._ended[claim.run.run_id].set()
        return run

    async def idle(self) -> bool:
        """Nothing more to claim: something that is claimable would have come by now."""
        await asyncio.sleep(0.05)
        return self.claims.empty()


class QueueCase:
    """Override `persistence`."""

    @pytest.fixture
    def persistence(self) -> Persistence:
        raise NotImplementedError("Give the suite a persistence to test.")

    @pytest.fixture
    def thread_id(self) -> str:
        return new_id()

    async def admit(
        self, persistence: Persistence, thread_id: str, answers: Mapping[str, Any] | BareAnswer | None = None, **changes: Any
    ) -> Admitted:
        now = datetime.now(UTC)
        admission_only = {name: changes.pop(name) for name in ("max_active", "create_thread", "checked") if name in changes}
        run = Run(new_id(), thread_id, OWNER, RunRequest("assistant", "graph"), "pending", now, now)
        return await persistence.queue.admit(
            Admission(replace(run, **changes), answers, **{"create_thread": True, **admission_only})
        )

    @asynccontextmanager
    async def working(self, persistence: Persistence, concurrency: int = 10) -> AsyncIterator[Worker]:
        worker, draining = Worker(persistence), asyncio.Event()
        work = persistence.queue.work(worker.drive, worker="w", concurrency=concurrency, draining=draining)
        task = asyncio.create_task(work)
        try:
            yield worker
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
