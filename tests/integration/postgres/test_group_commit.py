"""What happens to work that fails, meets with another's, or loses its connection, on a real Postgres."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from tests.integration.postgres.statement_proxy import Lost, StatementProxy
from tests.support.postgres import PostgresCluster

from stepwell.database.database import OrderedWork
from stepwell.database.postgres import patience
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.errors import InvalidRequestError, NotFoundError, OutcomeUnknownError, StorageUnavailableError
from stepwell.sql import Connection

PATIENCE_S = 120.0
PUT = "INSERT INTO payment_counters (keyset_id, next) VALUES (?, ?)"


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    opened = PostgresDatabase(postgres_url)
    yield opened
    opened.close()


@pytest.fixture
def other(postgres_url: str) -> Iterator[PostgresDatabase]:
    opened = PostgresDatabase(postgres_url)
    yield opened
    opened.close()


def put(name: str, number: int = 0):
    return lambda connection: connection.execute(PUT, (name, number))


def names(database: PostgresDatabase) -> list[str]:
    return database.read_now(
        lambda connection: [row[0] for row in connection.execute("SELECT keyset_id FROM payment_counters ORDER BY 1")]
    )


def test_a_piece_that_fails_takes_no_other_with_it(database: PostgresDatabase):
    def fail(connection: Connection) -> None:
        connection.execute(PUT, ("undone", 0))
        raise NotFoundError("thread", "x")

    futures = [database.submit(work) for work in (put("a"), fail, put("a"), put("b"))]
    assert isinstance(futures[1].exception(60), NotFoundError)
    assert isinstance(futures[2].exception(60), StorageUnavailableError), "the key is taken"
    futures[3].result(60)
    assert names(database) == ["a", "b"]


async def test_looking_and_then_acting_is_safe_among_processes(database: PostgresDatabase, other: PostgresDatabase):
    """Each adds one to the largest number it sees. Without SERIALIZABLE some would see the same."""

    def count(connection: Connection) -> int:
        largest = connection.execute("SELECT COALESCE(MAX(next), 0) FROM payment_counters").fetchone()[0]
        connection.execute(PUT, (f"number {largest + 1}", largest + 1))
        return int(largest) + 1

    given = await asyncio.gather(*(each.write(count) for _ in range(15) for each in (database, other)))
    assert sorted(given) == list(range(1, 31))


def test_what_postgres_cannot_keep_is_the_callers_to_change(database: PostgresDatabase):
    with pytest.raises(InvalidRequestError, match="NUL characters"):
        database.write_now(put("a\0b"))
    with pytest.raises(InvalidRequestError, match="64 bits"):
        database.write_now(put("large", 2**70))


def test_nothing_of_a_lane_is_stored_behind_a_gap(database: PostgresDatabase):
    lane = ("thread", 1)
    database.write_now(OrderedWork(lane, put("first")))
    with pytest.raises(StorageUnavailableError):
        database.write_now(OrderedWork(lane, put("first")))
    with pytest.raises(StorageUnavailableError, match="earlier write"):
        database.write_now(OrderedWork(lane, put("behind the gap")))
    database.write_now(OrderedWork(("thread", 2), put("another lease")))
    assert names(database) == ["another lease", "first"]


async def test_exclusive_work_is_left_to_whoever_is_at_it(database: PostgresDatabase, other: PostgresDatabase):
    began, may_end = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def hold(connection: Connection) -> str:
        loop.call_soon_threadsafe(began.set)
        asyncio.run_coroutine_threadsafe(may_end.wait(), loop).result(60)
        return "done"

    holding = database.write_soon(hold, exclusive=True)
    await began.wait()
    assert await other.write_soon(lambda connection: "also", exclusive=True) is None
    assert await other.write(lambda connection: "other work") == "other work"
    may_end.set()
    assert await holding == "done"
    assert await other.write_soon(lambda connection: "now", exclusive=True) == "now"


def test_what_is_read_is_one_moment(database: PostgresDatabase, other: PostgresDatabase):
    def look(connection: Connection) -> tuple[int, int]:
        count = "SELECT COUNT(*) FROM payment_counters"
        before = connection.execute(count).fetchone()[0]
        other.write_now(put(f"meanwhile {before}"))
        return before, connection.execute(count).fetchone()[0]

    before, after = database.read_now(look)
    assert before == after


def test_what_was_committed_is_not_reported_lost_with_what_comes_after_it(database: PostgresDatabase):
    """Three pieces that others get in the way of are run one by one, and the connection is lost with the second."""
    tried: list[str] = []

    def meet_others(name: str, *, lose: bool = False):
        def work(connection: Connection) -> str:
            tried.append(name)
            if tried.count(name) <= 3:
                raise errors.SerializationFailure
            if lose:
                raise psycopg.OperationalError("gone")
            connection.execute(PUT, (name, 0))
            return name

        return work

    began, go_on = threading.Event(), threading.Event()

    def hold(connection: Connection) -> None:
        began.set()
        assert go_on.wait(60)

    holding = database.submit(hold)
    assert began.wait(60)
    futures = [
        database.submit(meet_others("a")),
        database.submit(meet_others("b", lose=True)),
        database.submit(meet_others("c")),
    ]
    go_on.set()
    holding.result(60)
    assert futures[0].result(60) == "a"
    assert isinstance(futures[1].exception(60), StorageUnavailableError)
    assert futures[2].result(60) == "c"
    assert names(database) == ["a", "c"]


@pytest.mark.parametrize("guarded", [False, True], ids=["by itself", "begun with its first statement"])
def test_a_process_that_slept_in_the_middle_of_its_work_does_it_again(
    database: PostgresDatabase, guarded: bool, monkeypatch: pytest.MonkeyPatch
):
    """Postgres ends transactions in which nothing happens, so that nobody waits for the locks of a process that is stopped."""
    monkeypatch.setattr(patience, "AWAY_S", 60)
    times: list[float] = []

    def sleep_at_first(connection: Connection) -> None:
        connection.execute(PUT, ("once", 0))
        times.append(time.monotonic())
        if len(times) == 1:
            time.sleep(1)  # longer than Postgres waits here

    impatient = "SELECT set_config('idle_in_transaction_session_timeout', '300ms', FALSE)"
    database.write_now(lambda connection: connection.execute(impatient).fetchone())
    database.write_now(OrderedWork(None, sleep_at_first, guarded=guarded))
    assert names(database) == ["once"]
    assert len(times) == 2


def test_work_that_begins_with_its_first_statement_is_whole_or_nothing(database: PostgresDatabase):
    """Also when that statement fails, when there is none, and when a piece has to be told from the others by a savepoint."""

    def nothing(connection: Connection) -> str:
        return "nothing to do"

    def twice(connection: Connection) -> None:
        connection.execute(PUT, ("a", 1))
        connection.execute(PUT, ("a", 2))

    def many(connection: Connection) -> int:
        return connection.executemany(PUT, [("b", 1), ("c", 2)]).rowcount + connection.executemany(PUT, []).rowcount

    works = [OrderedWork(None, work, guarded=True) for work in (nothing, twice, many, put("c"), put("it's 100% \\d ?", 2**40))]
    first, second, third, fourth, fifth = (database.submit(work) for work in works)
    assert first.result(60) == "nothing to do"
    assert isinstance(second.exception(60), StorageUnavailableError)
    assert third.result(60) == 2
    assert isinstance(fourth.exception(60), StorageUnavailableError)
    fifth.result(60)
    assert names(database) == ["b", "c", "it's 100% \\d ?"]


def test_whoever_waits_looks_again_when_the_writer_has_lost_its_connection(postgres_url: str):
    """What its last commit did, if anything, came back to nobody."""
    lost = threading.Event()
    database = PostgresDatabase(postgres_url, lost=lost.set)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", (database.writer,))
    database.write_now(put("after"))
    assert lost.is_set()
    assert names(database) == ["after"]
    database.close()


def test_a_database_that_cannot_be_reached_is_told_from_one_that_refuses(database: PostgresDatabase):
    def lose(connection: Connection) -> None:
        raise psycopg.OperationalError("gone")

    with pytest.raises(StorageUnavailableError) as away:
        database.write_now(OrderedWork("lane", lose))
    assert away.value.away
    with pytest.raises(StorageUnavailableError, match="earlier write") as behind:
        database.write_now(OrderedWork("lane", put("a")))
    assert behind.value.away
    database.write_now(put("a"))
    with pytest.raises(StorageUnavailableError) as refused:
        database.write_now(put("a"))
    assert not refused.value.away


async def test_a_database_that_only_lets_itself_be_read_is_not_ready(database: PostgresDatabase):
    """As providers do with one whose disk is nearly full: connections stay, and each transaction may only read."""
    await database.check()
    await database.write(lambda connection: connection.execute("SET default_transaction_read_only = on"))
    with pytest.raises(StorageUnavailableError, match="is read-only"):
        await database.check()


@pytest.mark.parametrize("what", ["statement", "answer"])
@pytest.mark.parametrize("guarded", [False, True], ids=["by itself", "begun with its first statement"])
async def test_work_is_stored_once_wherever_its_connection_is_lost(
    postgres_cluster: PostgresCluster, postgres_url: str, what: Lost, guarded: bool
):
    """Also during the commit, when only Postgres knows whether it has happened."""
    async with StatementProxy(postgres_cluster.socket) as proxy:
        database = await asyncio.to_thread(PostgresDatabase, proxy.url("shared"))
        lost = []
        for number in range(1, 10):
            proxy.lose(number, what)
            work = OrderedWork("lane", put(f"{number}"), guarded=guarded)
            await asyncio.wait_for(asyncio.wrap_future(database.submit(work)), PATIENCE_S)
            if not proxy.is_over:
                break
            lost.append(proxy.lost)
        proxy.forget()
        assert "COMMIT" in lost[-1]
        assert await asyncio.to_thread(names, database) == sorted(f"{each}" for each in range(1, number + 1))
        await asyncio.to_thread(database.close)


def crash_whole_server(cluster: PostgresCluster) -> None:
    cluster.stop(how=signal.SIGQUIT)
    cluster.start()


def crash_one_process(cluster: PostgresCluster) -> None:
    """The server ends all others, recovers, and is not started again."""
    witness = psycopg.connect(cluster.url("crashing"), autocommit=True)
    with psycopg.connect(cluster.url("crashing"), autocommit=True) as victim:
        os.kill(victim.info.backend_pid, signal.SIGKILL)
    with closing(witness), pytest.raises(psycopg.OperationalError):
        # Until the server has noticed: before that, it still lets people in.
        witness.execute("SELECT pg_sleep(%s)", (PATIENCE_S,))
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(psycopg.OperationalError), psycopg.connect(cluster.url("crashing"), autocommit=True):
            return
        time.sleep(0.05)
    raise AssertionError("the server has not recovered")


@pytest.mark.parametrize("crash", [crash_whole_server, crash_one_process])
async def test_a_crash_that_loses_a_commit_is_not_taken_for_its_success(
    crash: Callable[[PostgresCluster], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A Postgres that crashes gives the number of a transaction that it has lost to another one, and calls that number committed."""
    monkeypatch.setattr(patience, "AWAY_S", PATIENCE_S)
    # What is not committed stays in memory for as long as possible, so that the crash loses it.
    with PostgresCluster(tmp_path, synchronous_commit="on", wal_writer_delay="10s") as cluster:
        cluster.create("crashing")
        async with StatementProxy(cluster.socket) as proxy:
            database = await asyncio.to_thread(PostgresDatabase, proxy.url("crashing"))
            proxy.lose(3, "statement", then_refused=1_000_000)
            writing = asyncio.wrap_future(database.submit(put("lost")))
            async with asyncio.timeout(PATIENCE_S):
                while not proxy.is_over:  # noqa: ASYNC110 - nobody announces it
                    await asyncio.sleep(0.02)
            assert "COMMIT" in proxy.lost
            crash(cluster)
            with psycopg.connect(cluster.url("crashing"), autocommit=True) as others:
                for number in range(20):
                    others.execute(PUT.replace("?", "%s"), (f"{number}", 0))
            proxy.let_in()
            try:
                with suppress(OutcomeUnknownError):
                    await asyncio.wait_for(writing, PATIENCE_S)
                    # A server that still knew of the number calls it aborted, and the work is done again.
                    assert "lost" in await asyncio.to_thread(names, database)
            finally:
                await asyncio.to_thread(database.close)


@pytest.mark.parametrize("what", ["statement", "answer"])
async def test_a_read_finds_its_answer_wherever_its_connection_is_lost(
    postgres_cluster: PostgresCluster, postgres_url: str, what: Lost
):
    async with StatementProxy(postgres_cluster.socket) as proxy:
        database = await asyncio.to_thread(PostgresDatabase, proxy.url("shared"))
        await database.write(put("a"))
        for number in range(1, 20):
            proxy.lose(number, what)
            assert await asyncio.wait_for(asyncio.to_thread(names, database), PATIENCE_S) == ["a"]
            if not proxy.is_over:
                break
        assert number > 1
        proxy.forget()
        await asyncio.to_thread(database.close)


async def test_a_read_waits_for_a_database_that_is_away_for_a_moment(postgres_cluster: PostgresCluster, postgres_url: str):
    """As a write does: a restart is not the reader's business."""
    async with StatementProxy(postgres_cluster.socket) as proxy:
        database = await asyncio.to_thread(PostgresDatabase, proxy.url("shared"))
        await database.write(put("a"))
        proxy.lose(1, "statement", then_refused=5)
        assert await asyncio.wait_for(asyncio.to_thread(names, database), PATIENCE_S) == ["a"]
        assert proxy.refusing == 0
        await asyncio.to_thread(database.close)


async def test_who_reads_is_told_when_the_database_stays_away(postgres_cluster: PostgresCluster, postgres_url: str):
    async with StatementProxy(postgres_cluster.socket) as proxy:
        database = await asyncio.to_thread(PostgresDatabase, proxy.url("shared"))
        proxy.lose(1, "statement", then_refused=10_000)
        with pytest.raises(StorageUnavailableError) as told:
            await asyncio.wait_for(asyncio.to_thread(names, database), PATIENCE_S)
        assert told.value.away
        proxy.refusing = 0
        await asyncio.to_thread(database.close)


def test_what_is_too_large_for_an_index_is_the_callers_to_change(database: PostgresDatabase):
    """Postgres calls it operational, as it does a lost connection. Trying again would not help."""
    with pytest.raises(InvalidRequestError, match="too large"):
        database.write_now(put("".join(chr(0x4E00 + number % 20_000) for number in range(4_000))))
    database.write_now(put("small"))
