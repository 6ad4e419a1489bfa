"""Events through Redis: whatever happens to it, whoever follows sees everything once, in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import pytest
from tests.support.driven_runs import DONE, a_run, driving, new_id
from tests.support.redis import RedisServer

from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.queue.types import Admission
from stepwell.database.types import NewEvent
from stepwell.errors import ConfigurationError

PATIENCE_S = 60.0


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not fact():  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.01)


class Followed:
    """A run that is driven in one process and followed in another."""

    def __init__(self, writing: PostgresPersistence, following: PostgresPersistence) -> None:
        self.writing, self.following = writing, following
        self.heard: list[int] = []
        self.said = 0

    async def __aenter__(self) -> Followed:
        self._driving = driving(self.writing, worker="worker")
        worker = await self._driving.__aenter__()
        thread_id = new_id()
        await self.writing.queue.admit(Admission(a_run(thread_id), create_thread=True))
        self._worker, self._claim = worker, await worker.next()
        self._task = asyncio.create_task(self._follow(thread_id, self._claim.run.run_id))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._driving.__aexit__(None, None, None)

    async def _follow(self, thread_id: str, run_id: str) -> None:
        async for events in self.following.events.follow_run(thread_id, run_id):
            self.heard += [event.seq for event in events]

    async def say(self, times: int = 1) -> None:
        for _ in range(times):
            self.said += 1
            await self.writing.events.append(self._claim.lease, [NewEvent("values", b"{}")])

    async def all_heard(self) -> None:
        await until(lambda: len(self.heard) >= self.said or self._task.done())
        assert self.heard == list(range(1, self.said + 1))

    async def end(self) -> None:
        await self._worker.end(self._claim, DONE)
        await asyncio.wait_for(self._task, PATIENCE_S)
        assert self.heard == list(range(1, self.said + 2))


@pytest.fixture
def redis() -> AsyncIterator[RedisServer]:
    """One that may be killed."""
    with RedisServer() as server:
        yield server


async def test_redis_is_killed_emptied_and_started_again_and_no_event_is_missing_or_twice(
    postgres_url: str, redis: RedisServer, caplog: pytest.LogCaptureFixture
):
    async with (
        PostgresPersistence(postgres_url, redis_url=redis.url) as one,
        PostgresPersistence(postgres_url, redis_url=redis.url) as other,
        Followed(one, other) as run,
    ):
        await run.say(5)
        await run.all_heard()
        heard = other.fan_out.heard
        await run.say(5)
        await run.all_heard()
        await until(lambda: other.fan_out.heard > heard)  # by Redis

        redis.kill()
        await run.say(5)
        await run.all_heard()
        await until(lambda: not one.fan_out.up and not other.fan_out.up)
        await run.say(5)
        await run.all_heard()
        redis.start()
        await until(lambda: one.fan_out.up and other.fan_out.up)
        heard = other.fan_out.heard
        await run.say(5)
        await run.all_heard()
        await until(lambda: other.fan_out.heard > heard)

        for _ in range(3):
            await run.say(3)
            redis.ask("FLUSHALL")
            await run.say(3)
        await run.all_heard()
        redis.kill()
        await run.end()
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING and "Redis" in record.message]
    assert told
    assert all("Events go through Postgres" in text for text in told)


async def test_a_process_without_redis_hears_of_events_all_the_same(postgres_url: str, redis: RedisServer):
    async with PostgresPersistence(postgres_url, redis_url=redis.url) as one, PostgresPersistence(postgres_url) as without:
        async with Followed(one, without) as run:
            await run.say(3)
            await run.all_heard()
            await run.end()
        async with Followed(without, one) as run:
            await run.say(3)
            await run.all_heard()
            await run.end()


async def test_a_redis_that_cannot_be_reached_keeps_nobody_from_starting(postgres_url: str, caplog: pytest.LogCaptureFixture):
    away = "redis://user:very-secret@127.0.0.1:1/0"
    async with (
        PostgresPersistence(postgres_url, redis_url=away) as one,
        PostgresPersistence(postgres_url, redis_url=away) as other,
        Followed(one, other) as run,
    ):
        await run.say(3)
        await run.all_heard()
        assert not one.fan_out.up
        await run.end()
    assert "Redis at 127.0.0.1:1 cannot be used" in caplog.text
    assert "very-secret" not in caplog.text


async def test_a_redis_that_cannot_be_reached_is_told_of_before_there_is_an_event(postgres_url: str):
    async with PostgresPersistence(postgres_url, redis_url="redis://127.0.0.1:1/0") as one:
        await until(lambda: not one.fan_out.up)


async def test_a_redis_that_takes_nothing_more_is_told_of_once(
    postgres_url: str, redis: RedisServer, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "stepwell")
    async with (
        PostgresPersistence(postgres_url, redis_url=redis.url) as one,
        PostgresPersistence(postgres_url) as other,
        Followed(one, other) as run,
    ):
        redis.ask("CONFIG SET maxmemory 1")
        await run.say(3)
        await run.all_heard()
        await until(lambda: one.fan_out.failures >= 3)
        assert not one.fan_out.up
        redis.ask("CONFIG SET maxmemory 0")
        await until(lambda: one.fan_out.up)
        await run.end()
    told = [record.getMessage() for record in caplog.records if "Redis at" in record.getMessage()]
    assert len(told) == 2, told
    assert "OutOfMemoryError" in told[0]
    assert "is used again" in told[1]


@pytest.mark.parametrize("url", ["http://localhost:6379", "localhost", "redis://[::1", "redis://host:port"])
async def test_what_is_no_address_of_a_redis_is_refused_with_a_sentence(postgres_url: str, url: str):
    with pytest.raises(ConfigurationError, match="STEPWELL_REDIS_URL"):
        async with PostgresPersistence(postgres_url, redis_url=url):
            pass
