"""Messages to runs pass one suite on every database."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.suites.steering import Open, Served, SteeringConformance, make_engine
from tests.support.driven_runs import new_id
from tests.support.steered_agent import TOOLS

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

    async def test_a_message_that_another_server_stored_enters(self, served: Served, postgres_url: str) -> None:
        run, mark = await served.work()
        async with PostgresPersistence(postgres_url) as persistence:
            other = Served(await make_engine(persistence), persistence)  # admits, but drives nothing
            await other.steer(run, "from elsewhere")
            # What servers tell each other arrives in order, so a run that was admitted later shows that the message is known.
            later = await other.start(new_id(), "hello")
            await served.said(later)
        TOOLS[mark].open.set()
        assert ("human", "from elsewhere") in await served.said(run)
        assert len(await served.runs(run.thread_id)) == 1
