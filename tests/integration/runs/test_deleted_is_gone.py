"""What was deleted is gone from the disk, also from SQLite's log, while the server goes on."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from stepwell.clock import SystemClock
from stepwell.database.sqlite import write_ahead_log
from stepwell.database.sqlite.database import Database
from stepwell.database.store.items import SqlStore

SAID = "what-somebody-wants-forgotten"


def _on_disk(folder: Path) -> bool:
    return any(SAID.encode() in file.read_bytes() for file in folder.iterdir())


@pytest.mark.parametrize(("quiet_s", "latest_s"), [(0.05, 60.0), (60.0, 0.05)], ids=["in a quiet moment", "on a busy server"])
async def test_a_deleted_item_is_soon_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet_s: float, latest_s: float
) -> None:
    monkeypatch.setattr(write_ahead_log, "QUIET_S", quiet_s)
    monkeypatch.setattr(write_ahead_log, "LATEST_S", latest_s)
    database = Database(tmp_path / "stepwell.db")
    try:
        store = SqlStore(database, "anna", SystemClock())
        await store.aput(("notes",), "one", {"text": SAID})
        assert _on_disk(tmp_path)
        await store.adelete(("notes",), "one")
        async with asyncio.timeout(60):
            while _on_disk(tmp_path):
                await asyncio.sleep(0.02)
                if quiet_s > latest_s:
                    await store.aput(("notes",), "two", {"text": "something else"})
    finally:
        database.close()


async def test_a_reader_puts_it_off_and_holds_up_no_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead_log, "QUIET_S", 0.02)
    database = Database(tmp_path / "stepwell.db")
    try:
        store = SqlStore(database, "anna", SystemClock())
        await store.aput(("notes",), "one", {"text": SAID})
        reader = sqlite3.connect(tmp_path / "stepwell.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM store_items").fetchone()
        async with asyncio.timeout(60):
            await store.adelete(("notes",), "one")
            await asyncio.sleep(0.1)
            await store.aput(("notes",), "two", {"text": "something else"})
        assert _on_disk(tmp_path)
        reader.execute("COMMIT")
        reader.close()
        async with asyncio.timeout(60):
            while _on_disk(tmp_path):  # noqa: ASYNC110 - nothing tells when the log is empty
                await asyncio.sleep(0.02)
    finally:
        database.close()
