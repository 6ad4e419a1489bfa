"""A report on a database: its form, its size, what is in it. Making one only reads, and servers may be at work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from stepwell.sql import Connection

_COUNTED = ("threads", "runs", "events", "checkpoints", "writes", "store_items", "usage", "api_keys")


class Migration(NamedTuple):
    """A step from one form to the next."""

    number: int
    name: str
    sql: str


@dataclass(frozen=True)
class Contents:
    rows: dict[str, int]
    open_runs: int
    open_interrupts: int
    unreadable_runs: int
    """Set aside, because their rows cannot be read."""
    half_erased: int
    """Threads that are gone and whose last rows are still to be deleted."""


@dataclass(frozen=True)
class Condition:
    form: int
    missing: tuple[Migration, ...]
    """Steps to the newest form."""
    size_bytes: int
    free_bytes: int | None
    """Inside of it, where that is known."""
    contents: Contents
    in_use: str


def count_contents(connection: Connection, form: int) -> Contents:
    """Of a database of any form; 0 is empty."""

    def count(what: str, *, since: int = 1) -> int:
        """`since`: the first form that has the table."""
        return int(connection.execute(f"SELECT COUNT(*) FROM {what}").fetchone()[0]) if form >= since else 0  # noqa: S608 - ours

    return Contents(
        rows={table: count(table) for table in _COUNTED} if form else {},
        open_runs=count("runs WHERE status IN ('pending', 'running')"),
        open_interrupts=count("interrupts WHERE state = 'pending'"),
        unreadable_runs=count("unreadable_runs", since=4),
        half_erased=count("erasing", since=4),
    )
