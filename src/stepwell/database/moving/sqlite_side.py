"""A SQLite file as the source or target of a move (`move`).

The target is written under another name, `FILE.moving`, and renamed when complete: a move that was killed leaves nothing that could be
mistaken for a database, and the next move starts over.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from stepwell.database.moving.move import Kind, Table, Values
from stepwell.database.sqlite.backup import check_copy, make_private, publish, writing_file
from stepwell.database.sqlite.database import APPLICATION_ID, INCREMENTAL
from stepwell.database.sqlite.migrate import forms_of, migrate
from stepwell.database.sqlite.opening import opening
from stepwell.database.sqlite.process_lock import ProcessLock
from stepwell.errors import ConfigurationError

_PAGES_IN_MEMORY = "PRAGMA cache_size = -16000"


class SqliteSource:
    """`with SqliteSource(file) as source`: a snapshot of a file no server uses."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._open = ExitStack()

    def __enter__(self) -> Self:
        if not self._file.is_file():
            raise ConfigurationError(f"There is no database '{self._file.name}' to move. Name one with --from.")
        with ExitStack() as opened:
            opened.callback(_lock(self._file).release)
            check_copy(self._file)
            with opening(self._file):
                address = f"{self._file.absolute().as_uri()}?mode=ro"
                connection = sqlite3.connect(address, uri=True, isolation_level=None)
                self._connection = opened.enter_context(closing(connection))
                self.forms = forms_of(connection)
                # Read text as bytes, so that we find invalid text ourselves and can say where it is.
                connection.text_factory = bytes
                connection.execute(_PAGES_IN_MEMORY)
                self._version = _data_version(connection)
                connection.execute("BEGIN")
            self._open = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    def rows(self, table: Table) -> Iterator[Values]:
        with opening(self._file):
            yield from _read(self._connection, table)

    def counters(self) -> Mapping[str, int]:
        rows = self._connection.execute("SELECT name, seq FROM sqlite_sequence")
        return {name.decode(): int(last) for name, last in rows}

    def require_unchanged(self) -> None:
        """The process lock keeps servers out. Commands such as `stepwell keys` don't take it, so they may have written."""
        self._connection.execute("ROLLBACK")
        if _data_version(self._connection) != self._version:
            raise ConfigurationError(
                f"'{self._file.name}' was written to while it was being moved, for instance by `stepwell keys`. The copy was "
                "discarded. Move again, and don't use the database meanwhile."
            )


class SqliteTarget:
    """`with SqliteTarget(file) as target`: a file that doesn't exist yet, and is created by `keep()`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._partial = file.with_name(file.name + ".moving")
        self._open = ExitStack()

    def __enter__(self) -> Self:
        _require_nothing_there(self._file)
        with ExitStack() as opened:
            opened.callback(_lock(self._file).release)
            opened.enter_context(writing_file(self._file, self._partial))
            make_private(self._partial)
            self._connection = opened.enter_context(closing(sqlite3.connect(self._partial, isolation_level=None)))
            # Nobody reads the file before it is complete, so it needs no journal.
            for setting in (
                "journal_mode = OFF",
                "synchronous = OFF",
                f"auto_vacuum = {INCREMENTAL}",
                f"application_id = {APPLICATION_ID}",
            ):
                self._connection.execute(f"PRAGMA {setting}").fetchall()
            self._connection.execute(_PAGES_IN_MEMORY)
            migrate(self._connection)
            self._connection.text_factory = bytes
            self._triggers = self._drop_triggers()
            self._open = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.__exit__(kind, error, trace)

    def why_not(self, value: Any) -> str | None:
        """SQLite can store any value from Postgres."""
        return None

    def fill(self, table: Table, rows: Iterable[Values]) -> None:
        places = ", ".join("?" * len(table.columns))
        self._connection.execute("BEGIN")
        self._connection.executemany(f"INSERT INTO {table.name} ({_listed(table)}) VALUES ({places})", rows)  # noqa: S608 - ours
        self._connection.execute("COMMIT")

    def count_on_from(self, table: Table, last: int | None) -> None:
        """Only for `AUTOINCREMENT` tables; in others SQLite continues from the highest number present."""
        if last is None or not self._counts_for_ever(table):
            return
        self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table.name,))
        self._connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table.name, last))

    def rows(self, table: Table) -> Iterator[Values]:
        return _read(self._connection, table)

    def keep(self) -> None:
        for trigger in self._triggers:
            self._connection.execute(trigger)
        self._connection.close()
        check_copy(self._partial)
        descriptor = os.open(self._partial, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        publish(self._partial, self._file, force=False)

    def _drop_triggers(self) -> list[str]:
        """Drops the triggers, since they have already run in the database the rows come from. Returns the SQL that creates them again."""
        rows = self._connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in rows:
            self._connection.execute(f"DROP TRIGGER {name.decode()}")
        return [sql.decode() for _, sql in rows]

    def _counts_for_ever(self, table: Table) -> bool:
        sql = self._connection.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table.name,)
        ).fetchone()
        return b"AUTOINCREMENT" in sql[0]


def _read(connection: sqlite3.Connection, table: Table) -> Iterator[Values]:
    for row in connection.execute(f"SELECT {_listed(table)} FROM {table.name}"):  # noqa: S608 - names of our schema
        try:
            yield tuple(map(_as_declared, table.kinds, row))
        except ValueError as error:
            raise ConfigurationError(
                f"A row of the table '{table.name}' cannot be read: a value in {_name_badly(table, row)} does not fit its column. Nothing "
                "was written. Restore a backup, or delete what the row belongs to."
            ) from error


def _as_declared(kind: Kind, value: Any) -> Any:
    """The value in its column's type; text was read as bytes. `ValueError` if the value does not fit its column."""
    if value is None:
        return None
    if kind == "ANY":
        return value.decode(errors="backslashreplace").replace("\0", "\\x00") if isinstance(value, bytes) else str(value)
    if isinstance(value, bytes):
        if kind == "BLOB":
            return value
        if kind == "TEXT":
            return value.decode()
    elif isinstance(value, int if kind == "INTEGER" else float) and kind in ("INTEGER", "REAL"):
        return value
    raise ValueError(f"{type(value).__name__} in a column for {kind}")


def _name_badly(table: Table, row: Values) -> str:
    """Name a row that can't be read, as well as possible."""
    shown = tuple(value.decode(errors="replace") if isinstance(value, bytes) else value for value in row)
    return table.name_row(shown)


def _listed(table: Table) -> str:
    return ", ".join(f'"{column}"' if column != "rowid" else column for column in table.columns)


def _lock(file: Path) -> ProcessLock:
    lock = ProcessLock(file.with_name(file.name + ".lock"))
    if not lock.try_acquire():
        raise ConfigurationError(f"A server uses the database '{file.absolute()}'. Stop it, and move again.")
    return lock


def _data_version(connection: sqlite3.Connection) -> int:
    """Changes when another connection writes."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _require_nothing_there(file: Path) -> None:
    if not file.parent.is_dir():
        raise ConfigurationError(f"There is no folder '{file.parent.name}' for the new database. Make it first.")
    # A leftover log would be applied to the new file.
    for taken in (file, file.with_name(file.name + "-wal"), file.with_name(file.name + "-journal")):
        if taken.exists():
            raise ConfigurationError(
                f"There is already a file '{taken.name}', and it is never overwritten. Name another file with --to, or move this one "
                "out of the way."
            )
