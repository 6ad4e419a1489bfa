"""Which threads draw on which session: who pays for a thread that names nobody, and when a session ends because its last thread does."""

from __future__ import annotations

from stepwell.sql import Connection


def attach(connection: Connection, session_id: str, thread_id: str) -> None:
    """The session is the thread's newest from now on."""
    # A new row, with a new number: deleted first, so that it is the newest also where it was there before.
    connection.execute("DELETE FROM payment_threads WHERE thread_id = ? AND session_id = ?", (thread_id, session_id))
    connection.execute("INSERT INTO payment_threads (thread_id, session_id) VALUES (?, ?)", (thread_id, session_id))
    connection.execute("UPDATE payment_sessions SET ending = 0 WHERE session_id = ? AND ending = 1", (session_id,))


def copy(connection: Connection, thread_id: str, new_id: str) -> None:
    """A copy is paid for by whoever pays for its model."""
    connection.execute(
        "INSERT INTO payment_threads (thread_id, session_id)"
        " SELECT CAST(? AS TEXT), session_id FROM payment_threads WHERE thread_id = ? ORDER BY seq ON CONFLICT DO NOTHING",
        (new_id, thread_id),
    )


def detach(connection: Connection, thread_id: str) -> None:
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
