"""Threads expire by the same rules on every database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.suites.expiry import ExpiryConformance

from stepwell.clock import Clock
from stepwell.database.persistence import Persistence
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.sqlite.persistence import EmbeddedPersistence


class TestEmbeddedExpiry(ExpiryConformance):
    @pytest.fixture
    async def persistence(self, clock: Clock, tmp_path: Path) -> AsyncIterator[Persistence]:
        async with EmbeddedPersistence(tmp_path / "stepwell.db", clock=clock) as opened:
            yield opened


class TestPostgresExpiry(ExpiryConformance):
    @pytest.fixture
    async def persistence(self, clock: Clock, postgres_url: str) -> AsyncIterator[Persistence]:
        async with PostgresPersistence(postgres_url, clock=clock) as opened:
            yield opened
