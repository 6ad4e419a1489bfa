"""psycopg's connection as a `Connection`: statements are written as for SQLite, and rows have values by name and by place.

Values come back as SQLite would give them: sums are `int` or `float`, never `Decimal`; flags are whole numbers, and `True` is stored as 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import BaseConnection
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8BinaryDumper, NumericBinaryLoader

from stepwell.sql import POSTGRES, Cursor, Dialect, Parameters

RawConnection = psycopg.Connection[Any]

# A machine that vanishes says nothing: without these, whoever waits for it would do so for hours.
_NETWORK: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
    "application_name": "stepwell",
}
# A process that is stopped in the middle of a transaction must not keep all others waiting for what it has locked.
_LIMITS = b"SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '5s'"
# Every statement of the writer's finds its rows by an index, as SQLite does it. For a small table Postgres would rather read all of it, and
# under SERIALIZABLE that is in the way of everybody who changes any row of it, as they are of us.
_BY_INDEX = b"SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off"
# Asked for on the way, behind whatever the transaction locks first: it is what the transaction looks at, and takes its snapshot.
_NUMBER = "SELECT txid_current()"
# The second changes when one of its processes has crashed, after which it recovers without being started again.
_SERVER_START = b"SELECT pg_postmaster_start_time() || ' ' || stats_reset FROM pg_stat_bgwriter"
_TOKENS = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|--[^\n]*|::|\?|:[A-Za-z_]\w*|%""")


@lru_cache(maxsize=2000)
def translate(sql: str) -> str:
    """`?` and `:name` as psycopg writes them, outside of quoted text; a percent sign is doubled everywhere."""

    def replace(token: re.Match[str]) -> str:
        text = token[0]
        if text == "?":
            return "%s"
        if text[0] == ":" and text != "::":
            return f"%({text[1:]})s"
        return text.replace("%", "%%")

    return _TOKENS.sub(replace, sql)


class PostgresRow(tuple[Any, ...]):
    """A row of a result."""

    names: Mapping[str, int]

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self.names[key] if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        return list(self.names)


def _rows(cursor: psycopg.Cursor[Any]) -> Any:
    names = {column.name: place for place, column in enumerate(cursor.description or ())}

    def make(values: Sequence[Any]) -> PostgresRow:
        row = PostgresRow(values)
        row.names = names
        return row

    return make


@dataclass(frozen=True)
class _Changed:
    """What a statement with many parameters gave: how many rows it changed, and nothing else."""

    rowcount: int
    description: None = None

    def fetchone(self) -> None:
        return None

    def fetchall(self) -> list[Any]:
        return []

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def close(self) -> None:
        """There is nothing to close."""


class _FlagDumper(Int8BinaryDumper):
    """Flags are whole numbers in every table."""

    def dump(self, obj: Any) -> Buffer | None:
        return super().dump(int(obj))


class _NumberLoader(NumericBinaryLoader):
    """Postgres adds up 64-bit numbers without a limit; all of ours fit."""

    def load(self, data: Buffer) -> Any:
        number = super().load(data)
        return int(number) if number == number.to_integral_value() else float(number)


class PostgresConnection:
    """A `Connection` over one of psycopg's, which is in autocommit: transactions are begun and ended by whoever runs the work.

    Each statement is a journey to the database and back. Several are sent together only with another behind them: psycopg ends a pipeline
    with a request to flush, after which Postgres does not count the time that a transaction is idle until the next statement has come,
    and a process that is stopped then would keep its locks.
    """

    dialect: Dialect = POSTGRES

    def __init__(self, raw: RawConnection) -> None:
        self.raw = raw
        self._begin: str | None = None
        """How the transaction begins that was asked for."""
        self.transaction = 0
        """The number of the transaction that was begun last. Under it Postgres remembers whether it was committed."""
        self.server_start = ""
        """Changes when the server of this connection is started or recovers from a crash, if it writes. Afterwards the same numbers may be
        those of other transactions."""

    def begin(self, sql: str) -> None:
        """Begin a transaction on the journey of the first statement of its work, which takes and gives only text and numbers."""
        self._begin = sql

    def begin_now(self, sql: str) -> None:
        """Begin a transaction on a journey of its own."""
        cursor = self.raw.execute(f"{sql}; {_NUMBER}".encode())
        while cursor.nextset():
            pass
        self._note_number(cursor)

    def execute(self, sql: str, parameters: Parameters = (), /) -> Cursor:
        with _within_64_bits():
            if self._begin is not None:
                return self._begin_with(translate(sql), parameters)
            return self._cursor().execute(translate(sql), parameters)

    def execute_all(self, statements: Sequence[tuple[str, Parameters]], /) -> list[Cursor]:
        self._begin_now()
        if len(statements) < 3:
            return [self.execute(sql, parameters) for sql, parameters in statements]
        with self.raw.pipeline():
            found = [self.execute(sql, parameters) for sql, parameters in statements[:-1]]
        return [*found, self.execute(*statements[-1])]

    def executemany(self, sql: str, parameters: Any, /) -> Cursor:
        self._begin_now()
        rows, changed = list(parameters), 0
        if len(rows) > 1:
            with _within_64_bits(), self._cursor() as cursor:
                cursor.executemany(translate(sql), rows[:-1])
                changed = cursor.rowcount
        return _Changed(changed + sum(self.execute(sql, last).rowcount for last in rows[-1:]))

    def control(self, sql: str) -> None:
        """A statement about the transaction itself."""
        if self._begin is not None and sql in ("COMMIT", "ROLLBACK"):
            self._begin = None  # nothing was done
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
        cursor = psycopg.ClientCursor(self.raw, row_factory=_rows)  # several statements in one message have no parameters
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


@contextmanager
def _within_64_bits() -> Iterator[None]:
    try:
        yield
    except OverflowError as error:
        raise psycopg.DataError("a whole number has more than 64 bits") from error


def connect(url: str, *, writes: bool = False) -> PostgresConnection:
    """Open a connection. Raises what psycopg raises."""
    settings = _NETWORK | conninfo_to_dict(url)  # what the address says counts
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
    # One form for all whole numbers: otherwise a statement would be prepared anew for each size of its numbers.
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_dumper(bool, _FlagDumper)
    adapters.register_loader("numeric", _NumberLoader)
