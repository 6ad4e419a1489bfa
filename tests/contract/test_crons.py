"""Scheduled runs pass one suite on every database."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from tests.contract.suites.crons import CronConformance, Open, Scheduled, open_scheduled
from tests.support.waiting import PATIENCE_S

from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.sqlite.persistence import EmbeddedPersistence


class TestEmbeddedCrons(CronConformance):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Open:
        return lambda: EmbeddedPersistence(tmp_path / "stepwell.db")


class TestPostgresCrons(CronConformance):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Open:
        return lambda: PostgresPersistence(postgres_url)

    async def test_a_cron_that_another_server_made_wakes_the_scheduler(self, scheduled: Scheduled, postgres_url: str) -> None:
        async with PostgresPersistence(postgres_url) as persistence:
            elsewhere = await open_scheduled(persistence)
            async with scheduled.scheduler(), asyncio.timeout(PATIENCE_S):
                scheduled.clock.moment += timedelta(hours=2)
                cron = await elsewhere.make("0 * * * *")
                while not (slots := await scheduled.slots(cron)):  # noqa: ASYNC110 - it comes from another process
                    await asyncio.sleep(0.02)
        assert [slot.state for slot in slots] == ["missed", "fired"]
