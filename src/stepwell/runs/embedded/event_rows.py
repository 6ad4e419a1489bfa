"""Adding events to the table: numbered by their thread's counter, inside somebody's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from stepwell.errors import NotFoundError
from stepwell.runs.records import NewEvent, RunEvent


def insert_events(
    connection: sqlite3.Connection, thread_id: str, run_id: str, events: Sequence[NewEvent], now: float
) -> list[RunEvent]:
    """Add events to the log inside the caller's transaction. The caller has checked the lease, and announces after its commit."""
    if not events:
        return []
    row = connection.execute(
        "UPDATE threads SET last_seq = last_seq + ? WHERE thread_id = ? RETURNING last_seq", (len(events), thread_id)
    ).fetchone()
    if row is None:
        raise NotFoundError("thread", thread_id)
    first = row["last_seq"] - len(events) + 1
    numbered = [RunEvent(seq, thread_id, run_id, event.event, event.data) for seq, event in enumerate(events, first)]
    connection.executemany(
        "INSERT INTO events (thread_id, seq, run_id, event, data, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        [(thread_id, event.seq, run_id, event.event, event.data, now) for event in numbered],
    )
    return numbered
