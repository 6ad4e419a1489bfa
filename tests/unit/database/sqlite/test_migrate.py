"""A database between two forms: a step that does not come to its end has not begun."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.support.products import installed, write_product

from stepwell.database.forms import Migration
from stepwell.database.moving.move import move
from stepwell.database.moving.sqlite_side import SqliteSource, SqliteTarget
from stepwell.database.sqlite.backup import back_up, restore
from stepwell.database.sqlite.condition import inspect_database
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.migrate import forms_of, migrate, migrations, version_of
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.errors import ConfigurationError


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "stepwell.db", isolation_level=None)) as opened:
        yield opened


@pytest.mark.parametrize("step", migrations(), ids=lambda step: step.name)
def test_a_step_that_is_broken_off_leaves_the_form_before_it(connection: sqlite3.Connection, step: Migration) -> None:
    """At its last statement, which sets the number: everything the step had made goes with it."""
    number = step.number

    def refuse(action: int, name: str | None, value: str | None, *_: object) -> int:
        broken = action == sqlite3.SQLITE_PRAGMA and name == "user_version" and value == str(number)
        return sqlite3.SQLITE_DENY if broken else sqlite3.SQLITE_OK

    connection.set_authorizer(refuse)
    with pytest.raises(sqlite3.DatabaseError):
        migrate(connection)
    connection.set_authorizer(None)
    assert version_of(connection) == max((known.number for known in migrations() if known.number < number), default=0)
    assert not connection.in_transaction
    migrate(connection)
    assert version_of(connection) == migrations()[-1].number
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def schema_of(connection: sqlite3.Connection) -> list[tuple]:
    return connection.execute("SELECT name, sql FROM sqlite_master ORDER BY 1").fetchall()


def test_a_products_step_that_is_broken_off_leaves_its_form_before(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """At its last statement, which notes the number, and at each before it."""
    steps = ["CREATE TABLE notes (x TEXT);", "CREATE TABLE more_notes (x TEXT);\nALTER TABLE notes ADD COLUMN y TEXT;"]
    with installed(write_product(tmp_path, "notes", steps[:1])):
        migrate(connection)
    before = schema_of(connection)

    def refuse(broken: tuple[int, str], action: int, name: str | None, value: str | None, *_: object) -> int:
        return sqlite3.SQLITE_DENY if broken in ((action, name), (action, value)) else sqlite3.SQLITE_OK

    with installed(write_product(tmp_path, "notes", steps)):
        for broken in (
            (sqlite3.SQLITE_CREATE_TABLE, "more_notes"),
            (sqlite3.SQLITE_ALTER_TABLE, "notes"),
            (sqlite3.SQLITE_INSERT, "product_forms"),
        ):
            connection.set_authorizer(partial(refuse, broken))
            with pytest.raises(sqlite3.DatabaseError):
                migrate(connection)
            connection.set_authorizer(None)
            assert (forms_of(connection).products["notes"], schema_of(connection)) == (1, before)
            assert not connection.in_transaction
        assert [step.number for step in migrate(connection)] == [2]
    assert forms_of(connection).products["notes"] == 2


@pytest.mark.parametrize("form", [1, 16])
@pytest.mark.parametrize("log", ["no log", "with a log of a killed server"])
async def test_a_file_from_before_the_first_release_is_refused_and_left_as_it_is(tmp_path: Path, form: int, log: str) -> None:
    """Whoever opens it. No byte changes, not even by what a crash has left in the log being copied into the file."""
    made, path = tmp_path / "made.db", tmp_path / "stepwell.db"
    Database(made).close()
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {'DELETE' if log == 'no log' else 'WAL'}")
        connection.execute(f"PRAGMA user_version = {form}")
        for end in ("", "-wal"):
            if (file := tmp_path / f"made.db{end}").exists():
                (tmp_path / f"stepwell.db{end}").write_bytes(file.read_bytes())
    files = [path] if log == "no log" else [path, tmp_path / "stepwell.db-wal"]
    before = [file.read_bytes() for file in files]

    told = (
        rf"made by a version of Stepwell before the first release \(schema version {form}\).* Nothing in it was changed. "
        "Use it with the version"
    )
    for attempt in (Database, inspect_database, lambda path: restore(path, tmp_path / "other.db", kept_as="before")):
        with pytest.raises(ConfigurationError, match=told):
            attempt(path)
    with pytest.raises(ConfigurationError, match=told):
        await EmbeddedPersistence(path).__aenter__()
    with (
        pytest.raises(ConfigurationError, match=told),
        SqliteSource(path) as source,
        SqliteTarget(tmp_path / "other.db") as target,
    ):
        move(source, target, lambda *_: None)

    assert [file.read_bytes() for file in files] == before
    assert not (tmp_path / "other.db").exists()


def test_what_a_killed_backup_and_a_killed_restore_have_left_is_in_nobodys_way(tmp_path: Path) -> None:
    database, copy = tmp_path / "stepwell.db", tmp_path / "copy.db"
    Database(database).close()
    for left in ("copy.db.partial", "stepwell.db.restoring"):
        (tmp_path / left).write_bytes(b"half a database")
    back_up(database, copy)
    assert restore(copy, database, kept_as="before") == tmp_path / "stepwell.db.before"
    with closing(sqlite3.connect(database)) as connection:
        assert version_of(connection) == migrations()[-1].number
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "copy.db",
        "stepwell.db",
        "stepwell.db.before",
        "stepwell.db.lock",
    ]
