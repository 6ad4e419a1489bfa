"""Which threads, events and checkpoints are deleted, by an operator's rules. `maintenance` provides the database operations.

```
older_than   threads that are idle and untouched for that long: erased completely
             events of earlier runs of other threads; the newest run's events stay
             records nothing needs any more
keep_last    checkpoints beyond that many, merged so that the thread continues with exactly the same state
```

A thread that cannot be shrunk without losing something stays unchanged and is reported, with the reason.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver

from stepwell.clock import Clock
from stepwell.database.upkeep.maintenance import Maintenance
from stepwell.errors import ConfigurationError, NotFoundError
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.upkeep.housekeeping import RetentionRules
from stepwell.state.compact import CompactReport

logger = logging.getLogger(__name__)

T = TypeVar("T")
_PAGE = 100


@dataclass
class RetentionReport:
    """What was deleted, or would be."""

    threads_erased: int = 0
    threads_shrunk: int = 0
    checkpoints_deleted: int = 0
    events_deleted: int = 0
    notes_deleted: int = 0
    left_alone: dict[str, str] = field(default_factory=dict)
    """Thread -> why it could not be shrunk."""


class Retention:
    """Applies rules. If there is no `registry`, or a thread's graph is not in it, the thread is shrunk as far as possible without the
    graph."""

    def __init__(
        self, maintenance: Maintenance, registry: GraphRegistry | None, saver: BaseCheckpointSaver[Any], clock: Clock
    ) -> None:
        self._maintenance = maintenance
        self._registry = registry
        self._saver = saver
        self._clock = clock

    async def apply(self, rules: RetentionRules, *, dry_run: bool = False) -> RetentionReport:
        report = RetentionReport()
        if rules.older_than is not None:
            await self._forget_old(self._clock.now() - rules.older_than, report, dry_run)
        if rules.keep_last is not None:
            await self._shrink_long(rules.keep_last, report, dry_run)
        if not dry_run and report.threads_erased + report.threads_shrunk + report.events_deleted:
            fields = {"threads": report.threads_erased, "shrunk": report.threads_shrunk, "events": report.events_deleted}
            logger.info("deleted old data according to the retention rules", extra=fields)
        return report

    async def _forget_old(self, before: datetime, report: RetentionReport, dry_run: bool) -> None:
        pages = _pages(
            lambda after: self._maintenance.old_threads(before, after=after, limit=_PAGE), lambda thread_id: thread_id
        )
        async for thread_id in pages:
            report.threads_erased += dry_run or await self._maintenance.erase(thread_id, before)
        report.events_deleted = await self._maintenance.trim_events(before, dry_run=dry_run)
        report.notes_deleted = await self._maintenance.forget_settled(before, dry_run=dry_run)

    async def _shrink_long(self, keep_last: int, report: RetentionReport, dry_run: bool) -> None:
        pages = _pages(
            lambda after: self._maintenance.long_threads(keep_last, after=after, limit=_PAGE), lambda thread: thread.thread_id
        )
        async for thread in pages:
            if dry_run:
                report.threads_shrunk += 1
                report.checkpoints_deleted += thread.checkpoints - keep_last
                continue
            try:
                done = await self.shrink(thread.thread_id, thread.graph_id, keep_last)
            except ConfigurationError as error:
                report.left_alone[thread.thread_id] = str(error)
                continue
            if done is not None:
                report.threads_shrunk += 1
                report.checkpoints_deleted += done.before.checkpoints - done.after.checkpoints

    async def shrink(self, thread_id: str, graph_id: str | None, keep_last: int) -> CompactReport | None:
        """Shorten a thread's history. None if the thread is no longer idle; `ConfigurationError` if something would be lost."""
        async with AsyncExitStack() as stack:
            graph = None
            if self._registry is not None and graph_id is not None:
                try:
                    graph = await stack.enter_async_context(
                        self._registry.graph(graph_id, saver=self._saver, store=None, purpose="read")
                    )
                except (NotFoundError, ConfigurationError) as error:
                    # The graph is no longer served, or can't be built now (a model without its key). Shrinking without the graph is safe.
                    logger.info("shrinking a thread without its graph: %s", error, extra={"thread_id": thread_id})
            saver = graph.checkpointer if graph else None
            serde = saver.serde if isinstance(saver, BaseCheckpointSaver) else None
            return await self._maintenance.compact(thread_id, keep_last, graph=graph, serde=serde)


async def _pages(find: Callable[[str], Awaitable[Sequence[T]]], key: Callable[[T], str]) -> AsyncIterator[T]:
    after = ""
    while found := await find(after):
        for one in found:
            yield one
        after = key(found[-1])
