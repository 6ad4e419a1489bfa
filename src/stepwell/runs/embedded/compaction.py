"""Shrinking the history of a thread that is at rest: asked, held, rewritten and released in one transaction.

Nothing is held before or after it, so that a process that dies in between leaves no thread locked.

Rule to keep: what is rewritten was read *faithfully*. The serializer leaves a class it is not told of as plain data; writing that
back would lose the class for ever. So everything read here must give the same bytes when it is written again, or nothing happens.
"""

from __future__ import annotations

import sqlite3
from typing import Any, TypeVar

from langgraph.checkpoint.serde.base import SerializerProtocol

from stepwell.backends.steps import Steps
from stepwell.clock import Clock
from stepwell.errors import ConfigurationError
from stepwell.runs.embedded import leases
from stepwell.runs.embedded.at_rest import is_at_rest
from stepwell.runs.embedded.database import Database
from stepwell.runs.embedded.rows import to_time
from stepwell.runs.embedded.saver import EmbeddedSaver
from stepwell.runs.embedded.saver_history import EmbeddedHistory
from stepwell.runs.maintenance import Graph
from stepwell.runs.records import Lease
from stepwell.runs.strict_serde import strict_serializer
from stepwell.state.compact import CompactReport, acompact
from stepwell.state.history import Request, ThreadHistory

T = TypeVar("T")
_HOLDER = "hold:retention"


class _NotAtRestError(Exception):
    """Somebody has begun to work on the thread."""


async def compact_at_rest(
    database: Database,
    clock: Clock,
    thread_id: str,
    keep_last: int,
    *,
    graph: Graph | None = None,
    serde: SerializerProtocol | None = None,
) -> CompactReport | None:
    """Shrink the thread, or give `None` when it is not at rest."""
    saver = _SaverAtRest(database, clock, FaithfulSerializer(serde or strict_serializer()))
    try:
        return await acompact(saver, thread_id, keep_last=keep_last, graph=graph)
    except _NotAtRestError:
        return None


class FaithfulSerializer(SerializerProtocol):
    """Refuses to read what it could not write again as it was."""

    def __init__(self, inner: SerializerProtocol) -> None:
        self._inner = inner

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        return self._inner.dumps_typed(value)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        value = self._inner.loads_typed(data)
        if self._inner.dumps_typed(value) != (data[0], bytes(data[1])):
            raise ConfigurationError(
                "The thread holds values of classes that only its graph knows, and they would be lost. "
                "Serve its graph, or give the langgraph.json that names it with --graphs."
            )
        return value


class _SaverAtRest(EmbeddedSaver):
    def __init__(self, database: Database, clock: Clock, serde: SerializerProtocol) -> None:
        super().__init__(database, clock=clock)
        self._faithful = serde

    def thread_history(self, thread_id: str) -> ThreadHistory:
        return _HistoryAtRest(self._database, thread_id, self._faithful, to_time(self._clock.now()))


class _HistoryAtRest(EmbeddedHistory):
    def __init__(self, database: Database, thread_id: str, serde: SerializerProtocol, now: float) -> None:
        super().__init__(database, Lease(thread_id, _HOLDER, 0, ""), serde)
        self._now = now

    def _take(self, connection: sqlite3.Connection, steps: Steps[Request, T]) -> T:
        if not is_at_rest(connection, self._lease.thread_id):
            raise _NotAtRestError
        # The fence goes up, so that whatever might still hold an older lease cannot write any more.
        self._lease = leases.hold(connection, None, self._lease.thread_id, _HOLDER, self._now)
        done = super()._take(connection, steps)
        leases.release(connection, self._lease)
        return done
