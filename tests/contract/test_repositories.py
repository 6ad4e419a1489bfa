"""Every repository passes one suite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.suites.repository.conformance import RepositoryConformance

from stepwell.database.persistence import Persistence
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.sqlite.persistence import EmbeddedPersistence


class TestEmbeddedRepository(RepositoryConformance):
    @pytest.fixture
    async def persistence(self, tmp_path: Path) -> AsyncIterator[Persistence]:
        async with EmbeddedPersistence(tmp_path / "stepwell.db") as opened:
            yield opened


class TestPostgresRepository(RepositoryConformance):
    @pytest.fixture
    async def persistence(self, postgres_url: str) -> AsyncIterator[Persistence]:
        async with PostgresPersistence(postgres_url) as opened:
            yield opened
