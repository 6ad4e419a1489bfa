"""What a move promises, between two files: everything or nothing, compared, and the source as it was."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.database.moving.move import Table, Values, add_up, known_tables, move
from stepwell.database.moving.sqlite_side import SqliteSource, SqliteTarget
from stepwell.database.sqlite.database import Database
from stepwell.errors import ConfigurationError

ROWS = st.lists(st.tuples(st.text(), st.none() | st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.binary()))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "one.db"
    Database(file).close()
    with closing(sqlite3.connect(file)) as connection:
        connection.executemany("INSERT INTO erasing (thread_id, temporary) VALUES (?, 0)", [("a",), ("b",)])
        connection.commit()
    return file


def quietly(*_: object) -> None: ...


@given(ROWS)
def test_a_sum_does_not_depend_on_the_order(rows: list[Values]):
    assert add_up(rows) == add_up(reversed(rows))


@given(ROWS, ROWS)
def test_other_rows_have_another_sum(one: list[Values], other: list[Values]):
    same = sorted(map(repr, one)) == sorted(map(repr, other))
    assert (add_up(one) == add_up(other)) == same


@pytest.mark.parametrize("value", [(1, 1.0), ("1", 1), (b"a", "a"), (None, ""), (0.0, -0.0)])
def test_values_that_only_look_alike_differ(value: tuple[object, object]):
    assert add_up([(value[0],)]) != add_up([(value[1],)])


class Forgetful(SqliteTarget):
    def fill(self, table: Table, rows: Iterable[Values]) -> None:
        super().fill(table, list(rows)[1:])


class Careless(SqliteTarget):
    def fill(self, table: Table, rows: Iterable[Values]) -> None:
        super().fill(table, [tuple("c" if value == "a" else value for value in row) for row in rows])


@pytest.mark.parametrize("kind", [Forgetful, Careless])
def test_a_copy_that_differs_is_not_kept(source: Path, tmp_path: Path, kind: type[SqliteTarget]):
    before = source.read_bytes()
    with (
        SqliteSource(source) as opened,
        pytest.raises(ConfigurationError, match="copy of the table 'erasing' differs"),
        kind(tmp_path / "other.db") as target,
    ):
        move(opened, target, quietly)
    assert source.read_bytes() == before
    assert [file.name for file in tmp_path.glob("other.db*")] == ["other.db.lock"]


def test_what_was_moved_is_a_database_like_any_other(source: Path, tmp_path: Path):
    with SqliteSource(source) as opened, SqliteTarget(tmp_path / "other.db") as target:
        moved = move(opened, target, quietly)
    assert {each.table: each.sum.rows for each in moved if each.sum.rows} == {"erasing": 2}
    assert {each.table for each in moved} == {table.name for table in known_tables()}
    Database(tmp_path / "other.db").close()
    with SqliteSource(tmp_path / "other.db") as opened, closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        assert opened.forms.platform == connection.execute("PRAGMA user_version").fetchone()[0]
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)


@pytest.mark.parametrize("end", ["", "-wal", "-journal"])
def test_nothing_is_written_over_what_is_there(tmp_path: Path, end: str):
    (tmp_path / f"other.db{end}").write_bytes(b"mine")
    told = f"already a file 'other.db{end}'"
    with pytest.raises(ConfigurationError, match=told), SqliteTarget(tmp_path / "other.db"):
        pass
    assert (tmp_path / f"other.db{end}").read_bytes() == b"mine"
