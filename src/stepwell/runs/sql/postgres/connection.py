"""psycopg's connection as a `Connection`: statements are written as for SQLite, and rows have values by name and by place.

Each statement is a journey to the database and back. `in_one_go` saves most of them: statements are sent and not waited for until somebody
looks at what one of them gave. An error then shows late, at a statement that has nothing to do with it.

Values come back as SQLite would give them: sums are `int` or `float`, never `Decimal`; flags are whole numbers, and `True` is stored as 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Self

import psycopg
from psycopg import BaseConnection
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import ExecStatus
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


class _FlagDumper(Int8BinaryDumper):
    """Flags are whole numbers in every table."""

    def dump(self, obj: Any) -> Buffer | None:
        return super().dump(int(obj))


class _NumberLoader(NumericBinaryLoader):
    """Postgres adds up 64-bit numbers without a limit; all of ours fit."""

    def load(self, data: Buffer) -> Any:
        number = super().load(data)
        return int(number) if number == number.to_integral_value() else float(number)


class _Cursor(psycopg.Cursor[Any]):
    """psycopg's, which waits for the number of rows and the names of columns too, as it does for the rows. It waits until Postgres has
    nothing more to do: psycopg alone would let it wait for the next statement without counting the time, and a process that is stopped
    just then would keep its locks for ever, whatever `_LIMITS` says."""

    wait: Callable[[], None] | None = None

    def fetchone(self) -> Any:
        self._wait()
        return super().fetchone()

    def fetchall(self) -> list[Any]:
        self._wait()
        return super().fetchall()

    def __iter__(self) -> Self:
        self._wait()
        return super().__iter__()

    @property
    def rowcount(self) -> int:
        self._wait()
        return super().rowcount

    @property
    def description(self) -> list[psycopg.Column] | None:
        self._wait()
        return super().description

    def _wait(self) -> None:
        if self.wait is not None and self.pgresult is None:
            self.wait()


class PostgresConnection:
    """A `Connection` over one of psycopg's, which is in autocommit: transactions are begun and ended by whoever runs the work."""

    dialect: Dialect = POSTGRES

    def __init__(self, raw: RawConnection) -> None:
        self.raw = raw
        raw.cursor_factory = _Cursor
        self._pipeline: psycopg.Pipeline | None = None
        self._expected: list[tuple[psycopg.Cursor[Any], Callable[[], Exception]]] = []

    @contextmanager
    def in_one_go(self) -> Iterator[None]:
        """Statements are waited for only when somebody looks at what they gave. At the end all of them are done, and as was expected."""
        self._expected = []
        with self.raw.pipeline() as self._pipeline:
            try:
                yield
                self._pipeline.sync()
            except Exception:
                self._require_expected()  # what went wrong afterwards may be for that reason alone
                raise
            finally:
                self._pipeline = None
        self._require_expected()

    def _require_expected(self) -> None:
        for cursor, error in self._expected:
            answered = cursor.pgresult is not None and cursor.pgresult.status == ExecStatus.TUPLES_OK
            if answered and cursor.fetchone() is None:
                raise error()

    def execute(self, sql: str, parameters: Parameters = (), /) -> Cursor:
        try:
            return self._cursor().execute(translate(sql), parameters)
        except OverflowError as error:
            raise psycopg.DataError("a whole number has more than 64 bits") from error

    def execute_all(self, statements: Sequence[tuple[str, Parameters]], /) -> list[Cursor]:
        if len(statements) == 1 or self._pipeline is not None:
            return [self.execute(sql, parameters) for sql, parameters in statements]
        with self.raw.pipeline():
            return [self.execute(sql, parameters) for sql, parameters in statements]

    def expect(self, sql: str, parameters: Parameters, error: Callable[[], Exception], /) -> None:
        cursor = self._cursor().execute(translate(sql), parameters)
        if self._pipeline is not None:
            self._expected.append((cursor, error))
        elif cursor.fetchone() is None:
            raise error()

    def executemany(self, sql: str, parameters: Any, /) -> Cursor:
        cursor = self._cursor()
        cursor.executemany(translate(sql), parameters)
        return cursor

    def control(self, sql: str) -> None:
        """A statement about the transaction itself."""
        self.raw.execute(sql.encode())

    def close(self) -> None:
        self.raw.close()

    def _cursor(self) -> psycopg.Cursor[Any]:
        cursor = self.raw.cursor(binary=True, row_factory=_rows)
        if self._pipeline is not None:
            cursor.wait = self._pipeline.sync  # type: ignore[attr-defined]  # it is a `_Cursor`
        return cursor


def connect(url: str, *, writes: bool = False) -> PostgresConnection:
    """Open a connection. Raises what psycopg raises."""
    settings = _NETWORK | conninfo_to_dict(url)  # what the address says counts
    raw: RawConnection = psycopg.connect(**settings, autocommit=True)
    adapt(raw)
    raw.execute(_LIMITS)
    if writes:
        raw.execute(_BY_INDEX)
    return PostgresConnection(raw)


def adapt(raw: BaseConnection[Any]) -> None:
    adapters: Any = raw.adapters
    # One form for all whole numbers: otherwise a statement would be prepared anew for each size of its numbers.
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_dumper(bool, _FlagDumper)
    adapters.register_loader("numeric", _NumberLoader)
