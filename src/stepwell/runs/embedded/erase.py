"""Deleting a thread whole: every row that hangs on it, in one transaction.

What it cost stays in the sums of its owner, without the ids of the thread and its runs, and that it acted stays in the journal of
effects, without what it said. Other layers that keep something per
thread (evidence, files) add an `Eraser`; it runs in the same transaction, so that a thread is gone everywhere or nowhere.

SQLite overwrites what is deleted (`secure_delete`), and the write-ahead log is emptied soon after (`write_ahead_log`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from stepwell.errors import ThreadBusyError
from stepwell.runs.embedded import effects

Eraser = Callable[[sqlite3.Connection, str], None]
"""Deletes what a layer keeps for a thread. Does nothing but SQL on the connection it is given, and does not commit."""

_OF_THREAD = (
    "checkpoints",
    "writes",
    "replaced_writes",
    "events",
    "interrupts",
    "evidence",
    "trail",
    "runs",
    "thread_values",
    "threads",
)


def refuse_if_busy(connection: sqlite3.Connection, thread_id: str) -> None:
    """Nothing is erased under a run that is, or will be, at work."""
    busy = connection.execute(
        "SELECT 1 FROM threads WHERE thread_id = :thread AND lease_run IS NOT NULL"
        " UNION ALL SELECT 1 FROM runs WHERE thread_id = :thread AND status IN ('pending', 'running') LIMIT 1",
        {"thread": thread_id},
    ).fetchone()
    if busy is not None:
        raise ThreadBusyError(
            f"Thread '{thread_id}' has a run under way. Cancel it, or wait for it to end, then delete the thread."
        )


def erase_thread(
    connection: sqlite3.Connection, thread_id: str, new_id: Callable[[], str], erasers: Sequence[Eraser] = ()
) -> None:
    """Delete a thread and everything that hangs on it. The caller has checked whose it is, and that nothing is at work on it."""
    for erase in erasers:
        erase(connection, thread_id)
    _forget_whose_usage(connection, thread_id, new_id)
    effects.strip(connection, thread_id)
    # The thread of a stateless run goes by itself, soon: what is still to be told of it stays until it was told.
    connection.execute(
        "DELETE FROM webhooks WHERE run_id IN (SELECT run_id FROM runs WHERE thread_id = :thread)"
        " AND NOT (state = 'due' AND EXISTS (SELECT 1 FROM threads WHERE thread_id = :thread AND temporary))",
        {"thread": thread_id},
    )
    for table in _OF_THREAD:
        connection.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread_id,))  # noqa: S608 - names of ours


def _forget_whose_usage(connection: sqlite3.Connection, thread_id: str, new_id: Callable[[], str]) -> None:
    rows = connection.execute("SELECT DISTINCT run_id FROM usage WHERE thread_id = ?", (thread_id,)).fetchall()
    for row in rows:
        # One key per run, not one for all: how many runs there were is still counted.
        connection.execute(
            "UPDATE usage SET run_id = ?, thread_id = NULL WHERE run_id = ?", (f"erased-{new_id()}", row["run_id"])
        )
