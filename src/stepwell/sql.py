"""The interface for SQL on either database: a connection, and the few points where SQLite and Postgres differ.

Work on a database is a function that takes a `Connection`. It is written once, in SQL that both databases understand:

| instead of | write |
|---|---|
| `INSERT OR IGNORE`, `INSERT OR REPLACE` | `ON CONFLICT DO NOTHING`, `ON CONFLICT (key) DO UPDATE SET column = excluded.column` |
| `a IS b` for two values | `COALESCE(a, '') = COALESCE(b, '')`, or handle null separately |
| a flag as a condition (`NOT temporary`) | a comparison (`temporary = 0`): flags are whole numbers |
| `:owner IS NULL OR owner = :owner` | `CAST(:owner AS TEXT) IS NULL OR owner = :owner`: Postgres needs to know the type |
| a name from the SELECT list in the WHERE of the same query; `CROSS JOIN ... ON` | the expression again; `CROSS JOIN ... WHERE` |
| an order that relies on the default place of nulls | `NULLS FIRST` or `NULLS LAST` |
| `calls = calls + excluded.calls` | `calls = usage.calls + excluded.calls` |

Parameters are `?` or `:name`. Text is ordered by its bytes, numbers have 64 bits, times are seconds since 1970. `max(a, b)` and
`json_each(list)` are SQLite's; the Postgres schema defines functions with these names. All other differences are in the `Dialect` of a
connection.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol

import orjson

Parameters = Sequence[Any] | Mapping[str, Any]


Change = tuple[str, Sequence[Any]]
"""A statement that changes rows, and the values for its question marks."""


class Row(Protocol):
    """Values by name and by index."""

    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...
    @property
    def description(self) -> Any:
        """One tuple per column, starting with its name."""
        ...

    def fetchone(self) -> Any:
        """A `Row`, or `None`."""
        ...

    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def close(self) -> None: ...


class Connection(Protocol):
    """Runs statements inside the caller's transaction."""

    @property
    def dialect(self) -> Dialect: ...
    def execute(self, sql: str, parameters: Parameters = ..., /) -> Cursor: ...
    def execute_all(self, statements: Sequence[tuple[str, Parameters]], /) -> list[Cursor]:
        """Run statements one after the other. They must be independent, so that they can be sent to the database together."""
        ...

    def change_all(self, statements: Sequence[Change], /) -> None:
        """Change rows with several statements that Postgres gets as one: none of them sees what another changes, and no two change the
        same row."""
        ...

    def executemany(self, sql: str, parameters: Any, /) -> Cursor: ...


class Clause(NamedTuple):
    """A condition, and the values for its question marks."""

    sql: str
    bound: tuple[Any, ...] = ()


class Dialect(Protocol):
    """What cannot be written in a way that both databases understand."""

    @property
    def name(self) -> Literal["sqlite", "postgres"]: ...
    @property
    def row_address(self) -> str:
        """An expression for a SELECT list: the row's physical address, which is valid within a transaction."""
        ...

    @property
    def row_is(self) -> str:
        """The condition that a row is at that address."""
        ...

    @property
    def random_text(self) -> str:
        """An expression for 32 random hexadecimal digits, different for each row."""
        ...

    def day(self, column: str) -> str:
        """An expression for the day of the time in `column`, such as `2026-01-31` (UTC)."""
        ...

    def has_member(self, column: str, path: Sequence[str], value: Any) -> Clause:
        """The condition that the JSON object in `column` has this value at this path of keys. Lists are compared as a whole; an object as
        the value matches any object."""
        ...

    def has_exactly(self, column: str, key: str, value: Any) -> Clause:
        """The condition that the JSON object in `column` has this value under this key. Lists and objects are compared as a whole."""
        ...

    def has_element(self, column: str, key: str, value: Any) -> Clause:
        """The condition that the JSON object in `column` has a list under this key, with this value in it."""
        ...


class SqliteDialect:
    name: Literal["sqlite"] = "sqlite"
    row_address = "rowid"
    row_is = "rowid = ?"
    random_text = "lower(hex(randomblob(16)))"

    def day(self, column: str) -> str:
        return f"date({column}, 'unixepoch')"

    def has_member(self, column: str, path: Sequence[str], value: Any) -> Clause:
        # e0 has the members of the object, e1 the members of the one in e0 that the path names, and so on. A non-object has no members.
        levels = [f"json_each({column}) AS e0"]
        for depth in range(1, len(path)):
            above = f"e{depth - 1}"
            levels.append(f"json_each(CASE {above}.type WHEN 'object' THEN {above}.value ELSE '{{}}' END) AS e{depth}")
        keys = " AND ".join(f"e{depth}.key = ?" for depth in range(len(path)))
        leaf = _equals(f"e{len(path) - 1}", value)
        sql = f"EXISTS (SELECT 1 FROM {', '.join(levels)} WHERE {keys} AND {leaf.sql})"  # noqa: S608 - only numbers and names of ours
        return Clause(sql, (*path, *leaf.bound))

    def has_exactly(self, column: str, key: str, value: Any) -> Clause:
        leaf = _equals("e0", value)
        if isinstance(value, Mapping):
            leaf = Clause("e0.type = 'object' AND e0.value = json(?)", (orjson.dumps(value).decode(),))
        return Clause(f"EXISTS (SELECT 1 FROM json_each({column}) AS e0 WHERE e0.key = ? AND {leaf.sql})", (key, *leaf.bound))  # noqa: S608 - names of ours

    def has_element(self, column: str, key: str, value: Any) -> Clause:
        leaf = _equals("e1", value)
        if isinstance(value, Mapping):
            leaf = Clause("e1.type = 'object' AND e1.value = json(?)", (orjson.dumps(value).decode(),))
        inner = "json_each(CASE e0.type WHEN 'array' THEN e0.value ELSE '[]' END) AS e1"
        sql = f"EXISTS (SELECT 1 FROM json_each({column}) AS e0, {inner} WHERE e0.key = ? AND {leaf.sql})"  # noqa: S608 - names of ours
        return Clause(sql, (key, *leaf.bound))


class PostgresDialect:
    name: Literal["postgres"] = "postgres"
    row_address = "CAST(ctid AS TEXT)"
    row_is = "ctid = CAST(? AS tid)"
    random_text = "replace(CAST(gen_random_uuid() AS TEXT), '-', '')"

    def day(self, column: str) -> str:
        return f"to_char(to_timestamp({column}) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"

    def has_member(self, column: str, path: Sequence[str], value: Any) -> Clause:
        member = f"json_of({column})" + " -> CAST(? AS TEXT)" * len(path)
        if isinstance(value, Mapping):
            return Clause(f"jsonb_typeof({member}) = 'object'", tuple(path))
        return Clause(f"{member} = json_of(?)", (*path, orjson.dumps(value).decode()))

    def has_exactly(self, column: str, key: str, value: Any) -> Clause:
        return Clause(f"json_of({column}) -> CAST(? AS TEXT) = json_of(?)", (key, orjson.dumps(value).decode()))

    def has_element(self, column: str, key: str, value: Any) -> Clause:
        member = f"json_of({column}) -> CAST(? AS TEXT)"
        elements = f"jsonb_array_elements(CASE jsonb_typeof({member}) WHEN 'array' THEN {member} ELSE '[]' END)"
        sql = f"EXISTS (SELECT 1 FROM {elements} AS e(element) WHERE e.element = json_of(?))"  # noqa: S608 - names of ours
        return Clause(sql, (key, key, orjson.dumps(value).decode()))


def _equals(member: str, value: Any) -> Clause:
    match value:
        case None:
            return Clause(f"{member}.type = 'null'")
        case bool():
            return Clause(f"{member}.type = ?", ("true" if value else "false",))
        case int() | float():
            return Clause(f"{member}.type IN ('integer', 'real') AND {member}.value = ?", (value,))
        case str():
            return Clause(f"{member}.type = 'text' AND {member}.value = ?", (value,))
        case Mapping():
            return Clause(f"{member}.type = 'object'")
        case _:
            return Clause(f"{member}.type = 'array' AND {member}.value = json(?)", (orjson.dumps(value).decode(),))


_PORTIONS = (64, 32, 16, 12, *range(10, 0, -1))


def insert_rows(connection: Connection, into: str, rows: Sequence[Sequence[Any]], conflict: str = "") -> None:
    """Insert rows with few statements. `into`: the table with its columns. `conflict`: what follows the values; with `DO UPDATE`, no two
    rows may have the same key."""
    for sql, values in insertions(into, rows, conflict):
        connection.execute(sql, values)


def insertions(into: str, rows: Sequence[Sequence[Any]], conflict: str = "") -> Iterator[Change]:
    """The statements of `insert_rows`, with their values."""
    start = 0
    # Few different sizes, so that their statements stay prepared.
    for size in _PORTIONS:
        while len(rows) - start >= size:
            portion = rows[start : start + size]
            yield _insertion(into, len(portion[0]), size, conflict), [value for row in portion for value in row]
            start += size


@cache
def _insertion(into: str, width: int, rows: int, conflict: str) -> str:
    marks = f"({', '.join('?' * width)})"
    return f"INSERT INTO {into} VALUES {', '.join([marks] * rows)} {conflict}".rstrip()  # noqa: S608 - names of ours


SQLITE: Dialect = SqliteDialect()
POSTGRES: Dialect = PostgresDialect()


class SqliteConnection(sqlite3.Connection):
    """`sqlite3.connect(..., factory=SqliteConnection)`: SQLite's own connection, extended to be a `Connection`."""

    dialect: Dialect = SQLITE

    def execute_all(self, statements: Sequence[tuple[str, Parameters]], /) -> list[Cursor]:
        return [self.execute(sql, parameters) for sql, parameters in statements]

    def change_all(self, statements: Sequence[Change], /) -> None:
        for sql, parameters in statements:
            self.execute(sql, parameters)
