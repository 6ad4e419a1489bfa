"""A report on a database file: its form, its size, what is in it. It only reads, and a server may be at work on the file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from stepwell.runs.sql.sqlite.database import free_bytes
from stepwell.runs.sql.sqlite.migrate import Migration, migrations, version_of
from stepwell.runs.sql.sqlite.opening import opening
from stepwell.runs.sql.sqlite.process_lock import ProcessLock
from stepwell.sql import SqliteConnection

_COUNTED = ("threads", "runs", "events", "checkpoints", "writes", "store_items", "usage", "api_keys")


@dataclass(frozen=True)
class Condition:
    form: int
    missing: tuple[Migration, ...]
    """Steps to the newest form."""
    size_bytes: int
    free_bytes: int
    rows: dict[str, int]
    open_runs: int
    open_interrupts: int
    unreadable_runs: int
    """Set aside, because their rows cannot be read."""
    half_erased: int
    """Threads that are gone and whose last rows are still to be deleted."""
    in_use: bool
    """A server holds it."""


def inspect_database(database: Path) -> Condition:
    """`ConfigurationError` says why the file cannot be read."""
    with opening(database), closing(_connect(database)) as connection:
        connection.execute("BEGIN")
        form = version_of(connection)
        count = connection.execute
        rows = {table: count(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in _COUNTED} if form else {}  # noqa: S608 - ours
        return Condition(
            form=form,
            missing=tuple(step for step in migrations() if step.number > form),
            size_bytes=sum(file.stat().st_size for file in (database, _log(database)) if file.exists()),
            free_bytes=free_bytes(connection),
            rows=rows,
            open_runs=_count(connection, form, "runs WHERE status IN ('pending', 'running')"),
            open_interrupts=_count(connection, form, "interrupts WHERE state = 'pending'"),
            unreadable_runs=_count(connection, form, "unreadable_runs", since=4),
            half_erased=_count(connection, form, "erasing", since=4),
            in_use=is_in_use(database),
        )


def _connect(database: Path) -> SqliteConnection:
    return sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, factory=SqliteConnection)


def is_in_use(database: Path) -> bool:
    """A server holds the database."""
    lock = ProcessLock(database.with_name(database.name + ".lock"))
    if not lock.try_acquire():
        return True
    lock.release()
    return False


def _count(connection: sqlite3.Connection, form: int, what: str, *, since: int = 1) -> int:
    """`since`: the first form that has the table."""
    return int(connection.execute(f"SELECT COUNT(*) FROM {what}").fetchone()[0]) if form >= since else 0  # noqa: S608 - ours


def _log(database: Path) -> Path:
    return database.with_name(database.name + "-wal")
