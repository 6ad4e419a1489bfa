"""Gathers the appends of one event loop into few pieces of work for the writer: the second of the three stages of batching that are
drawn in `runs/streaming`.

At most one piece of work is with the writer; what is appended meanwhile waits and is written together. When nothing is with the writer,
an append does not wait.

```
append ──> waiting ──(nothing is with the writer)──> written together ──commit──> handed over, callers go on
```

Each append stands for itself: one that is refused takes none of the others with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from stepwell.errors import LeaseLostError, StorageUnavailableError
from stepwell.runs.records import Lease, NewEvent, RunEvent
from stepwell.runs.sql import fence
from stepwell.runs.sql.database import SqlDatabase
from stepwell.runs.sql.events.rows import insert_rows, number_events
from stepwell.sql import Connection

_STANDING = {
    "sqlite": "SELECT json_group_array(json_array(thread_id, fence, lease_run, last_seq)) FROM threads"
    " WHERE thread_id IN (SELECT value FROM json_each(?))",
    "postgres": "SELECT COALESCE(CAST(json_agg(json_build_array(thread_id, fence, lease_run, last_seq)) AS TEXT), '[]') FROM threads"
    " WHERE thread_id IN (SELECT value FROM json_each(?))",
}
_COUNT = {
    "sqlite": "UPDATE threads SET last_seq = json_extract(counted.value, '$[1]') FROM json_each(?) AS counted"
    " WHERE thread_id = json_extract(counted.value, '$[0]')",
    "postgres": "UPDATE threads SET last_seq = CAST(counted.value ->> 1 AS BIGINT) FROM json_array_elements(CAST(? AS JSON)) AS counted"
    " WHERE thread_id = counted.value ->> 0",
}

HandOver = Callable[[str, Sequence[RunEvent]], None]
"""Told of committed events of a thread."""


_Result = list[RunEvent] | BaseException
"""The events as numbered, or why they were not written."""


class _Append(NamedTuple):
    lease: Lease
    events: Sequence[NewEvent]
    now: float
    done: asyncio.Future[list[RunEvent]]


@dataclass
class _Place:
    """Who has a thread, and its newest event's number."""

    fence: int
    run_id: str | None
    last_seq: int


class Appends:
    """Belongs to the loop it is used in."""

    def __init__(self, database: SqlDatabase, hand_over: HandOver, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._database = database
        self._hand_over = hand_over
        self._waiting: list[_Append] = []
        self._writing = False

    def append(self, lease: Lease, events: Sequence[NewEvent], now: float) -> asyncio.Future[list[RunEvent]]:
        """Gives the events as numbered, once they are committed. Whoever is cancelled meanwhile has perhaps written all the same."""
        done: asyncio.Future[list[RunEvent]] = self.loop.create_future()
        self._waiting.append(_Append(lease, events, now, done))
        if not self._writing:
            self._write()
        return done

    def _write(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            written = self._database.write_soon(fence.guarded(lambda connection: _append_all(connection, batch)))
        except StorageUnavailableError as error:  # it is closed
            _tell_callers(batch, [error] * len(batch))
            return
        self._writing = True
        written.add_done_callback(lambda results: self._written(batch, results))

    def _written(self, batch: list[_Append], written: asyncio.Future[list[_Result]]) -> None:
        self._writing = False
        failed = written.exception()
        results: Sequence[_Result] = [failed] * len(batch) if failed else written.result()
        for append, result in zip(batch, results, strict=True):
            if isinstance(result, list):
                self._hand_over(append.lease.thread_id, result)
        _tell_callers(batch, results)
        if self._waiting:
            self._write()


def _tell_callers(batch: Sequence[_Append], results: Sequence[_Result]) -> None:
    for append, result in zip(batch, results, strict=True):
        if append.done.done():  # its caller was cancelled
            continue
        if isinstance(result, list):
            append.done.set_result(result)
        else:
            append.done.set_exception(result)


def _append_all(connection: Connection, batch: Sequence[_Append]) -> list[_Result]:
    """Number and insert all that may be written; the others are refused, and leave nothing behind.

    A few statements for the whole batch: each statement, and each row that one gives, lets go of the interpreter, and a busy
    event loop gives it back late.
    """
    places = _places(connection, {append.lease.thread_id for append in batch})
    results: list[_Result] = [_number(append, places.get(append.lease.thread_id)) for append in batch]
    written = [
        (event, new.stored, append.now)
        for append, result in zip(batch, results, strict=True)
        if isinstance(result, list)
        for event, new in zip(result, append.events, strict=True)
    ]
    if written:
        counts = {event.thread_id: event.seq for event, _, _ in written}
        connection.execute(_COUNT[connection.dialect.name], (orjson.dumps(list(counts.items())).decode(),))
        insert_rows(connection, written)
    return results


def _places(connection: Connection, thread_ids: set[str]) -> dict[str, _Place]:
    """Where the threads stand, by id, in one row."""
    row = connection.execute(_STANDING[connection.dialect.name], (orjson.dumps(list(thread_ids)).decode(),)).fetchone()
    return {thread_id: _Place(fence, run_id, last_seq) for thread_id, fence, run_id, last_seq in orjson.loads(row[0])}


def _number(append: _Append, place: _Place | None) -> list[RunEvent] | LeaseLostError:
    """The events as they will be written, or why they are not."""
    lease = append.lease
    if place is None or (place.fence, place.run_id) != (lease.fence, lease.run_id):
        return fence.lease_lost_error(lease)
    first = place.last_seq + 1
    place.last_seq += len(append.events)
    return number_events(lease.thread_id, lease.run_id, append.events, first)
