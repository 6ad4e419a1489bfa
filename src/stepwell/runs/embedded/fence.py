"""The one check that every fenced write makes, inside its own transaction."""

from __future__ import annotations

import sqlite3

from stepwell.errors import LeaseLostError
from stepwell.runs.records import Lease


def require(connection: sqlite3.Connection, lease: Lease) -> None:
    """Refuse whoever no longer has the thread."""
    row = connection.execute(
        "SELECT 1 FROM threads WHERE thread_id = ? AND fence = ? AND lease_run = ?",
        (lease.thread_id, lease.fence, lease.run_id),
    ).fetchone()
    if row is None:
        raise lost(lease)


def lost(lease: Lease) -> LeaseLostError:
    """What whoever no longer has the thread is told."""
    return LeaseLostError(f"Run '{lease.run_id}' no longer drives thread '{lease.thread_id}'. Nothing was written.")
