"""Which threads may be tidied up: nobody works on them, nobody waits for an answer."""

from __future__ import annotations

import sqlite3

AT_REST = (
    "threads.status IN ('idle', 'error') AND threads.lease_run IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.thread_id = threads.thread_id AND runs.status IN ('pending', 'running'))"
    " AND NOT EXISTS (SELECT 1 FROM interrupts WHERE interrupts.thread_id = threads.thread_id AND interrupts.state = 'pending')"
)
"""A condition on a row of `threads`. A thread that was stopped at a breakpoint is `interrupted`, and is not at rest either."""


def is_at_rest(connection: sqlite3.Connection, thread_id: str, *, untouched_since: float | None = None) -> bool:
    """The same, asked inside the transaction that is about to change something."""
    row = connection.execute(
        f"SELECT 1 FROM threads WHERE thread_id = :id AND (:since IS NULL OR updated_at < :since) AND {AT_REST}",  # noqa: S608 - fixed
        {"id": thread_id, "since": untouched_since},
    ).fetchone()
    return row is not None
