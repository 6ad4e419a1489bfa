"""Writes a run's events to the log while the graph goes on, many at a time, and never out of order.

The first event goes at once. While a write is under way, and for a few milliseconds after it, what comes is collected for the
next, so that a fast stream of tokens becomes batches. A graph that is faster than the log is held back when too much has been
collected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from stepwell.runs.event_log import EventLog
from stepwell.runs.records import Lease, NewEvent

_REST_S = 0.01
_MOST_EVENTS = 1000
_MOST_BYTES = 4_000_000


class Journal:
    """`async with Journal(log, lease) as journal: await journal.add(events)`; `flush` before leaving, or the rest is dropped."""

    def __init__(self, log: EventLog, lease: Lease) -> None:
        self._log = log
        self._lease = lease
        self._collected: list[NewEvent] = []
        self._bytes = 0
        self._writing: asyncio.Task[None] | None = None
        self._rest_until = 0.0
        self._rest: asyncio.TimerHandle | None = None

    async def add(self, events: Sequence[NewEvent]) -> None:
        """Collect events. Raises what an earlier write ended with: a lost lease ends the run here."""
        if self._writing and self._writing.done():
            self._writing.result()
        self._collected += events
        self._bytes += sum(len(event.data) for event in events)
        if len(self._collected) > _MOST_EVENTS or self._bytes > _MOST_BYTES:
            await self.flush()
        elif self._writing is None or self._writing.done():
            self._write_soon()

    async def flush(self) -> None:
        """Everything that was added is in the log."""
        if self._writing:
            await self._writing
        await self._append()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rest:
            self._rest.cancel()
        if self._writing and not self._writing.done():
            self._writing.cancel()
            await asyncio.wait({self._writing})

    def _write_soon(self) -> None:
        """At once, or after the rest. A slow stream never needs a timer."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._rest_until:
            self._begin_writing()
        elif self._rest is None:
            self._rest = loop.call_at(self._rest_until, self._begin_writing)

    def _begin_writing(self) -> None:
        if self._rest:
            self._rest.cancel()
            self._rest = None
        if self._collected:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        await self._append()
        self._rest_until = asyncio.get_running_loop().time() + _REST_S
        if self._collected:
            self._write_soon()

    async def _append(self) -> None:
        batch, self._collected, self._bytes = self._collected, [], 0
        if batch:
            await self._log.append(self._lease, batch)
