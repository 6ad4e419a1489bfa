"""Every event log passes one suite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.suites.event_log.case import gather, numbers, words
from tests.contract.suites.event_log.conformance import EventLogConformance
from tests.support.driven_runs import DrivenRuns
from tests.support.redis import RedisServer

from stepwell.database.events.log import EventLog
from stepwell.database.persistence import Persistence
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.queue.types import ClaimedRun
from stepwell.database.sqlite.persistence import EmbeddedPersistence


class TestEmbeddedEventLog(EventLogConformance):
    @pytest.fixture
    async def persistence(self, tmp_path: Path) -> AsyncIterator[Persistence]:
        async with EmbeddedPersistence(tmp_path / "stepwell.db") as opened:
            yield opened


class TestPostgresEventLog(EventLogConformance):
    @pytest.fixture
    async def persistence(self, postgres_url: str) -> AsyncIterator[Persistence]:
        async with PostgresPersistence(postgres_url) as opened:
            yield opened


class FollowedElsewhere:
    """A log that is written by one process and read by another."""

    def __init__(self, written: EventLog, read: EventLog) -> None:
        self.append, self.documents = written.append, written.documents
        self.read, self.newest, self.follow_run, self.follow_thread = (
            *(read.read, read.newest, read.follow_run, read.follow_thread),
        )


class TestRedisEventLog(EventLogConformance):
    """With a second process beside the one that drives the runs: everybody follows there."""

    @pytest.fixture
    async def persistence(self, postgres_url: str, redis_server: RedisServer) -> AsyncIterator[Persistence]:
        async with PostgresPersistence(postgres_url, redis_url=redis_server.url) as opened:
            yield opened

    @pytest.fixture
    async def log(self, persistence: Persistence, postgres_url: str, redis_server: RedisServer) -> AsyncIterator[EventLog]:
        async with PostgresPersistence(postgres_url, redis_url=redis_server.url) as elsewhere:
            yield FollowedElsewhere(persistence.events, elsewhere.events)

    async def test_following_a_thread_from_now_on_leaves_out_what_was(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        """When it begins, another process cannot know: what is said until then is left out as well."""
        await log.append(claim.lease, words(1, 2))
        following = asyncio.create_task(gather(log.follow_thread(claim.run.thread_id), until=2))
        for number in range(3, 1000):
            await log.append(claim.lease, words(number))
            if following.done():
                break
        first, *others = numbers(await following)
        assert first > 2
        assert others == list(range(first + 1, first + 1 + len(others)))
