"""The loop that keeps a database in shape while a server uses it.

What has expired by its own date (threads of stateless runs, items with a time to live, sessions) is swept every minute. What an
operator no longer wants (`RetentionRules`) goes every hour, if there are rules. Both work in small steps, so that runs hardly
notice, and never touch a thread that is *not at rest*: one with a run waiting or under way, or with an interrupt open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self

from stepwell.database.upkeep.maintenance import Maintenance
from stepwell.supervision import Supervisor, stop

SWEEP_S = 60.0
RETAIN_S = 3600.0


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
