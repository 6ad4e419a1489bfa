"""Which threads draw on which session: who pays for a thread that names no session, and when a session ends with its last thread."""

from __future__ import annotations

from stepwell.sql import Connection


def attach(connection: Connection, session_id: str, thread_id: str) -> None:
    """Makes the session the thread's newest."""
    # We delete the row first, so that it gets a new number and is the newest even if it was there before.
    connection.execute("DELETE FROM payment_threads WHERE thread_id = ? AND session_id = ?", (thread_id, session_id))
    connection.execute("INSERT INTO payment_threads (thread_id, session_id) VALUES (?, ?)", (thread_id, session_id))
    connection.execute("UPDATE payment_sessions SET ending = 0 WHERE session_id = ? AND ending = 1", (session_id,))


def copy(connection: Connection, thread_id: str, new_id: str) -> None:
    """A copied thread is paid for by the sessions of its original."""
    connection.execute(
        "INSERT INTO payment_threads (thread_id, session_id)"
        " SELECT CAST(? AS TEXT), session_id FROM payment_threads WHERE thread_id = ? ORDER BY seq ON CONFLICT DO NOTHING",
        (new_id, thread_id),
    )


def detach(connection: Connection, thread_id: str) -> None:
    """Marks sessions whose last thread is gone. Moves no money: the sweeper settles them later."""
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
