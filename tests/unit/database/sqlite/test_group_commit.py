"""One piece of work that fails takes nobody with it, and nothing of its own run is stored behind it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from stepwell.database.database import OrderedWork
from stepwell.database.sqlite.database import Database
from stepwell.errors import StorageUnavailableError

Work = Callable[[sqlite3.Connection], Any]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(tmp_path / "stepwell.db")
    await opened.write(lambda connection: connection.execute("CREATE TABLE words (word TEXT)"))
    yield opened
    await asyncio.to_thread(opened.close)


def say(word: str) -> Work:
    return lambda connection: connection.execute("INSERT INTO words VALUES (?)", (word,)).rowcount


def say_for(lane: str, word: str) -> Work:
    return OrderedWork(lane, say(word))


async def in_one_group(database: Database, *pieces: Work) -> list[Any]:
    """All of them at once: the writer is kept busy until they have been handed in."""
    handed_in = threading.Event()
    waiting = database.write_soon(lambda connection: handed_in.wait(60))
    answers = [database.write_soon(work) for work in pieces]
    handed_in.set()
    await waiting
    return await asyncio.gather(*answers, return_exceptions=True)


async def words(database: Database) -> list[str]:
    return await database.read(lambda connection: [row[0] for row in connection.execute("SELECT word FROM words")])


def no_room_to_grow(connection: sqlite3.Connection) -> None:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")


async def test_an_error_of_one_statement_concerns_nobody_else(database: Database) -> None:
    broken: Work = lambda connection: connection.execute("SELECT json_extract('{', '$.a')").fetchone()  # noqa: E731
    before, failed, after = await in_one_group(database, say("before"), broken, say("after"))
    assert (before, after) == (1, 1)
    assert isinstance(failed, sqlite3.OperationalError), "not a reason to try again later: it would fail again"
    assert await words(database) == ["before", "after"]


async def test_what_is_too_large_for_the_disk_takes_nobody_with_it(database: Database) -> None:
    await database.write(no_room_to_grow)
    before, failed, after = await in_one_group(database, say("before"), say("x" * 1_000_000), say("after"))
    assert (before, after) == (1, 1)
    assert isinstance(failed, StorageUnavailableError)
    assert await words(database) == ["before", "after"]


async def test_nothing_of_a_run_is_stored_behind_what_could_not_be(database: Database) -> None:
    """An effect must not be on disk without the checkpoint that was handed in before it."""
    await database.write(no_room_to_grow)
    answers = await in_one_group(
        database,
        *(say_for("run 1", "checkpoint 1"), say_for("run 1", "x" * 1_000_000), say_for("run 1", "effect")),
        say_for("run 2", "another run's"),
    )
    assert [type(answer) for answer in answers] == [int, StorageUnavailableError, StorageUnavailableError, int]
    with pytest.raises(StorageUnavailableError, match="driven again"):
        await database.write(say_for("run 1", "later"))
    await database.write(say_for("run 1, next attempt", "goes on"))
    assert await words(database) == ["checkpoint 1", "another run's", "goes on"]


async def test_work_that_is_refused_breaks_no_order(database: Database) -> None:
    def refuse(connection: sqlite3.Connection) -> None:
        raise ValueError("refused")

    answers = await in_one_group(database, OrderedWork("run 1", refuse), say_for("run 1", "goes on"))
    assert isinstance(answers[0], ValueError)
    assert await words(database) == ["goes on"]


async def test_the_writer_outlives_whoever_counts_its_commits(tmp_path: Path) -> None:
    def count(size: int, seconds: float) -> None:
        raise RuntimeError("the counter is broken")

    database = Database(tmp_path / "stepwell.db", group_written=count)
    try:
        for _ in range(3):
            await asyncio.wait_for(database.write(lambda connection: connection.execute("SELECT 1").fetchone()), 60)
    finally:
        await asyncio.to_thread(database.close)
