"""The ledger in the embedded database: flushed to the disk, and untouched by what happens to threads."""

from __future__ import annotations

import sqlite3
from importlib import resources
from pathlib import Path

import pytest

from stepwell.runs.embedded.file.database import Database

SYNCED, USUAL = 2, 1


def level(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA synchronous").fetchone()[0])


async def test_work_that_asks_for_it_is_flushed_to_the_disk_and_the_rest_is_not(tmp_path: Path):
    database = Database(tmp_path / "stepwell.db")
    assert [await database.write(level, synced=synced) for synced in (False, True, False, True)] == [
        USUAL,
        SYNCED,
        USUAL,
        SYNCED,
    ]
    with pytest.raises(ZeroDivisionError):
        await database.write(lambda connection: 1 // 0, synced=True)
    assert await database.write(level) == USUAL
    database.close()


async def test_a_database_that_promises_it_always_does(tmp_path: Path):
    database = Database(tmp_path / "stepwell.db", power_loss=True)
    assert [await database.write(level, synced=synced) for synced in (False, True, False)] == [SYNCED] * 3
    database.close()


async def test_lines_are_never_changed_or_deleted(tmp_path: Path):
    database = Database(tmp_path / "stepwell.db")
    await database.write(
        lambda connection: connection.execute(
            "INSERT INTO payment_entries (session_id, owner, kind, amount, key, at) VALUES ('s', 'o', 'credit', 1, 'k', 0)"
        )
    )
    for sql in ("UPDATE payment_entries SET amount = 2", "DELETE FROM payment_entries"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            await database.write(lambda connection, sql=sql: connection.execute(sql))
    database.close()


def test_the_migration_makes_the_tables_that_the_rules_are_written_for():
    migration = resources.files("stepwell.runs.embedded") / "migrations" / "0008_payments.sql"
    schema = resources.files("stepwell.payments.sql") / "schema.sql"
    assert migration.read_text(encoding="utf-8") == schema.read_text(encoding="utf-8")
