"""Who may write to a thread: claiming, holding, giving back. Functions of a connection, for use inside a transaction.

The fence only grows. Whoever holds an older one is refused by `fence.require`, in the same transaction as what it wanted to write.
"""

from __future__ import annotations

import sqlite3

from stepwell.errors import NotFoundError, ThreadBusyError
from stepwell.runs.embedded import ending, suspects, thread_state_record
from stepwell.runs.embedded.rows import run_from_row
from stepwell.runs.queue import MAX_ATTEMPTS, Claim
from stepwell.runs.records import Lease, Run, RunEvent

# The oldest due run of each thread that nobody drives.
_CLAIMABLE = """
SELECT r.* FROM runs AS r JOIN threads AS t ON t.thread_id = r.thread_id
WHERE r.status = 'pending' AND r.due_at <= :now AND t.lease_run IS NULL
  AND NOT EXISTS (SELECT 1 FROM runs AS earlier WHERE earlier.thread_id = r.thread_id AND earlier.status = 'pending'
                  AND earlier.due_at <= :now AND earlier.number < r.number)
  AND {which}
ORDER BY r.number LIMIT :limit
"""


def claim(connection: sqlite3.Connection, worker: str, limit: int, now: float) -> tuple[list[Claim], float | None]:
    """Take up to `limit` runs for `worker`. Also gives when the next run is due that is not due yet."""
    alone = [] if suspects.under_way(connection, now) else _claimable(connection, suspects.WAITED, min(limit, 1), now)
    rows = [*alone, *_claimable(connection, suspects.FREE, limit - len(alone), now)]
    due = connection.execute("SELECT MIN(due_at) FROM runs WHERE status = 'pending' AND due_at > ?", (now,)).fetchone()[0]
    later = [when for when in (due, suspects.next_ready(connection, now)) if when is not None]
    return [_begin(connection, run_from_row(row), worker, now) for row in rows], min(later, default=None)


def _claimable(connection: sqlite3.Connection, which: str, limit: int, now: float) -> list[sqlite3.Row]:
    return connection.execute(_CLAIMABLE.format(which=which), {"now": now, "limit": limit}).fetchall()


def _begin(connection: sqlite3.Connection, run: Run, worker: str, now: float) -> Claim:
    lease = _take(connection, run.thread_id, run.run_id, worker)
    connection.execute("UPDATE threads SET status = 'busy' WHERE thread_id = ?", (run.thread_id,))
    row = connection.execute(
        "UPDATE runs SET status = 'running', attempt = attempt + 1, started_at = COALESCE(started_at, :now), updated_at = :now"
        " WHERE run_id = :run RETURNING *",
        {"now": now, "run": run.run_id},
    ).fetchone()
    return Claim(run_from_row(row), lease)


def _take(connection: sqlite3.Connection, thread_id: str, run_id: str, worker: str) -> Lease:
    row = connection.execute(
        "UPDATE threads SET fence = fence + 1, lease_holder = ?, lease_run = ?, origin = COALESCE(origin, lower(hex(randomblob(16))))"
        " WHERE thread_id = ? RETURNING fence, owner, origin",
        (worker, run_id, thread_id),
    ).fetchone()
    return Lease(thread_id, run_id, row["fence"], row["owner"], worker, row["origin"])


def hold(connection: sqlite3.Connection, owner: str | None, thread_id: str, holder: str, now: float) -> Lease:
    """Take a thread for something that is not a run."""
    row = connection.execute(
        "SELECT lease_run FROM threads WHERE thread_id = :thread AND (:owner IS NULL OR owner = :owner)",
        {"thread": thread_id, "owner": owner},
    ).fetchone()
    if row is None:
        raise NotFoundError("thread", thread_id)
    pending = connection.execute(
        "SELECT 1 FROM runs WHERE thread_id = ? AND status = 'pending' AND due_at <= ?", (thread_id, now)
    ).fetchone()
    if row["lease_run"] is not None or pending:
        raise ThreadBusyError(f"Thread '{thread_id}' has a run under way. Wait for it to end, or cancel it, then try again.")
    return _take(connection, thread_id, holder, "")


def release(connection: sqlite3.Connection, lease: Lease) -> None:
    """Give a thread back. Nothing happens when it is no longer ours."""
    connection.execute(
        "UPDATE threads SET lease_holder = NULL, lease_run = NULL WHERE thread_id = ? AND fence = ? AND lease_run = ?",
        (lease.thread_id, lease.fence, lease.run_id),
    )


def hand_back(connection: sqlite3.Connection, lease: Lease, now: float) -> list[RunEvent] | None:
    """The run goes on later, with another attempt; one that somebody wants stopped ends now, and its last events are given.

    The caller has made sure that the lease still holds.
    """
    row = connection.execute(
        "UPDATE runs SET status = 'pending', updated_at = ? WHERE run_id = ? RETURNING cancel_action, cancel_reason",
        (now, lease.run_id),
    ).fetchone()
    release(connection, lease)
    if not row["cancel_action"]:
        return None
    return ending.end_pending(connection, lease.run_id, row["cancel_action"], row["cancel_reason"], now)


def recover(connection: sqlite3.Connection, now: float) -> list[Run]:
    """Nobody drives anything yet: whatever is leased was left by a process that is gone."""
    rows = connection.execute("SELECT * FROM runs WHERE status = 'running' ORDER BY number").fetchall()
    if rows:
        suspects.clear_bystanders(connection)
    thread_state_record.forget_unsaved(connection)
    # The fence is raised here too: a thread of execution that outlived its process's claim must not write any more.
    connection.execute(
        "UPDATE threads SET fence = fence + 1, lease_holder = NULL, lease_run = NULL WHERE lease_run IS NOT NULL"
    )
    return [_recover_one(connection, row, now) for row in rows]


def _recover_one(connection: sqlite3.Connection, row: sqlite3.Row, now: float) -> Run:
    newest = connection.execute(
        "SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND run_id = ?", (row["thread_id"], row["run_id"])
    ).fetchone()[0]
    # A run that moves between crashes is not what brings the process down.
    crashes = 1 if newest != row["crash_mark"] else row["crashes"] + 1
    connection.execute(
        "UPDATE runs SET status = 'pending', crashes = ?, crash_mark = ?, updated_at = ? WHERE run_id = ?",
        (crashes, newest, now, row["run_id"]),
    )
    if row["cancel_action"]:
        ending.end_pending(connection, row["run_id"], row["cancel_action"], row["cancel_reason"], now)
    elif crashes >= MAX_ATTEMPTS:
        ending.give_up(connection, row["run_id"], crashes, now)
    left = connection.execute("SELECT * FROM runs WHERE run_id = ?", (row["run_id"],)).fetchone()
    return run_from_row(left or row)
