"""A report on a database: its schema version (`form`), size and contents. It only reads, so servers may keep running."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.database.forms import Migration
from stepwell.sql import Connection

_COUNTED = ("threads", "runs", "events", "checkpoints", "writes", "store_items", "usage", "api_keys")


@dataclass(frozen=True)
class Contents:
    rows: dict[str, int]
    open_runs: int
    open_interrupts: int
    unreadable_runs: int
    """How many runs were set aside because their rows can't be read."""
    half_erased: int
    """How many deleted threads still have rows."""


@dataclass(frozen=True)
class Driving:
    """Who drives the runs that have not ended."""

    workers: int
    """Processes with a fresh heartbeat."""
    abandoned: int
    """Threads whose worker is dead and which no other worker has taken over yet."""
    waiting: int
    """Threads with a run that is due and that no worker drives."""
    oldest_s: float
    """How long the oldest of these runs has been due."""


@dataclass(frozen=True)
class Condition:
    form: int
    missing: tuple[Migration, ...]
    """The migrations that are missing up to the newest schema, for the platform and for the products."""
    size_bytes: int
    free_bytes: int | None
    """Unused space inside the database, where known."""
    contents: Contents
    driving: Driving
    in_use: str


def count_contents(connection: Connection, form: int) -> Contents:
    """Count what the database contains. `form` is its schema version; 0 means that the database is empty."""

    def count(what: str) -> int:
        return int(connection.execute(f"SELECT COUNT(*) FROM {what}").fetchone()[0]) if form else 0  # noqa: S608 - ours

    return Contents(
        rows={table: count(table) for table in _COUNTED} if form else {},
        open_runs=count("runs WHERE status IN ('pending', 'running')"),
        open_interrupts=count("interrupts WHERE state = 'pending'"),
        unreadable_runs=count("unreadable_runs"),
        half_erased=count("erasing"),
    )


_DRIVING = """
SELECT (SELECT COUNT(*) FROM workers WHERE alive_until > :now) AS workers,
  (SELECT COUNT(*) FROM threads WHERE lease_run IS NOT NULL
    AND lease_holder NOT IN (SELECT worker FROM workers WHERE alive_until > :now)) AS abandoned,
  (SELECT COUNT(*) FROM threads WHERE next_run IS NOT NULL AND lease_run IS NULL) AS waiting,
  (SELECT MIN(r.due_at) FROM threads AS t JOIN runs AS r ON r.number = t.next_run WHERE t.lease_run IS NULL) AS oldest
"""


def look_at_driving(connection: Connection, form: int, now: float) -> Driving:
    """Who drives the runs. `now` is the time of the database's clock."""
    if not form:
        return Driving(0, 0, 0, 0.0)
    row = connection.execute(_DRIVING, {"now": now}).fetchone()
    oldest_s = 0.0 if row["oldest"] is None else max(now - row["oldest"], 0.0)
    return Driving(row["workers"], row["abandoned"], row["waiting"], oldest_s)
