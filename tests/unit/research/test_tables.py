"""What research keeps in the database, as a user gets it with everything else that is theirs."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

from stepwell.clock import SystemClock
from stepwell.database.queue import leases
from stepwell.database.sqlite.database import Database
from stepwell.database.types import Lease
from stepwell.research.audit.trail import NewEntry
from stepwell.research.database_vault import SqlVault
from stepwell.research.tables import TABLES
from stepwell.sql import Connection

THREAD = (
    "INSERT INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at)"
    " VALUES ('t', 'o', 'idle', '{}', '{}', 0, 0)"
)


def hold(connection: Connection) -> Lease:
    connection.execute(THREAD)
    return leases.hold(connection, "o", "t", "hold:test", 0.0)


async def test_the_trail_is_exported_with_everything_it_refers_to(tmp_path: Path) -> None:
    assert TABLES.export is not None
    database = Database(tmp_path / "stepwell.db")
    vault = SqlVault(database, "t", database.write_now(hold), SystemClock())
    kept, damaged = await vault.put(b"a page"), await vault.put(b"another")
    await vault.append(NewEntry("source", "one", {"content": kept, "parts": [damaged, "f" * 64, "no hash"]}))
    await database.write(
        lambda connection: connection.execute("UPDATE evidence SET content = x'00' WHERE sha256 = ?", (damaged,))
    )

    trail, *evidence = [line async for line in TABLES.export(database, "t")]
    assert (trail["kind"], trail["thread_id"], trail["entry"]["key"]) == ("trail", "t", "one")
    found = {line["sha256"]: line for line in evidence}
    assert set(found) == {kept, damaged}, "what was never stored is left out"
    assert b64decode(found[kept]["content"]) == b"a page"
    assert found[damaged]["content"] is None
    assert "has changed" in found[damaged]["missing_because"]
    assert [line async for line in TABLES.export(database, "other")] == []
    database.close()
