"""The ledger in the embedded database: flushed to the disk, and untouched by what happens to threads."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.support.driven_runs import OWNER, a_thread

import stepwell.database
import stepwell.runs
from stepwell.database.forms import product_migrations
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.ledger.tables import TABLES
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint

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


def ledger_rows(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """All that the ledger holds, but for the list of threads and the sign that a session ends."""
    tables = [
        row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'payment_%'")
    ]
    found = {}
    for table in sorted(set(tables) - {"payment_threads"}):
        columns = [row["name"] for row in connection.execute(f"PRAGMA table_info({table})") if row["name"] != "ending"]
        found[table] = [tuple(row) for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table}")]
    return found


async def test_deleting_a_thread_leaves_the_money_and_ends_the_session(tmp_path: Path):
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as persistence:
        ledger, mint = DatabaseLedger(persistence.database), MemoryMint(fee_ppk=100)
        wallet = Wallet(ledger, [mint], bytes(32), pause_s=0)
        session_id = (await wallet.fund(OWNER, mint.issue_token(100))).session_id
        await wallet.settle(await wallet.reserve(OWNER, session_id, "k", 10), 10)
        threads = [await persistence.records.create_thread(a_thread(), if_exists="raise") for _ in range(2)]
        for thread in threads:
            await ledger.attach(session_id, thread.thread_id)
        before = await persistence.database.read(ledger_rows)
        await persistence.records.delete_thread(OWNER, threads[0].thread_id)
        assert (await wallet.sweep()).refunded == 0, "another thread draws on it"
        await persistence.records.delete_thread(OWNER, threads[1].thread_id)
        assert await persistence.database.read(ledger_rows) == before
        assert (await wallet.sweep()).refunded == 1
        refund = await wallet.refund(OWNER, session_id)
        assert mint.spend(await wallet.claim(OWNER, refund.token_id)) == 88


def test_no_other_code_names_a_table_of_the_ledger():
    """Rollback, trimming, retention, copying, erasing: their statements are all in these packages."""
    tables = {name for step in product_migrations(TABLES, "sqlite") for name in step.creates()}
    assert "payment_entries" in tables
    for package in (stepwell.database, stepwell.runs):
        texts = {
            path.name: path.read_text(encoding="utf-8")
            for path in Path(package.__path__[0]).rglob("*.*")
            if path.suffix in (".py", ".sql")
        }
        assert texts
        assert [(name, table) for name, text in texts.items() for table in tables if table in text] == []
