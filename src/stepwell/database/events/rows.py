"""Adding events to their table, numbered by their thread's counter, inside the caller's transaction. Clients send the number back to
resume from where they stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepwell.database.documents.rows import document_insertions, row_data
from stepwell.database.types import NewEvent, RunEvent, StoredDocument
from stepwell.errors import NotFoundError
from stepwell.sql import Change, Connection, insertions

_COLUMNS = "events (thread_id, seq, run_id, event, data, document, created_at)"
EventRow = tuple[RunEvent, StoredDocument | None, float]
"""A numbered event, the form in which it is stored, and its time."""


def insert_events(
    connection: Connection, thread_id: str, run_id: str, events: Sequence[NewEvent], now: float
) -> list[RunEvent]:
    """Add events to the log in the caller's transaction. The caller has checked the lease, and announces them after its commit."""
    if not events:
        return []
    row = connection.execute(
        "UPDATE threads SET last_seq = last_seq + ? WHERE thread_id = ? RETURNING last_seq", (len(events), thread_id)
    ).fetchone()
    if row is None:
        raise NotFoundError("thread", thread_id)
    first = row["last_seq"] - len(events) + 1
    numbered = number_events(thread_id, run_id, events, first)
    insert_rows(connection, [(event, new.stored, now) for event, new in zip(numbered, events, strict=True)])
    return numbered


def number_events(thread_id: str, run_id: str, events: Sequence[NewEvent], first: int) -> list[RunEvent]:
    return [
        RunEvent(seq, thread_id, run_id, new.event, new.data, complete=new.stored is None or bool(new.data))
        for seq, new in enumerate(events, first)
    ]


def insert_rows(connection: Connection, rows: Sequence[EventRow]) -> None:
    """Insert numbered events with few statements, for the reason given in `appending`."""
    for sql, values in event_insertions(rows):
        connection.execute(sql, values)


def event_insertions(rows: Sequence[EventRow]) -> Iterator[Change]:
    yield from document_insertions((event.thread_id, stored.document) for event, stored, _ in rows if stored is not None)
    stored_rows = [
        (event.thread_id, event.seq, event.run_id, event.event, *row_data(event.data, stored), now)
        for event, stored, now in rows
    ]
    yield from insertions(_COLUMNS, stored_rows)
