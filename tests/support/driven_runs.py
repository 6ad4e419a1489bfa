"""Runs that a test drives by hand, through the protocols alone: for suites that need a run under way.

```python
async with driving(persistence) as runs:
    claim = await runs.begin(thread_id)
    await persistence.events.append(claim.lease, [NewEvent("values", b"{}")])
    await runs.end(claim)
```
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission, ClaimedRun
from stepwell.database.types import Run, RunOutcome, RunRequest, Thread

OWNER = "somebody"
DONE = RunOutcome("success", "idle", values=b"{}")
PATIENCE_S = 120.0
"""How long a suite waits for what must come; reached only when it does not come."""


def new_id() -> str:
    return str(uuid4())


def a_thread(owner: str = OWNER, **fields: Any) -> Thread:
    now = datetime.now(UTC)
    known: dict[str, Any] = {"thread_id": new_id(), "owner": owner, "created_at": now, "updated_at": now}
    return Thread(**known | fields)


def a_run(thread_id: str, owner: str = OWNER, **fields: Any) -> Run:
    now = datetime.now(UTC)
    request = RunRequest(assistant_id="an-assistant", graph_id="a-graph", input={"question": "why?"})
    known: dict[str, Any] = {
        "run_id": new_id(),
        "thread_id": thread_id,
        "owner": owner,
        "request": request,
        "status": "pending",
    }
    return Run(**known | {"created_at": now, "updated_at": now} | fields)


class DrivenRuns:
    """Hands each claim to the test, and holds its lease until the test ends the run."""

    def __init__(self, persistence: Persistence) -> None:
        self._persistence = persistence
        self._claims: asyncio.Queue[ClaimedRun] = asyncio.Queue()
        self._ended: dict[tuple[str, int], asyncio.Event] = {}

    async def begin(self, thread_id: str, owner: str = OWNER, **fields: Any) -> ClaimedRun:
        """Ask for a run on a thread, which is made where it is missing, and get it to drive."""
        await self._persistence.queue.admit(Admission(a_run(thread_id, owner, **fields), create_thread=True))
        return await self.next()

    async def next(self) -> ClaimedRun:
        return await asyncio.wait_for(self._claims.get(), PATIENCE_S)

    async def end(self, claim: ClaimedRun, outcome: RunOutcome = DONE) -> Run:
        run = await self._persistence.queue.finish(claim.lease, outcome)
        self._ended[claim.run.run_id, claim.lease.fence].set()
        return run

    async def lose(self, claim: ClaimedRun) -> ClaimedRun:
        """The run goes to another attempt; the given claim is worth nothing any more."""
        await self._persistence.queue.hand_back(claim.lease)
        self._ended[claim.run.run_id, claim.lease.fence].set()
        return await self.next()

    async def idle(self) -> bool:
        """Nothing more to claim: something that is claimable would have come by now."""
        await asyncio.sleep(0.05)
        return self._claims.empty()

    async def drive(self, claim: ClaimedRun) -> None:
        ended = self._ended[claim.run.run_id, claim.lease.fence] = asyncio.Event()
        self._claims.put_nowait(claim)
        await ended.wait()


@asynccontextmanager
async def driving(persistence: Persistence, concurrency: int = 1000, worker: str = "a test") -> AsyncIterator[DrivenRuns]:
    """Work for as long as the block lasts. Runs that have not ended by then are abandoned."""
    runs = DrivenRuns(persistence)
    working = asyncio.create_task(
        persistence.queue.work(runs.drive, worker=worker, concurrency=concurrency, draining=asyncio.Event())
    )
    try:
        yield runs
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
