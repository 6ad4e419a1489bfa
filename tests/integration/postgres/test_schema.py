"""Both databases have the same tables: what is written for one runs on the other."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from stepwell.database.postgres.migrate import migrations as postgres_migrations
from stepwell.database.sqlite.migrate import migrate, migrations

OWN = {"stepwell_form"}
ADDED = {("threads", "rowid"), ("assistants", "rowid")}
"""SQLite has these without saying so."""


@pytest.fixture(scope="module")
def sqlite() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        yield connection


def columns_of_sqlite(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    names = [
        row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    ]
    return {(table, row[1]) for table in names for row in connection.execute(f'PRAGMA table_info("{table}")')}


def test_the_columns_are_the_same(sqlite: sqlite3.Connection, shared_postgres: str):
    with psycopg.connect(shared_postgres) as connection:
        rows = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        )
        there = {(table, column) for table, column in rows if table not in OWN}
    assert there - ADDED == columns_of_sqlite(sqlite)


def test_the_indexes_are_the_same(sqlite: sqlite3.Connection, shared_postgres: str):
    ours = {row[0] for row in sqlite.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")}
    with psycopg.connect(shared_postgres) as connection:
        there = {row[0] for row in connection.execute("SELECT indexname FROM pg_indexes WHERE schemaname = 'public'")}
    assert ours - there == set()


def test_text_is_ordered_by_its_bytes_whatever_the_databases_own_order_is(shared_postgres: str):
    with psycopg.connect(shared_postgres) as connection:
        others = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'text'"
            " AND collation_name IS DISTINCT FROM 'C' AND table_name <> 'stepwell_form'"
        ).fetchall()
    assert others == []


def test_both_have_the_same_steps():
    assert [step[:2] for step in postgres_migrations()] == [step[:2] for step in migrations()]
