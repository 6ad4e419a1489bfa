"""Every evidence vault passes one suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.contract.suites.vault import VaultConformance

from stepwell.clock import SystemClock
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.queue import leases
from stepwell.database.sqlite.database import Database
from stepwell.research.audit.vault import EvidenceVault
from stepwell.research.database_vault import SqlVault


class TestEmbeddedVault(VaultConformance):
    @pytest.fixture
    def open_vault(self, tmp_path: Path) -> Iterator[Callable[[], EvidenceVault]]:
        database = Database(tmp_path / "stepwell.db")
        lease = database.write_now(_hold)
        yield lambda: SqlVault(database, "t", lease, SystemClock())
        database.close()


class TestPostgresVault(VaultConformance):
    @pytest.fixture
    def open_vault(self, postgres_url: str) -> Iterator[Callable[[], EvidenceVault]]:
        database = PostgresDatabase(postgres_url)
        lease = database.write_now(_hold)
        yield lambda: SqlVault(database, "t", lease, SystemClock())
        database.close()


def _hold(connection):
    connection.execute(
        "INSERT INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at)"
        " VALUES ('t', 'o', 'idle', '{}', '{}', 0, 0)"
    )
    return leases.hold(connection, "o", "t", "hold:test", 0.0)
