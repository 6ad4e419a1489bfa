"""Every ledger passes one suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.contract.suites.ledger import LedgerConformance

from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.sqlite.database import Database
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.ledger.ledger import Ledger
from stepwell.payments.ledger.memory import MemoryLedger


class TestMemoryLedger(LedgerConformance):
    @pytest.fixture
    def open_ledger(self) -> Iterator[Callable[[], Ledger]]:
        ledger = MemoryLedger()
        yield lambda: ledger
        ledger.close()


class TestEmbeddedLedger(LedgerConformance):
    @pytest.fixture
    def open_ledger(self, tmp_path: Path) -> Iterator[Callable[[], Ledger]]:
        database = Database(tmp_path / "stepwell.db")
        yield lambda: DatabaseLedger(database)
        database.close()


class TestPostgresLedger(LedgerConformance):
    @pytest.fixture
    def open_ledger(self, postgres_url: str) -> Iterator[Callable[[], Ledger]]:
        database = PostgresDatabase(postgres_url)
        yield lambda: DatabaseLedger(database)
        database.close()
