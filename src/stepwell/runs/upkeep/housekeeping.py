"""The loop that maintains a database while a server uses it.

Data that has expired (threads of stateless runs, threads and items with a time to live, sessions) is deleted every minute. Data that an
operator no longer wants (`RetentionRules`) is deleted every hour, if there are rules. Both work in small steps, so that runs hardly notice,
and only touch threads that are *idle*: those without a run waiting or under way and without an open interrupt.
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
    """What may be deleted. A rule that is `None` deletes nothing."""

    older_than: timedelta | None = None
    """Delete threads that were not touched for this long, and, in threads that stay, the events of earlier runs."""
    keep_last: int | None = None
    """How many checkpoints to keep per thread."""

    @property
    def empty(self) -> bool:
        return self.older_than is None and self.keep_last is None


@dataclass(frozen=True)
class Repeated:
    """Something that is done now and then, by the process that maintains the database."""

    name: str
    step: Callable[[], Awaitable[object]]
    every_s: float


class Housekeeping:
    """`async with Housekeeping(...)`: deletes what has expired, applies `retain` if given, and does what else is to be repeated, until the
    block is left."""

    def __init__(
        self,
        maintenance: Maintenance,
        retain: Callable[[], Awaitable[object]] | None = None,
        *,
        sweep_s: float = SWEEP_S,
        retain_s: float = RETAIN_S,
        more: Sequence[Repeated] = (),
        supervisor: Supervisor | None = None,
    ) -> None:
        self._maintenance = maintenance
        self._retain = retain
        self._sweep_s = sweep_s
        self._retain_s = retain_s
        self._more = more
        self._supervisor = supervisor or Supervisor()
        self._tasks: Sequence[asyncio.Task[None]] = ()

    async def __aenter__(self) -> Self:
        tasks = [self._supervisor.repeat("sweeping", self._by_the_leader(self._maintenance.sweep), self._sweep_s)]
        if self._retain:
            tasks.append(self._supervisor.repeat("retention", self._by_the_leader(self._retain), self._retain_s))
        for each in self._more:
            tasks.append(self._supervisor.repeat(each.name, self._by_the_leader(each.step), each.every_s))
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
