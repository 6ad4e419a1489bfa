"""A report on a database: its schema version (`form`), size and contents. It only reads, so servers may keep running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from stepwell.sql import Connection

_COUNTED = ("threads", "runs", "events", "checkpoints", "writes", "store_items", "usage", "api_keys")


class Migration(NamedTuple):
    """A step from one schema version to the next."""

    number: int
    name: str
    sql: str


@dataclass(frozen=True)
class Contents:
    rows: dict[str, int]
    open_runs: int
    open_interrupts: int
    unreadable_runs: int
    """Set aside because their rows can't be read."""
    half_erased: int
    """Deleted threads whose last rows have not been removed yet."""


@dataclass(frozen=True)
class Condition:
    form: int
    missing: tuple[Migration, ...]
    """Migrations up to the newest schema version."""
    size_bytes: int
    free_bytes: int | None
    """Unused space inside the database, where known."""
    contents: Contents
    in_use: str


def count_contents(connection: Connection, form: int) -> Contents:
    """Works for any schema version; 0 means empty."""

    def count(what: str, *, since: int = 1) -> int:
        """`since`: the first schema version that has the table."""
        return int(connection.execute(f"SELECT COUNT(*) FROM {what}").fetchone()[0]) if form >= since else 0  # noqa: S608 - ours

    return Contents(
        rows={table: count(table) for table in _COUNTED} if form else {},
        open_runs=count("runs WHERE status IN ('pending', 'running')"),
        open_interrupts=count("interrupts WHERE state = 'pending'"),
        unreadable_runs=count("unreadable_runs", since=4),
        half_erased=count("erasing", since=4),
    )
