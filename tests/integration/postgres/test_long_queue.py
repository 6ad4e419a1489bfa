"""Work that waits in this process' own queue: the limit for a database that does not answer counts only the database's silence."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from stepwell.database.database import OrderedWork
from stepwell.database.postgres import database as database_module
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.errors import OutcomeUnknownError, StorageUnavailableError
from stepwell.sql import Connection

PUT = "INSERT INTO payment_counters (keyset_id, next) VALUES (?, 0)"
LIMIT_S = 1.0


@pytest.fixture
def database(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresDatabase]:
    monkeypatch.setattr(database_module, "_ANSWER_S", LIMIT_S)
    opened = PostgresDatabase(postgres_url)
    yield opened
    opened.close()


def put(name: str, pause_s: float = 0.0):
    def work(connection: Connection) -> str:
        if pause_s:
            connection.execute("SELECT pg_sleep(?)", (pause_s,))
        connection.execute(PUT, (name,))
        return name

    return work


def names(database: PostgresDatabase) -> list[str]:
    return database.read_now(
        lambda connection: [row[0] for row in connection.execute("SELECT keyset_id FROM payment_counters ORDER BY 1")]
    )


@asynccontextmanager
async def locked(url: str) -> AsyncIterator[None]:
    """Somebody else holds the table, so that a write there gets no answer."""
    async with await psycopg.AsyncConnection.connect(url) as other:
        await other.execute("LOCK TABLE payment_counters IN SHARE ROW EXCLUSIVE MODE")
        yield
        await other.rollback()


async def begun(database: PostgresDatabase) -> None:
    while database.waiting:  # noqa: ASYNC110 - nobody announces it
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with other work may itself be silent for a second."""
    monkeypatch.setattr(database_module, "_ANSWER_S", 3.0)


async def test_thousands_of_reads_wait_their_turn(database: PostgresDatabase, unhurried: None):
    def read(connection: Connection) -> int:
        return int(connection.execute("SELECT 1 FROM pg_sleep(0.01)").fetchone()[0])

    assert await asyncio.gather(*(database.read(read) for _ in range(2_000))) == [1] * 2_000


async def test_a_thousand_writes_wait_their_turn(database: PostgresDatabase, unhurried: None):
    await asyncio.gather(*(database.write(put(f"{number:04}", 0.005)) for number in range(1_000)))
    assert len(names(database)) == 1_000


async def test_a_group_may_take_longer_than_the_limit_while_the_database_answers(database: PostgresDatabase, unhurried: None):
    await asyncio.gather(*(database.write(put(str(number), 0.2)) for number in range(25)))
    assert len(names(database)) == 25


async def test_a_read_that_never_began_ends_too(database: PostgresDatabase):
    hold = threading.Event()

    def stuck(connection: Connection) -> None:
        hold.wait(30)

    stuck_ones = [asyncio.create_task(database.read(stuck)) for _ in range(4)]
    await asyncio.sleep(0.1)
    with pytest.raises(StorageUnavailableError, match=r"has not answered within 1 s\. Nothing was changed"):
        await asyncio.wait_for(database.read(lambda connection: 1), 10 * LIMIT_S)
    hold.set()
    ended = await asyncio.gather(*stuck_ones, return_exceptions=True)
    assert {type(each) for each in ended} == {StorageUnavailableError}


async def test_a_write_that_never_began_is_not_carried_out_later(database: PostgresDatabase, postgres_url: str):
    async with locked(postgres_url):
        first = asyncio.create_task(database.write(put("first")))
        await begun(database)
        second = asyncio.create_task(database.write(put("second")))
        with pytest.raises(OutcomeUnknownError, match="may have been stored"):
            await first
        with pytest.raises(StorageUnavailableError, match=r"was not sent to it\. Nothing was stored") as told:
            await asyncio.wait_for(second, 10 * LIMIT_S)
        assert not isinstance(told.value, OutcomeUnknownError)
        assert told.value.away
    await database.write(put("third"))
    assert names(database) == ["first", "third"]


async def test_nothing_of_a_lane_is_stored_after_a_write_that_was_not(database: PostgresDatabase, postgres_url: str):
    async with locked(postgres_url):
        first = asyncio.create_task(database.write(put("first")))
        await begun(database)
        second = asyncio.create_task(database.write(OrderedWork("lane", put("second"))))
        with pytest.raises(OutcomeUnknownError):
            await first
        with pytest.raises(StorageUnavailableError, match="was not sent"):
            await asyncio.wait_for(second, 10 * LIMIT_S)
        third = database.submit(OrderedWork("lane", put("third")))
    with pytest.raises(StorageUnavailableError, match="An earlier write of this run"):
        await asyncio.wrap_future(third)
    assert names(database) == ["first"]
