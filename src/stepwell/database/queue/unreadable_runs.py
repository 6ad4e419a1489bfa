"""A run whose row cannot be read ends, its row is kept for inspection, and the other runs continue. Functions of a connection.

Such a row may result from a repair of the database by hand, a disk that lost a page, or our own mistake. Without this module it would keep
all runs of all threads waiting, at every claim and after every restart.
"""

from __future__ import annotations

from typing import NamedTuple

from stepwell.database.queue import ending
from stepwell.database.rows import dumps, request_to_text
from stepwell.database.types import NewEvent, RunEvent, RunRequest
from stepwell.sql import Connection, Row
from stepwell.state import wire

_ERROR = "RunUnreadableError"
_KEEP = """
INSERT INTO unreadable_runs (run_id, thread_id, reason, request, metadata, found_at)
SELECT run_id, thread_id, CAST(:reason AS TEXT), request, metadata, :now FROM runs WHERE run_id = :run
ON CONFLICT (run_id) DO UPDATE SET reason = excluded.reason, request = excluded.request, metadata = excluded.metadata,
  found_at = excluded.found_at
"""
# Replaces everything that could be wrong, so that the run can be shown and listed.
_MAKE_READABLE = """
UPDATE runs SET status = 'error', request = :request, metadata = '{}', error = :error, attempt = :attempt, later = 0,
  due_at = 0, created_at = :created, updated_at = :now, finished_at = :now
WHERE run_id = :run
"""


class UnreadableRun(NamedTuple):
    run_id: str
    thread_id: str
    reason: str
    events: list[RunEvent]
    """The run's last events, for its followers."""


def set_aside(connection: Connection, row: Row, reason: Exception, now: float) -> UnreadableRun:
    """End the run with an error. The original row and the reason are kept in the table `unreadable_runs`."""
    run_id, thread_id = row["run_id"], row["thread_id"]
    cause = f"{type(reason).__name__}: {reason}"
    error = {
        "error": _ERROR,
        "message": "The stored request of this run cannot be read, so it was not driven. The operator finds the reason in the "
        "server's log. Send it again.",
    }
    empty = request_to_text(RunRequest(assistant_id=str(row["assistant_id"]), graph_id="unreadable"))
    connection.execute(_KEEP, {"run": run_id, "reason": cause, "now": now})
    attempt, created = row["attempt"], row["created_at"]
    readable = {
        "attempt": attempt if isinstance(attempt, int) else 0,
        "created": created if isinstance(created, float) else now,
        "request": empty,
        "error": dumps(error),
    }
    connection.execute(_MAKE_READABLE, {"run": run_id, "now": now, **readable})
    said = NewEvent("error", wire.encode(error))
    return UnreadableRun(run_id, thread_id, cause, ending.end_unread(connection, thread_id, run_id, said, now))
