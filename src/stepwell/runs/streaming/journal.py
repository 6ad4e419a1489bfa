"""Writes a run's events to the log while the graph continues, many at a time, and never out of order: the first of the three batching
stages drawn in `runs/streaming`.

The first event is written at once. While a write is running, and for a few milliseconds after it, events are collected for the next, so
that a fast stream of tokens becomes batches. A graph that is faster than the log is held back when too much has been collected. No task is
created per write, because with hundreds of slow runs there would be one for every token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from stepwell.database.events.log import EventLog
from stepwell.database.types import Lease, NewEvent, RunEvent

_REST_S = 0.01
_MAX_EVENTS = 1000
_MAX_BYTES = 4_000_000


class Journal:
    """`async with Journal(log, lease) as journal: await journal.add(events)`; call `flush` before leaving the block, or the rest is
    dropped."""

    def __init__(self, log: EventLog, lease: Lease) -> None:
        self._log = log
        self._lease = lease
        self._loop = asyncio.get_running_loop()
        self.newest_document = 0
        """The highest number among the documents added."""
        self._collected: list[NewEvent] = []
        self._bytes = 0
        self._writing: asyncio.Future[list[RunEvent]] | None = None
        """The newest write: running, or ended with an error. `None` after a successful one."""
        self._rest_until = 0.0
        self._rest: asyncio.TimerHandle | None = None

    async def add(self, events: Sequence[NewEvent]) -> None:
        """Collect events. Raises the error of an earlier write: a lost lease ends the run here."""
        if self._writing and self._writing.done():
            self._writing.result()
        self._collected += events
        for event in events:
            self._bytes += len(event.data)
            if event.stored is not None:
                self.newest_document = max(self.newest_document, event.stored.document.number)
        if len(self._collected) > _MAX_EVENTS or self._bytes > _MAX_BYTES:
            await self.flush()
        elif self._writing is None:
            self._write_soon()

    async def flush(self) -> None:
        """Wait until everything added is in the log."""
        while self._writing or self._collected:
            writing = self._writing or self._write()
            await asyncio.shield(writing)  # the caller may be cancelled; what was submitted is written all the same
            if self._writing is writing:  # the loop may not have called `_written` yet
                self._writing = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._collected = []
        self._stop_resting()
        if self._writing and not self._writing.done():
            self._writing.cancel()
            await asyncio.wait({self._writing})

    def _write_soon(self) -> None:
        """Write what was collected now, or after the pause. A slow stream never needs a timer."""
        if self._loop.time() >= self._rest_until:
            self._write()
        elif self._rest is None:
            self._rest = self._loop.call_at(self._rest_until, self._write)

    def _write(self) -> asyncio.Future[list[RunEvent]]:
        self._stop_resting()
        batch, self._collected, self._bytes = self._collected, [], 0
        self._writing = asyncio.ensure_future(self._log.append(self._lease, batch))
        self._writing.add_done_callback(self._written)
        return self._writing

    def _written(self, write: asyncio.Future[list[RunEvent]]) -> None:
        if write.cancelled() or write.exception():
            return  # `_writing` stays set, for the next `add` or `flush` to raise
        if self._writing is not write:
            return  # `flush` has already handled this write
        self._writing = None
        self._rest_until = self._loop.time() + _REST_S
        if self._collected:
            self._write_soon()

    def _stop_resting(self) -> None:
        if self._rest:
            self._rest.cancel()
            self._rest = None
