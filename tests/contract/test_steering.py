"""Messages to runs pass one suite on every database."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.suites.steering import Open, SteeringConformance

from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.sqlite.persistence import EmbeddedPersistence


class TestEmbeddedSteering(SteeringConformance):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Open:
        return lambda: EmbeddedPersistence(tmp_path / "stepwell.db")


class TestPostgresSteering(SteeringConformance):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Open:
        return lambda: PostgresPersistence(postgres_url)
