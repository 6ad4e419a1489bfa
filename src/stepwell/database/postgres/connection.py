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
from psycopg import BaseConnection, errors
from psycopg import abc as psycopg_abc
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, Format
from psycopg.pq.abc import PGresult
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
_PREPARED_AFTER = 5
"""A statement is prepared when it is sent for the fifth time."""
_MAX_KNOWN = 300
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


def _form_of(result: PGresult | None) -> type[PostgresRow]:
    return row_form(tuple([(result.fname(place) or b"").decode() for place in range(result.nfields)]) if result else ())


def _rows(cursor: psycopg.Cursor[Any]) -> Any:
    return _form_of(cursor.pgresult)


class _Result:
    """The result of one statement. Its rows are made when they are fetched."""

    def __init__(self, found: PGresult, transformer: psycopg_abc.Transformer) -> None:
        self._found = found
        self._transformer = transformer
        self._form = _form_of(found)
        self._next = 0

    @property
    def rowcount(self) -> int:
        return -1 if self._found.command_tuples is None else self._found.command_tuples

    @property
    def description(self) -> list[tuple[str]] | None:
        return [(name,) for name in self._form.names] or None

    def fetchone(self) -> Any:
        return next(self, None)

    def fetchall(self) -> list[Any]:
        first, self._next = self._next, self._found.ntuples
        return self._loading().load_rows(first, self._next, self._form)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._next >= self._found.ntuples:
            raise StopIteration
        self._next += 1
        return self._loading().load_row(self._next - 1, self._form)

    def close(self) -> None:
        """Nothing to close."""

    def _loading(self) -> psycopg_abc.Transformer:
        """The connection's transformer, which may have been used for another result meanwhile."""
        if self._transformer.pgresult is not self._found:
            self._transformer.set_pgresult(self._found)
        return self._transformer


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
        self._transformer: psycopg_abc.Transformer = Transformer(raw)
        self._known: dict[tuple[bytes, tuple[int, ...]], bytes | int] = {}
        """Statements and the types of their values -> how many times they were sent, or their name once they are prepared. The least
        recently used is first."""
        self._names = count(1)
        self._left: int | None = None
        """How many statements may still be sent; None for any number."""
        self._piping = False
        """Whether statements are sent as a pipeline, which only psycopg's cursors can do."""
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
        self._note_number(self._checked(self.raw.pgconn.exec_(f"{sql}; {_NUMBER}".encode())).get_value(0, 0))

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
            if self._piping:
                return psycopg.RawCursor(self.raw, row_factory=_rows).execute(text, values, binary=True)
            return self._ask(text, values)
        except OverflowError as error:
            raise _too_large() from error

    def _ask(self, text: bytes, values: Sequence[Any]) -> Cursor:
        """Send one statement with libpq itself: a cursor of psycopg takes twice as long for a statement that finds one row."""
        transformer, pgconn = self._transformer, self.raw.pgconn
        dumped: Any = transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
        types, formats = transformer.types or (), transformer.formats
        if name := self._name_of(text, types):
            found = pgconn.exec_prepared(name, dumped, formats, Format.BINARY)
        else:
            found = pgconn.exec_params(text, dumped, types, formats, Format.BINARY)
        return _Result(self._checked(found), transformer)

    def _name_of(self, text: bytes, types: tuple[int, ...]) -> bytes:
        """The name of the prepared statement; empty while the statement is too rare for one."""
        known = self._known.pop((text, types), 0)
        if isinstance(known, int):
            known += 1
        if known == _PREPARED_AFTER:
            known = b"stepwell_%d" % next(self._names)
            self._checked(self.raw.pgconn.prepare(known, text, types))
        self._known[text, types] = known
        if len(self._known) > _MAX_KNOWN:
            oldest = self._known.pop(next(iter(self._known)))
            if isinstance(oldest, bytes):
                self._checked(self.raw.pgconn.exec_(b"DEALLOCATE " + oldest))
        return b"" if isinstance(known, int) else known

    def _checked(self, result: PGresult) -> PGresult:
        """The result, unless it is an error, which is raised."""
        if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            return result
        if self.raw.pgconn.status != ConnStatus.OK and not result.error_field(DiagnosticField.SQLSTATE):
            raise psycopg.OperationalError(result.get_error_message())
        raise errors.error_from_result(result, self.raw.info.encoding)

    def execute_all(self, statements: Sequence[tuple[str, Parameters]], /) -> list[Cursor]:
        self._begin_now()
        if len(statements) < 3:
            return [self.execute(sql, parameters) for sql, parameters in statements]
        self._piping = True
        try:
            with self.raw.pipeline():
                found = [self.execute(sql, parameters) for sql, parameters in statements[:-1]]
        finally:
            self._piping = False
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
        self._checked(self.raw.pgconn.exec_(sql.encode()))

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
        self._note_number(cursor.pgresult.get_value(0, 0) if cursor.pgresult else None)
        cursor.nextset()
        return cursor

    def _note_number(self, text: bytes | None) -> None:
        self.transaction = int(text or 0)

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
