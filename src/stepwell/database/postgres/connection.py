"""psycopg's connection as a `Connection`: statements are written as for SQLite, and rows have values by name and by index.

Values come back as from SQLite: sums are `int` or `float`, never `Decimal`; flags are whole numbers, and `True` is stored as 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

import psycopg
from psycopg import BaseConnection
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8BinaryDumper, NumericBinaryLoader

from stepwell.sql import POSTGRES, Change, Cursor, Dialect, Parameters

RawConnection = psycopg.Connection[Any]

# A machine that vanishes sends nothing, so without these settings its clients would wait for hours.
_NETWORK: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
    "application_name": "stepwell",
}
# A process that is suspended in the middle of a transaction must not block all others with its locks.
_LIMITS = b"SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '5s'"
# All statements of the writer find their rows by an index, as in SQLite. Postgres would prefer to read a small table as a whole, and under
# SERIALIZABLE that conflicts with every change to any of the table's rows.
_BY_INDEX = b"SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off"
# Runs after the transaction has taken its lock, if it takes one, because the first statement that looks at data takes the snapshot.
_NUMBER = "SELECT txid_current()"
# The second value changes when a process of the Postgres server has crashed, after which Postgres recovers without a restart.
_SERVER_START = b"SELECT pg_postmaster_start_time() || ' ' || stats_reset FROM pg_stat_bgwriter"
_TOKENS = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|--[^\n]*|::|\?|:[A-Za-z_]\w*|%""")


@lru_cache(maxsize=2000)
def translate(sql: str) -> str:
    """The SQL with psycopg's placeholders in place of `?` and `:name`, except in quoted text; percent signs are doubled everywhere."""

    def replace(token: re.Match[str]) -> str:
        text = token[0]
        if text == "?":
            return "%s"
        if text[0] == ":" and text != "::":
            return f"%({text[1:]})s"
        return text.replace("%", "%%")

    return _TOKENS.sub(replace, sql)


@lru_cache(maxsize=2000)
def number(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """The SQL with Postgres's own placeholders (`$1`), and the names of the parameters in that order; no names for `?`."""
    names: list[str] = []
    marks = count(1)

    def replace(token: re.Match[str]) -> str:
        text = token[0]
        if text == "?":
            return f"${next(marks)}"
        if text[0] != ":" or text == "::":
            return text
        if text[1:] not in names:
            names.append(text[1:])
        return f"${names.index(text[1:]) + 1}"

    return _TOKENS.sub(replace, sql).encode(), tuple(names)


class PostgresRow(tuple[Any, ...]):
    """A row of a result. Each form of rows is a subclass."""

    __slots__ = ()
    names: Mapping[str, int]

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self.names[key] if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        return list(self.names)


@lru_cache(maxsize=2000)
def row_form(names: tuple[str, ...]) -> type[PostgresRow]:
    """The class of rows with these columns."""
    return type("PostgresRow", (PostgresRow,), {"__slots__": (), "names": {name: place for place, name in enumerate(names)}})


def _rows(cursor: psycopg.Cursor[Any]) -> Any:
    result = cursor.pgresult
    return row_form(tuple([(result.fname(place) or b"").decode() for place in range(result.nfields)]) if result else ())


@dataclass(frozen=True)
class _Changed:
    """The result of a statement with many parameter sets: only the number of rows changed."""

    rowcount: int
    description: None = None

    def fetchone(self) -> None:
        return None

    def fetchall(self) -> list[Any]:
        return []

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def close(self) -> None:
        """Nothing to close."""


class _FlagDumper(Int8BinaryDumper):
    """Sends flags as whole numbers, which they are in every table."""

    def dump(self, obj: Any) -> Buffer | None:
        return super().dump(int(obj))


class _NumberLoader(NumericBinaryLoader):
    """Reads sums as `int` or `float`. Postgres sums 64-bit numbers as numbers of any size, but all of ours fit."""

    def load(self, data: Buffer) -> Any:
        number = super().load(data)
        return int(number) if number == number.to_integral_value() else float(number)


class AskedAgainError(BaseException):
    """Work has sent a second statement where only one was expected. It is run again, in a transaction."""


class PostgresConnection:
    """A `Connection` over a psycopg connection in autocommit mode: the code that runs the work begins and ends transactions.

    Each statement is a round trip to the database. Statements are only sent as a pipeline if another statement follows separately, because
    psycopg ends a pipeline with a flush request, after which Postgres does not count a transaction's idle time until the next statement
    arrives, and a process suspended at that point would keep its locks.
    """

    dialect: Dialect = POSTGRES

    def __init__(self, raw: RawConnection) -> None:
        self.raw = raw
        self._left: int | None = None
        """How many statements may still be sent; None for any number."""
        self._begin: str | None = None
        """The BEGIN statement of a requested transaction that has not begun yet."""
        self.transaction = 0
        """The number of the transaction that was begun last. With it, Postgres can be asked whether the transaction was committed."""
        self.server_start = ""
        """For connections that write: a text that changes when the server restarts or recovers from a crash. Afterwards the same
        transaction numbers may belong to other transactions."""

    def begin(self, sql: str) -> None:
        """Begin a transaction together with its first statement, which may only take and return text and numbers."""
        self._begin = sql

    def begin_now(self, sql: str) -> None:
        """Begin a transaction in its own round trip."""
        cursor = self.raw.execute(f"{sql}; {_NUMBER}".encode())
        while cursor.nextset():
            pass
        self._note_number(cursor)

    @contextmanager
    def asked_once(self) -> Iterator[None]:
        """While the block lasts, a second statement raises `AskedAgainError`."""
        self._left = 1
        try:
            yield
        finally:
            self._left = None

    def execute(self, sql: str, parameters: Parameters = (), /) -> Cursor:
        if self._left is not None:
            if not self._left:
                raise AskedAgainError
            self._left -= 1
        try:
            if self._begin is not None:
                return self._begin_with(translate(sql), parameters)
            text, names = number(sql)
            values = [parameters[name] for name in names] if isinstance(parameters, Mapping) else parameters
            return psycopg.RawCursor(self.raw, row_factory=_rows).execute(text, values, binary=True)
        except OverflowError as error:
            raise _too_large() from error

    def execute_all(self, statements: Sequence[tuple[str, Parameters]], /) -> list[Cursor]:
        self._begin_now()
        if len(statements) < 3:
            return [self.execute(sql, parameters) for sql, parameters in statements]
        with self.raw.pipeline():
            found = [self.execute(sql, parameters) for sql, parameters in statements[:-1]]
        return [*found, self.execute(*statements[-1])]

    def change_all(self, statements: Sequence[Change], /) -> None:
        if statements:
            self._begin_now()
            self.execute(_as_one(tuple(sql for sql, _ in statements)), [value for _, values in statements for value in values])

    def executemany(self, sql: str, parameters: Any, /) -> Cursor:
        self._begin_now()
        rows, changed = list(parameters), 0
        if len(rows) > 1:
            try:
                with self._cursor() as cursor:
                    cursor.executemany(translate(sql), rows[:-1])
                    changed = cursor.rowcount
            except OverflowError as error:
                raise _too_large() from error
        return _Changed(changed + sum(self.execute(sql, last).rowcount for last in rows[-1:]))

    def control(self, sql: str) -> None:
        """Run a statement about the transaction itself."""
        if self._begin is not None and sql in ("COMMIT", "ROLLBACK"):
            self._begin = None  # nothing was sent yet
            return
        self._begin_now()
        self.raw.execute(sql.encode())

    def close(self) -> None:
        self.raw.close()

    def _begin_now(self) -> None:
        if self._begin is not None:
            begin, self._begin = self._begin, None
            self.begin_now(begin)

    def _begin_with(self, sql: str, parameters: Parameters) -> Cursor:
        begin, self._begin = self._begin, None
        cursor = psycopg.ClientCursor(self.raw, row_factory=_rows)  # several statements in one message can't have parameters
        cursor.execute(f"{begin}; {_NUMBER}; {sql}", parameters)
        cursor.nextset()
        self._note_number(cursor)
        cursor.nextset()
        return cursor

    def _note_number(self, cursor: psycopg.Cursor[Any]) -> None:
        row = cursor.fetchone()
        self.transaction = int(row[0]) if row else 0

    def _cursor(self) -> psycopg.Cursor[Any]:
        return self.raw.cursor(binary=True, row_factory=_rows)


@lru_cache(maxsize=500)
def _as_one(statements: tuple[str, ...]) -> str:
    *others, last = statements
    return f"WITH {', '.join(f'c{place} AS ({sql})' for place, sql in enumerate(others))} {last}" if others else last


def _too_large() -> psycopg.DataError:
    return psycopg.DataError("a whole number has more than 64 bits")


def connect(url: str, *, writes: bool = False) -> PostgresConnection:
    """Open a connection. Raises what psycopg raises."""
    settings = _NETWORK | conninfo_to_dict(url)  # the address takes precedence
    raw: RawConnection = psycopg.connect(**settings, autocommit=True)
    adapt(raw)
    raw.execute(_LIMITS)
    connection = PostgresConnection(raw)
    if writes:
        raw.execute(_BY_INDEX)
        row = raw.execute(_SERVER_START).fetchone()
        connection.server_start = str(row[0]) if row else ""
    return connection


def adapt(raw: BaseConnection[Any]) -> None:
    adapters: Any = raw.adapters
    # One type for all whole numbers: otherwise a statement would be prepared again for each size of its numbers.
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_dumper(bool, _FlagDumper)
    adapters.register_loader("numeric", _NumberLoader)
