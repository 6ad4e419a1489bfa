"""Which threads draw on which session: only so that a session can end when the last of them is deleted."""

from __future__ import annotations

import sqlite3


def attach(connection: sqlite3.Connection, session_id: str, thread_id: str) -> None:
    connection.execute("INSERT OR IGNORE INTO payment_threads (thread_id, session_id) VALUES (?, ?)", (thread_id, session_id))
    connection.execute("UPDATE payment_sessions SET ending = 0 WHERE session_id = ? AND ending = 1", (session_id,))


def detach(connection: sqlite3.Connection, thread_id: str) -> None:
    """Nothing of the money is touched here: the sweeper settles what has ended, and until then it stays where it is."""
    sessions = [
        row["session_id"]
        for row in connection.execute(
            "DELETE FROM payment_threads WHERE thread_id = ? RETURNING session_id", (thread_id,)
        ).fetchall()
    ]
    for session_id in sessions:
        connection.execute(
            "UPDATE payment_sessions SET ending = 1 WHERE session_id = :session"
            " AND NOT EXISTS (SELECT 1 FROM payment_threads WHERE session_id = :session)",
            {"session": session_id},
        )
