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
class Condition:
    form: int
    missing: tuple[Migration, ...]
    """The migrations that are missing up to the newest schema, for the platform and for the products."""
    size_bytes: int
    free_bytes: int | None
    """Unused space inside the database, where known."""
    contents: Contents
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
