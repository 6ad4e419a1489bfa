"""Every run queue passes one suite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic

import pytest
from tests.contract.suites.queue.clocks import ClockCases, Opened
from tests.contract.suites.queue.conformance import QueueConformance

from stepwell.clock import Clock
from stepwell.database.persistence import Persistence
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.sqlite.persistence import EmbeddedPersistence


class TestEmbeddedQueue(QueueConformance):
    @pytest.fixture
    async def persistence(self, clock: Clock, tmp_path: Path) -> AsyncIterator[Persistence]:
        async with EmbeddedPersistence(tmp_path / "stepwell.db", clock=clock) as opened:
            yield opened


class TestPostgresQueue(QueueConformance, ClockCases):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda ahead_s, lease_s: PostgresPersistence(
            postgres_url, lease_s=lease_s, seconds=lambda: monotonic() + ahead_s
        )

    @pytest.fixture
    async def persistence(self, clock: Clock, postgres_url: str) -> AsyncIterator[Persistence]:
        async with PostgresPersistence(postgres_url, clock=clock) as opened:
            yield opened

    @pytest.fixture
    async def second(self, persistence: Persistence, clock: Clock, postgres_url: str) -> AsyncIterator[Persistence]:
        async with PostgresPersistence(postgres_url, clock=clock) as opened:
            yield opened
