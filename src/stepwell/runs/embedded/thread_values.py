"""A thread's values, in a table of their own: the thread's row is written with every event, and values may be large."""

from __future__ import annotations

import sqlite3


def keep_values(connection: sqlite3.Connection, thread_id: str, values: bytes | None) -> None:
    """Keep values as JSON. `None` leaves what is there."""
    if values is not None:
        connection.execute(
            'INSERT INTO thread_values (thread_id, "values") VALUES (?, ?)'
            ' ON CONFLICT (thread_id) DO UPDATE SET "values" = excluded."values"',
            (thread_id, values),
        )


def read_values(connection: sqlite3.Connection, thread_id: str) -> bytes | None:
    row = connection.execute('SELECT "values" FROM thread_values WHERE thread_id = ?', (thread_id,)).fetchone()
    return None if row is None else bytes(row["values"])
