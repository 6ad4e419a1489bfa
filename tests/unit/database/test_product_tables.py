"""Tables of products: made when a database is opened, and treated with their threads as the product says."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.products import installed, module_of, write_product

from stepwell.database.forms import product_migrations
from stepwell.database.moving.move import known_tables, move
from stepwell.database.moving.sqlite_side import SqliteSource, SqliteTarget
from stepwell.database.sqlite.backup import back_up, restore
from stepwell.database.sqlite.condition import inspect_database
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.tables import installed_tables
from stepwell.database.types import Thread
from stepwell.errors import ConfigurationError
from stepwell.sql import Connection

OWNER = "ada"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOTES = "CREATE TABLE notes (thread_id TEXT NOT NULL, text TEXT NOT NULL);\n"
PINNED = "ALTER TABLE notes ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;\nCREATE INDEX notes_pinned ON notes (pinned);\n"
OF_THREAD = "of_thread=(Kept('notes', size='length(text)'),), copied=('notes',)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stepwell.db"


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return write_product(tmp_path, "notes", [NOTES], rest=OF_THREAD)


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return write_product(tmp_path, "notes", [NOTES, PINNED], rest=OF_THREAD)


def read(path: Path, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def forms(path: Path) -> dict[str, int]:
    return dict(read(path, "SELECT product, number FROM product_forms"))


def test_our_own_products_bring_theirs(path: Path) -> None:
    Database(path).close()
    assert forms(path) == {"connections": 1, "payments": 1, "research": 2}
    assert {"evidence", "trail", "payment_entries"} <= {table.name for table in known_tables()}


def test_a_product_brings_tables_and_changes_them_later(path: Path, first: Path, second: Path) -> None:
    Database(path).close()
    with installed(first):
        assert [step.name for step in inspect_database(path).missing] == ["step of notes"]
        Database(path).close()
        assert inspect_database(path).missing == ()
    change(path, "INSERT INTO notes VALUES ('t', 'remember')")
    with installed(second):
        Database(path).close()
    assert forms(path)["notes"] == 2
    assert read(path, "SELECT thread_id, text, pinned FROM notes") == [("t", "remember", 0)]


def test_a_last_statement_without_a_semicolon_counts(path: Path, tmp_path: Path) -> None:
    with installed(
        write_product(tmp_path, "notes", ["CREATE TABLE notes (x TEXT);\nCREATE TABLE more_notes (x TEXT) -- the end"])
    ):
        Database(path).close()
    assert read(path, "SELECT * FROM more_notes") == []


def test_a_newer_form_of_a_product_is_refused_like_a_newer_form_of_ours(
    path: Path, tmp_path: Path, first: Path, second: Path
) -> None:
    with installed(second):
        Database(path).close()
        back_up(path, tmp_path / "copy.db")
    before = path.read_bytes()
    told = "schema version 2 of the product 'notes', and the one installed here knows versions up to 1"
    with installed(first):
        for opening in (Database, inspect_database):
            with pytest.raises(ConfigurationError, match=f"{told}. Install the newer one that wrote it, or restore a backup"):
                opening(path)
        with pytest.raises(ConfigurationError, match=f"'copy.db' has {told}"):
            restore(tmp_path / "copy.db", path, kept_as="before")
        with pytest.raises(ConfigurationError, match=told), SqliteSource(path):
            pass
    assert path.read_bytes() == before


def test_tables_of_a_product_that_is_gone_stay(path: Path, first: Path, second: Path, caplog: pytest.LogCaptureFixture) -> None:
    with installed(first):
        Database(path).close()
    change(path, "INSERT INTO notes VALUES ('t', 'remember')")
    with caplog.at_level(logging.WARNING):
        Database(path).close()
    (warning,) = caplog.records
    assert "tables of products that are not installed here: notes." in warning.getMessage()
    with installed(second):
        Database(path).close()
    assert read(path, "SELECT text, pinned FROM notes") == [("remember", 0)]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("CREATE TABLE threads (x TEXT);", "'threads' is brought both by Stepwell itself and by the product 'notes'"),
        (
            "create table if not exists Evidence (x TEXT);",
            "'evidence' is brought both by the product 'research' and by the product 'notes'",
        ),
        (
            'CREATE VIEW "payment_entries" AS SELECT 1;',
            "'payment_entries' is brought both by the product 'payments' and by the product 'notes'",
        ),
    ],
)
def test_a_name_that_is_taken_is_refused_with_both_who_want_it(path: Path, tmp_path: Path, sql: str, told: str) -> None:
    Database(path).close()
    before = path.read_bytes()
    with installed(write_product(tmp_path, "notes", [sql])):
        with pytest.raises(ConfigurationError, match=told):
            Database(path)
        with pytest.raises(ConfigurationError, match=told):
            Database(tmp_path / "new.db")
    assert path.read_bytes() == before
    assert read(tmp_path / "new.db", "SELECT name FROM sqlite_master") == []


def test_two_products_of_somebody_else_with_one_table_are_refused(path: Path, tmp_path: Path, first: Path) -> None:
    with (
        installed(first, write_product(tmp_path, "other", [NOTES])),
        pytest.raises(ConfigurationError, match="'notes' is brought both by the product 'notes' and by the product 'other'"),
    ):
        Database(path)


def test_a_table_that_nobody_knows_is_not_taken_over(path: Path, first: Path) -> None:
    Database(path).close()
    change(path, "CREATE TABLE notes (mine TEXT)")
    told = "'notes' brings a table 'notes', and the database has one with this name, of another program or of a product"
    with installed(first), pytest.raises(ConfigurationError, match=told):
        Database(path)
    assert "notes" not in forms(path)


def test_a_product_without_tables_for_a_database_is_named(path: Path, tmp_path: Path) -> None:
    folder = write_product(tmp_path, "notes", [], postgres=[NOTES])
    with installed(folder), pytest.raises(ConfigurationError, match="'notes' brings no tables for sqlite"):
        Database(path)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("TABLES = 1", "must be a stepwell.database.tables.ProductTables of the product 'notes'"),
        ("import nowhere", "The tables of the product 'notes' cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_tables_that_cannot_be_loaded_are_named(path: Path, first: Path, source: str, told: str) -> None:
    module = module_of(first)
    module.with_name("bad.py").write_text(source)
    module.write_text(module.read_text().replace(":TABLES", ".bad:TABLES"))
    with installed(first), pytest.raises(ConfigurationError, match=told):
        Database(path)


HOOKS = """
def copy(connection, thread_id, new_id):
    connection.execute("INSERT INTO copies (old, new) VALUES (?, ?)", (thread_id, new_id))

def detach(connection, thread_id):
    connection.execute("INSERT INTO copies (old, new) SELECT thread_id, 'gone' FROM threads WHERE thread_id = ?", (thread_id,))
"""


async def test_rows_are_copied_and_erased_with_their_thread(path: Path, tmp_path: Path) -> None:
    folder = write_product(
        tmp_path, "notes", [NOTES + "CREATE TABLE copies (old TEXT, new TEXT);"], rest=OF_THREAD + ", copy=copy, detach=detach"
    )
    module = module_of(folder)
    module.write_text(HOOKS + module.read_text())

    def write_notes(connection: Connection) -> None:
        connection.executemany("INSERT INTO notes (thread_id, text) VALUES (?, ?)", [("one", f"note {n}") for n in range(500)])

    with installed(folder):
        async with EmbeddedPersistence(path) as persistence:
            await persistence.records.create_thread(Thread("one", OWNER, NOW, NOW), if_exists="raise")
            await persistence.database.write(write_notes)
            copied = await persistence.records.copy_thread(OWNER, "one", "two")
            await persistence.records.delete_thread(OWNER, "one")
    assert read(path, "SELECT thread_id, COUNT(*) FROM notes GROUP BY 1") == [(copied.thread_id, 500)]
    assert read(path, "SELECT old, new FROM copies") == [("one", copied.thread_id), ("one", "gone")], "while it was still there"


def test_a_move_takes_them_along(path: Path, tmp_path: Path, second: Path) -> None:
    with installed(second):
        Database(path).close()
        change(path, "INSERT INTO notes VALUES ('t', 'remember', 1)")
        with SqliteSource(path) as source, SqliteTarget(tmp_path / "other.db") as target:
            assert {moved.table: moved.sum.rows for moved in move(source, target, lambda *_: None)}["notes"] == 1
        Database(tmp_path / "other.db").close()
    assert read(tmp_path / "other.db", "SELECT * FROM notes") == [("t", "remember", 1)]
    assert forms(tmp_path / "other.db") == forms(path)


def test_a_move_leaves_nothing_behind_unsaid(path: Path, tmp_path: Path, first: Path, second: Path) -> None:
    def attempt(told: str) -> None:
        with (
            pytest.raises(ConfigurationError, match=told),
            SqliteSource(path) as source,
            SqliteTarget(tmp_path / "other.db") as target,
        ):
            move(source, target, lambda *_: None)

    with installed(first):
        Database(path).close()
    attempt("tables of products that are not installed here: notes. Install them")
    with installed(second):
        attempt("Upgrade it first: stepwell db migrate")
    assert not (tmp_path / "other.db").exists()


def test_both_databases_have_the_same_files() -> None:
    for tables in installed_tables():
        sqlite, postgres = (product_migrations(tables, engine) for engine in ("sqlite", "postgres"))
        assert [step[:2] for step in sqlite] == [step[:2] for step in postgres]
        assert [step.creates() for step in sqlite] == [step.creates() for step in postgres]
