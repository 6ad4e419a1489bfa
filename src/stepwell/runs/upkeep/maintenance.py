"""Keeping a database in shape while it is used: a seam, and the loop that does it in a server.

What has expired by its own date (threads of stateless runs, items with a time to live, sessions) is swept every minute. What an
operator no longer wants (`RetentionRules`) goes every hour, if there are rules. Both work in small steps, so that runs hardly
notice, and never touch a thread that is *not at rest*: one with a run waiting or under way, or with an interrupt open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Protocol, Self

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.pregel import Pregel

from stepwell.supervision import Supervisor, stop
from stepwell.state.compact import CompactReport

SWEEP_S = 60.0
RETAIN_S = 3600.0

Graph = Pregel[Any, Any, Any, Any]


@dataclass(frozen=True)
class Backlog:
    """Runs that have not ended. `oldest_s`: for how long the first of those that could run now has been waiting."""

    pending: int
    running: int
    oldest_s: float
    unreadable: int = 0
    """Runs that were set aside because their row cannot be read. They have ended."""
    workers: int = 0
    """Processes that are heard of and drive runs."""
    lease_age_s: float = 0.0
    """How long ago the one was heard of that has been silent for longest, among those that have a thread."""


@dataclass(frozen=True)
class Figures:
    """What the storage knows without a query. Counters are of this process."""

    events_written: int
    waiting_writes: int
    size_bytes: int


@dataclass(frozen=True)
class RetentionRules:
    """What need not be kept. `None` keeps."""

    older_than: timedelta | None = None
    """Threads that nobody has touched for so long; of threads that stay, what earlier runs said."""
    keep_last: int | None = None
    """Checkpoints of a thread beyond so many."""

    @property
    def empty(self) -> bool:
        return self.older_than is None and self.keep_last is None


@dataclass(frozen=True)
class LongThread:
    """A thread with more checkpoints than wanted."""

    thread_id: str
    owner: str
    graph_id: str | None
    checkpoints: int


class Maintenance(Protocol):
    """What a database lets its keeper do. What goes is decided in `retention`."""

    def leads(self) -> bool:
        """Whether this process is the one that keeps the database in shape: among those that have it open, one at a time."""
        ...

    async def backlog(self) -> Backlog: ...
    def figures(self) -> Figures: ...

    async def sweep(self) -> int:
        """Delete what has expired by its own date. Gives how many things."""
        ...

    async def old_threads(self, before: datetime, *, after: str = "", limit: int = 100) -> list[str]:
        """Threads at rest that nobody has touched since, by id, from behind `after`."""
        ...

    async def erase(self, thread_id: str, before: datetime) -> bool:
        """Erase such a thread whole, unless it has been touched meanwhile."""
        ...

    async def long_threads(self, keep_last: int, *, after: str = "", limit: int = 100) -> list[LongThread]:
        """Threads at rest with more checkpoints than that, by id, from behind `after`."""
        ...

    async def compact(
        self, thread_id: str, keep_last: int, *, graph: Graph | None, serde: SerializerProtocol | None
    ) -> CompactReport | None:
        """Shrink a thread's history, see `stepwell.state.compact`; nothing happens (`None`) when it is not at rest any more.

        `ConfigurationError` when that would lose something: a value whose class or channel only an absent graph knows.
        """
        ...

    async def trim_events(self, before: datetime, *, dry_run: bool = False) -> int:
        """Forget what runs said before that time, the newest run of each thread aside. Gives how many events."""
        ...

    async def forget_settled(self, before: datetime, *, dry_run: bool = False) -> int:
        """Forget notes that nothing can ask for any more: webhooks that were settled by then, effects without a checkpoint."""
        ...

    async def give_back_space(self) -> int:
        """Return what is free inside the storage to the machine, in small steps. Gives how many bytes."""
        ...


class Housekeeping:
    """`async with Housekeeping(...)`: sweeps, and applies `retain` if there is one, until left."""

    def __init__(
        self,
        maintenance: Maintenance,
        retain: Callable[[], Awaitable[object]] | None = None,
        *,
        sweep_s: float = SWEEP_S,
        retain_s: float = RETAIN_S,
        supervisor: Supervisor | None = None,
    ) -> None:
        self._maintenance = maintenance
        self._retain = retain
        self._sweep_s = sweep_s
        self._retain_s = retain_s
        self._supervisor = supervisor or Supervisor()
        self._tasks: Sequence[asyncio.Task[None]] = ()

    async def __aenter__(self) -> Self:
        tasks = [self._supervisor.repeat("sweeping", self._by_the_leader(self._maintenance.sweep), self._sweep_s)]
        if self._retain:
            tasks.append(self._supervisor.repeat("retention", self._by_the_leader(self._retain), self._retain_s))
        self._tasks = tasks
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await stop(self._tasks)

    def _by_the_leader(self, keep: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
        async def keep_if_leading() -> None:
            if self._maintenance.leads():
                await keep()

        return keep_if_leading
