"""Reading a thread's events from the table, then continuing with those passed on in memory: one reader's place in the log.

A place is an event's number within the thread, even if only one run's events are wanted. So a reader can tell whether the events it
receives continue from its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stepwell.database.database import SqlDatabase
from stepwell.database.documents.rows import DocumentReader
from stepwell.database.events.followers import Follower
from stepwell.database.types import FINISHED, RunEvent
from stepwell.sql import Connection

BEGINNING = 0
"""Before the first event of any thread."""
LARGEST_SEQ = 2**63 - 1

_PORTION = 500
_PORTION_BYTES = 1024 * 1024

# Appending '' to the thread column makes SQLite use the index by run, which is better because a run has few of its thread's events.
_OF_RUN = "SELECT * FROM events WHERE thread_id || '' = ? AND run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
_OF_THREAD = "SELECT * FROM events WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT ?"


@dataclass(frozen=True)
class Look:
    """The result of one look at the table."""

    events: list[RunEvent]
    place: int
    more: bool
    """The portion was full, so there may be more: look again."""
    ended: bool
    """Everything was returned and no more can come, because the run has ended, or the run or its thread was deleted."""


class Reader:
    """Returns the events after a place: from the table as long as needed, then from memory."""

    def __init__(self, database: SqlDatabase, follower: Follower, thread_id: str, run_id: str | None, after: int) -> None:
        self._database = database
        self._follower = follower
        self._thread_id = thread_id
        self._run_id = run_id
        self._place = min(after, LARGEST_SEQ)
        self._from_table = False
        self._ended = False
        self._documents = DocumentReader(thread_id)

    async def next(self) -> list[RunEvent] | None:
        """The next events, perhaps none yet; `None` when there will be no more."""
        if self._ended:
            return None
        if self._from_table:
            return await self._look()
        handed, look_again = self._follower.take()
        fresh = [event for event in handed if event.seq > self._place]
        # Events that were passed on are in the table too, so they can be dropped if an earlier event is missing.
        if look_again or not _continues(fresh, self._place):
            return await self._look()
        self._documents = DocumentReader(self._thread_id)  # drops the text it holds: new events arrive in memory
        if not fresh:
            await self._follower.wait()
            return []
        self._place = fresh[-1].seq
        return [event for event in fresh if self._run_id in (None, event.run_id)]

    async def _look(self) -> list[RunEvent]:
        look = await self._database.read(self._look_at)
        self._place, self._from_table, self._ended = look.place, look.more, look.ended
        return look.events

    def _look_at(self, connection: Connection) -> Look:
        return _look(connection, self._thread_id, self._run_id, self._place, self._documents)


def _continues(events: list[RunEvent], place: int) -> bool:
    if len(events) == 1:  # the usual case
        return events[0].seq == place + 1
    return all(event.seq == expected for expected, event in enumerate(events, place + 1))


def last_seq(connection: Connection, thread_id: str) -> int | None:
    """The number of the thread's newest event; `None` if the thread does not exist."""
    row = connection.execute("SELECT last_seq FROM threads WHERE thread_id = ?", (thread_id,)).fetchone()
    return None if row is None else int(row["last_seq"])


def events_after(
    connection: Connection,
    thread_id: str,
    run_id: str | None,
    after: int,
    limit: int,
    documents: DocumentReader | None = None,
) -> Iterator[RunEvent]:
    documents = documents or DocumentReader(thread_id)
    # Numbers beyond SQLite's range are replaced by its limits.
    bounds = max(min(after, LARGEST_SEQ), -1), min(limit, LARGEST_SEQ)
    cursor = (
        connection.execute(_OF_THREAD, (thread_id, *bounds))
        if run_id is None
        else connection.execute(_OF_RUN, (thread_id, run_id, *bounds))
    )
    for row in cursor:
        data, document = row["data"], row["document"]
        text = data if document is None else documents.event_text(connection, document, data)
        yield RunEvent(row["seq"], row["thread_id"], row["run_id"], row["event"], text)


def _look(connection: Connection, thread_id: str, run_id: str | None, after: int, documents: DocumentReader) -> Look:
    newest = last_seq(connection, thread_id)
    if newest is None:  # deleted, even if its rows are still being removed
        return Look([], after, more=False, ended=True)
    events: list[RunEvent] = []
    size = 0
    for event in events_after(connection, thread_id, run_id, after, _PORTION, documents):
        events.append(event)
        size += len(event.data)
        if size > _PORTION_BYTES or len(events) == _PORTION:
            return Look(events, event.seq, more=True, ended=False)
    # The newest number, not `after`: a reader that asks for what follows an event that never existed gets the next events.
    return Look(events, newest, more=False, ended=run_id is not None and _has_ended(connection, thread_id, run_id))


def _has_ended(connection: Connection, thread_id: str, run_id: str) -> bool:
    row = connection.execute("SELECT status FROM runs WHERE run_id = ? AND thread_id = ?", (run_id, thread_id)).fetchone()
    return row is None or row["status"] in FINISHED
