"""Gathers the appends of one event loop into few pieces of work for the writer: the second of the three batching stages drawn in
`runs/streaming`.

The writer has at most one piece of work from here at a time; later appends wait and are written together. When the writer has none, an
append does not wait.

```
append ──> waiting ──(nothing is with the writer)──> written together ──commit──> passed to followers, callers continue
```

Appends are independent: one that is refused does not affect the others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import orjson

from stepwell.database import fence
from stepwell.database.database import SqlDatabase
from stepwell.database.events.rows import insert_rows, number_events
from stepwell.database.fence import Holder, holder_of
from stepwell.database.types import Lease, NewEvent, RunEvent
from stepwell.errors import LeaseLostError, StorageUnavailableError
from stepwell.sql import Connection

# Each statement takes a list of [thread, fence, run, worker, number of events], raises the counter of every thread whose lease still
# matches, and returns those threads with the new counter, fence, run and worker. Postgres does this in one round trip, and finds each
# thread by its id (see `fence`).
_LOOK = """
SELECT json_group_array(json_array(t.thread_id, t.last_seq + json_extract(wanted.value, '$[4]'), t.fence, t.lease_run, t.lease_holder))
FROM json_each(?) AS wanted CROSS JOIN threads AS t
WHERE t.thread_id = json_extract(wanted.value, '$[0]') AND t.fence = json_extract(wanted.value, '$[1]')
  AND t.lease_run = json_extract(wanted.value, '$[2]') AND t.lease_holder = json_extract(wanted.value, '$[3]')
"""
_COUNT = """
UPDATE threads SET last_seq = json_extract(counted.value, '$[1]') FROM json_each(?) AS counted
WHERE thread_id = json_extract(counted.value, '$[0]')
"""
_LOOK_AND_COUNT = """
WITH counted AS (
  UPDATE threads AS t SET last_seq = t.last_seq + CAST(wanted.value ->> 4 AS BIGINT)
  FROM json_array_elements(CAST(? AS JSON)) AS wanted
  WHERE t.thread_id = wanted.value ->> 0 AND t.fence = CAST(wanted.value ->> 1 AS BIGINT) AND t.lease_run = wanted.value ->> 2
    AND t.lease_holder || '' = wanted.value ->> 3
  RETURNING t.thread_id, t.last_seq, t.fence, t.lease_run, t.lease_holder
)
SELECT COALESCE(CAST(json_agg(json_build_array(thread_id, last_seq, fence, lease_run, lease_holder)) AS TEXT), '[]') FROM counted
"""

HandOver = Callable[[str, Sequence[RunEvent]], None]
"""Receives committed events of a thread."""


_Result = list[RunEvent] | BaseException
"""The numbered events, or why they were not written."""


class _Append(NamedTuple):
    lease: Lease
    events: Sequence[NewEvent]
    now: float
    done: asyncio.Future[list[RunEvent]]


class Appends:
    """The appends of one event loop, in which alone it may be used."""

    def __init__(self, database: SqlDatabase, hand_over: HandOver, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._database = database
        self._hand_over = hand_over
        self._waiting: list[_Append] = []
        self._writing = False

    def append(self, lease: Lease, events: Sequence[NewEvent], now: float) -> asyncio.Future[list[RunEvent]]:
        """Returns the numbered events once they are committed. If the caller is cancelled, they may still be written."""
        done: asyncio.Future[list[RunEvent]] = self.loop.create_future()
        self._waiting.append(_Append(lease, events, now, done))
        if not self._writing:
            self._write()
        return done

    def _write(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            written = self._database.write_soon(fence.guarded(lambda connection: _append_all(connection, batch)))
        except StorageUnavailableError as error:  # the database is closed
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
    """Number and insert the events of all appends that may be written; the other appends are refused and leave no trace.

    Uses few statements for the whole batch: each statement, and each row it returns, releases the GIL, and a busy event loop is slow
    to give it back.
    """
    first = _raise_counters(connection, batch)
    results: list[_Result] = [_number(append, first) for append in batch]
    written = [
        (event, new.stored, append.now)
        for append, result in zip(batch, results, strict=True)
        if isinstance(result, list)
        for event, new in zip(result, append.events, strict=True)
    ]
    if written:
        insert_rows(connection, written)
    return results


def _raise_counters(connection: Connection, batch: Sequence[_Append]) -> dict[Holder, int]:
    """Reserve numbers for the events of all valid leases, and return each lease's first number."""
    counts: Counter[Holder] = Counter()
    for append in batch:
        counts[holder_of(append.lease)] += len(append.events)
    wanted = orjson.dumps([(*holder, count) for holder, count in counts.items()]).decode()
    if connection.dialect.name == "postgres":
        counted = connection.execute(_LOOK_AND_COUNT, (wanted,)).fetchone()[0]
    else:
        counted = connection.execute(_LOOK, (wanted,)).fetchone()[0]
        connection.execute(_COUNT, (counted,))
    standing = {(thread_id, *holder): last_seq for thread_id, last_seq, *holder in orjson.loads(counted)}
    return {holder: last_seq - counts[holder] + 1 for holder, last_seq in standing.items()}


def _number(append: _Append, first: dict[Holder, int]) -> list[RunEvent] | LeaseLostError:
    """The events with their numbers, or why they are refused. Later appends under the same lease continue from the last number."""
    lease, holder = append.lease, holder_of(append.lease)
    if holder not in first:
        return fence.lease_lost_error(lease)
    start = first[holder]
    first[holder] += len(append.events)
    return number_events(lease.thread_id, lease.run_id, append.events, start)
