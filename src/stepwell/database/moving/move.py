"""Moves a whole installation from one database to another, SQLite or Postgres, table by table and row by row.

```
source: one snapshot, nobody else writes        target: empty, nobody else uses it
  1 read everything: count, sum up, look for values the target cannot store
  2 copy ─────────────────────────────────────────> not visible to others yet
  3                                                 read everything: the same counts, the same sums
  4 was the source written to? ───────────────────> if not, committed all at once
```

The source is never changed. If anything fails before the last step, the target stays as it was. At most a few rows are in memory.

Tables and columns are read from the schema (`known_tables`), so a new one can't be forgotten; a test checks that both databases have the
same ones. Values are `None`, `int`, `float`, `str` or `bytes`, according to their column, on both sides.
"""

from __future__ import annotations

import hashlib
import marshal
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol, cast

from stepwell.database.forms import Forms, find_newer, find_uninstalled, missing_of_products, refuse_older
from stepwell.database.sqlite.migrate import migrate, migrations
from stepwell.database.tables import ProductTables, installed_tables
from stepwell.errors import ConfigurationError

Kind = Literal["TEXT", "INTEGER", "REAL", "BLOB", "ANY"]
"""`ANY` is the type of a column with rows that were set aside because they could not be read; they are stored as text, for a person to look
at."""
Values = tuple[Any, ...]
Told = Callable[[str, str, int, int | None], None]
"""Called with the progress: the step, the table, how many rows are done, and how many there are, if known."""

_OFTEN = 1000
_SHOWN = 10
_PAGED = frozenset({"threads", "assistants"})
"""Tables in which rows of the same moment are ordered by their `rowid`, an implicit column in SQLite."""

_KEPT_AS: Mapping[tuple[str, str], Kind] = {("checkpoints", "metadata"): "TEXT"}
"""Columns whose values have another type than SQLite's schema says."""


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    key: tuple[str, ...]
    """The primary key."""
    counter: str | None
    """The column the database numbers itself."""

    def name_row(self, values: Values) -> str:
        """A name for the row in messages. It contains no user data except the row's key."""
        named = dict(zip(self.columns, values, strict=True))
        return f"{self.name} ({', '.join(f'{column}={named[column]!r}' for column in self.key)})"


@dataclass(frozen=True)
class Sum:
    """The sum of all rows of a table, independent of their order."""

    rows: int
    checksum: str


@dataclass(frozen=True)
class Moved:
    table: str
    sum: Sum


class Side(Protocol):
    """A database to read from."""

    def rows(self, table: Table) -> Iterator[Values]: ...


class Source(Side, Protocol):
    @property
    def forms(self) -> Forms: ...
    def counters(self) -> Mapping[str, int]:
        """Table -> the highest number ever assigned, if the database knows it."""
        ...

    def require_unchanged(self) -> None:
        """Raise `ConfigurationError` if the source was written to since it was opened."""
        ...


class Target(Side, Protocol):
    def why_not(self, value: Any) -> str | None:
        """Why this database cannot store a value; `None` if it can."""
        ...

    def fill(self, table: Table, rows: Iterable[Values]) -> None: ...
    def count_on_from(self, table: Table, last: int | None) -> None:
        """From now on, assign numbers above `last` and above those in the table."""
        ...

    def keep(self) -> None:
        """Make everything visible and durable."""
        ...


def move(source: Source, target: Target, told: Told) -> list[Moved]:
    """Copy everything and compare. The caller opens and closes both sides."""
    _require_newest(source.forms)
    tables = known_tables()
    there = _measure_source(source, target, tables, told)
    for table in tables:
        target.fill(table, _telling(source.rows(table), told, "copying", table.name, there[table.name].rows))
    counters = source.counters()
    for table in tables:
        if table.counter is not None:
            target.count_on_from(table, counters.get(table.name))
    for table in tables:
        expected = there[table.name]
        found = add_up(_telling(target.rows(table), told, "comparing", table.name, expected.rows))
        if found != expected:
            raise ConfigurationError(
                f"The copy of the table '{table.name}' differs from the original: {found.rows} rows with the checksum {found.checksum}, "
                f"not {expected.rows} with {expected.checksum}. The copy was discarded, and the original is unchanged. Please report this."
            )
    source.require_unchanged()
    target.keep()
    return [Moved(table.name, there[table.name]) for table in tables]


def add_up(rows: Iterable[Values]) -> Sum:
    """Count the rows and add their hashes: the order does not matter, but duplicates do."""
    counted, total = 0, 0
    for values in rows:
        # Version 2 of the format encodes equal values equally; later versions also record which objects are shared.
        total += int.from_bytes(hashlib.blake2b(marshal.dumps(values, 2), digest_size=16).digest(), "big")
        counted += 1
    return Sum(counted, f"{total % 2**128:032x}")


def known_tables() -> tuple[Table, ...]:
    """All tables of the newest schema, with those of the installed products, and without the lists of forms."""
    return _describe_all(installed_tables())


@lru_cache(maxsize=1)
def _describe_all(products: tuple[ProductTables, ...]) -> tuple[Table, ...]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'product_forms' ORDER BY name"
        )
        return tuple(_describe(connection, row[0]) for row in names.fetchall())


def _describe(connection: sqlite3.Connection, name: str) -> Table:
    described = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
    columns, kinds = (
        [row[1] for row in described],
        [_KEPT_AS.get((name, row[1])) or cast(Kind, row[2] or "ANY") for row in described],
    )
    key = tuple(row[1] for row in sorted(described, key=lambda row: row[5]) if row[5])
    counter = key[0] if len(key) == 1 and kinds[columns.index(key[0])] == "INTEGER" else None
    if name in _PAGED:
        columns, kinds, counter = ["rowid", *columns], ["INTEGER", *kinds], "rowid"
    return Table(name, tuple(columns), tuple(kinds), key, counter)


def _measure_source(source: Source, target: Target, tables: Iterable[Table], told: Told) -> dict[str, Sum]:
    refused: list[str] = []
    found = {}
    for table in tables:
        rows = _telling(source.rows(table), told, "reading", table.name, None)
        found[table.name] = add_up(_noting_refused(table, rows, target, refused))
    if refused:
        shown = "\n".join(f"  {line}" for line in refused[:_SHOWN])
        more = f"\n  and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
        raise ConfigurationError(
            f"The target database cannot store {len(refused)} values. Nothing was written. Delete what they belong to, or store it under "
            f"another name without them, and move again:\n{shown}{more}"
        )
    return found


def _noting_refused(table: Table, rows: Iterable[Values], target: Target, refused: list[str]) -> Iterator[Values]:
    for values in rows:
        for column, value in zip(table.columns, values, strict=True):
            if (reason := target.why_not(value)) is not None:
                refused.append(f"{table.name_row(values)}: {column} {reason}")
        yield values


def _telling(rows: Iterable[Values], told: Told, doing: str, table: str, of: int | None) -> Iterator[Values]:
    done = 0
    for done, values in enumerate(rows, 1):
        yield values
        if done % _OFTEN == 0:
            told(doing, table, done, of)
    told(doing, table, done, of)


def _require_newest(forms: Forms) -> None:
    form, newest = forms.platform, migrations()[-1].number
    refuse_older(form)
    if form > newest:
        raise ConfigurationError(
            f"The database to be moved has schema version {form}, and this Stepwell knows versions up to {newest}. "
            "Move it with the newer Stepwell that wrote it."
        )
    if newer := find_newer("sqlite", forms):
        raise ConfigurationError(f"The database to be moved has {newer}. Move it with the newer one that wrote it.")
    if form < newest or missing_of_products("sqlite", forms):
        raise ConfigurationError(
            f"The database to be moved has schema version {form}, or older tables of products. Only the newest can be moved: {newest}. "
            "Upgrade it first: stepwell db migrate."
        )
    if others := find_uninstalled(forms):
        raise ConfigurationError(
            f"The database to be moved has tables of products that are not installed here: {', '.join(others)}. Install them, so that "
            "their tables are moved too; or leave their data behind by deleting their rows from the table 'product_forms'."
        )
