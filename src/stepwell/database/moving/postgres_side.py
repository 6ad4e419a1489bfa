"""A Postgres database as the source or target of a move (`move`).

Rows go in and out with `COPY`, unchanged and without being held in memory. Everything written to the target, including its tables, is one
transaction: a move that was killed, or lost its connection, leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

from stepwell.database.moving.move import Table, Values, known_tables
from stepwell.database.postgres import psycopg
from stepwell.database.postgres.connection import PostgresConnection, connect
from stepwell.database.postgres.in_use import have_alone
from stepwell.database.postgres.migrate import apply_missing, forms_of
from stepwell.database.postgres.refusals import first_line, reaching
from stepwell.errors import ConfigurationError

_TYPES = {"TEXT": "text", "INTEGER": "int8", "REAL": "float8", "BLOB": "bytea", "ANY": "text"}
# There may be long pauses between two statements, and a single statement may take long.
_PATIENCE = "SET idle_in_transaction_session_timeout = 0; SET statement_timeout = 0"
_ORDERS = {"checkpoints": "created_at, checkpoint_id"}
"""Tables whose rows are not read in the order of their key, because SQLite finds the newest checkpoints by the order of insertion."""


class _PostgresSide:
    def __init__(self, url: str, place: str) -> None:
        self._url = url
        self._place = place

    def rows(self, table: Table) -> Iterator[Values]:
        order = _ORDERS.get(table.name) or ", ".join(f'"{column}"' for column in table.key)
        command = f"COPY (SELECT {_listed(table)} FROM {table.name} ORDER BY {order}) TO STDOUT (FORMAT BINARY)"  # noqa: S608 - ours
        with self._speaking(), self._connection.raw.cursor() as cursor, cursor.copy(command.encode()) as copy:
            copy.set_types([_TYPES[kind] for kind in table.kinds])
            for values in copy.rows():
                yield tuple(values)

    def _connect(self) -> PostgresConnection:
        with reaching(self._url, "Check --from and --to"):
            connection = connect(self._url)
            try:
                connection.control(_PATIENCE)
                have_alone(connection, self._place)
            except BaseException:
                connection.close()
                raise
        return connection

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Convert psycopg's errors to `ConfigurationError`."""
        try:
            yield
        except psycopg.Error as error:
            raise ConfigurationError(
                f"The move was stopped by an error from the database {self._place}: {first_line(error)}. Nothing was moved, and neither "
                "side has changed. Fix the cause, and move again."
            ) from error

    _connection: PostgresConnection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()


class PostgresSource(_PostgresSide):
    """`with PostgresSource(url, place) as source`: a snapshot of a database nobody else uses."""

    def __enter__(self) -> Self:
        self._connection = self._connect()
        with self._speaking():
            self.forms = forms_of(self._connection)
            self._connection.control("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if self.forms.platform == 0:
            self._connection.close()
            raise ConfigurationError(f"The database {self._place} contains no Stepwell data. Name another one with --from.")
        return self

    def counters(self) -> Mapping[str, int]:
        with self._speaking():
            return {
                table.name: last for table in known_tables() if table.counter and (last := self._last(table, table.counter))
            }

    def require_unchanged(self) -> None:
        """Checks nothing but the connection: while it lives, its lock keeps all other writers out."""
        with self._speaking():
            self._connection.execute("SELECT 1")

    def _last(self, table: Table, counter: str) -> int | None:
        sequence = _sequence(self._connection, table, counter)
        last, given_out = self._connection.execute(f"SELECT last_value, is_called FROM {sequence}").fetchone()  # noqa: S608 - its own name
        return int(last) if given_out else None


class PostgresTarget(_PostgresSide):
    """`with PostgresTarget(url, place) as target`: an empty database. Nothing in it changes before `keep()`."""

    def __enter__(self) -> Self:
        self._connection = self._connect()
        try:
            with self._speaking():
                self._connection.control("BEGIN")
                apply_missing(self._connection)
                self._require_empty()
                for table in known_tables():
                    # The rows come from a database where the triggers have already run.
                    self._connection.control(f"ALTER TABLE {table.name} DISABLE TRIGGER USER")
        except BaseException:
            self._connection.close()
            raise
        return self

    def why_not(self, value: Any) -> str | None:
        return "contains a NUL character" if isinstance(value, str) and "\0" in value else None

    def fill(self, table: Table, rows: Iterable[Values]) -> None:
        command = f"COPY {table.name} ({_listed(table)}) FROM STDIN (FORMAT BINARY)"
        with self._speaking(), self._connection.raw.cursor() as cursor, cursor.copy(command.encode()) as copy:
            copy.set_types([_TYPES[kind] for kind in table.kinds])
            for values in rows:
                copy.write_row(values)

    def count_on_from(self, table: Table, last: int | None) -> None:
        with self._speaking():
            there = self._connection.execute(f"SELECT MAX({table.counter}) FROM {table.name}").fetchone()[0]  # noqa: S608 - ours
            highest = max(last or 0, there or 0)
            if highest:
                sequence = _sequence(self._connection, table, table.counter or "")
                self._connection.execute("SELECT setval(CAST(? AS REGCLASS), ?)", (sequence, highest))

    def keep(self) -> None:
        with self._speaking():
            for table in known_tables():
                self._connection.control(f"ALTER TABLE {table.name} ENABLE TRIGGER USER")
        try:
            self._connection.control("COMMIT")
        except psycopg.Error as error:
            raise ConfigurationError(
                f"The connection to {self._place} was lost at the very end ({first_line(error)}). Either everything was moved or nothing: "
                "`stepwell db status` shows which. The source database has not changed."
            ) from error
        with suppress(psycopg.Error):  # everything is already stored, and Postgres would gather these statistics itself later
            self._connection.control("ANALYZE")

    def _require_empty(self) -> None:
        for table in known_tables():
            if self._connection.execute(f"SELECT 1 FROM {table.name} LIMIT 1").fetchone() is not None:  # noqa: S608 - ours
                raise ConfigurationError(
                    f"The database {self._place} is not empty: there are rows in '{table.name}'. Existing data is never overwritten; name "
                    "an empty database with --to."
                )


def _sequence(connection: PostgresConnection, table: Table, counter: str) -> str:
    return str(connection.execute("SELECT pg_get_serial_sequence(?, ?)", (table.name, counter)).fetchone()[0])


def _listed(table: Table) -> str:
    return ", ".join(f'"{column}"' for column in table.columns)
