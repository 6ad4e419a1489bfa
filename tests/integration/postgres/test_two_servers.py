"""Several processes on one Postgres database, as far as one process can show it: two of everything that a server opens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from time import time

import psycopg
import pytest
from tests.support.driven_runs import DONE, OWNER, a_run, a_thread, driving, new_id

from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.queue import admission, heartbeat, leases
from stepwell.database.queue.types import Admission, ClaimedRun
from stepwell.database.types import NewEvent
from stepwell.errors import LeaseLostError, ThreadBusyError
from stepwell.sql import Connection

PATIENCE_S = 60.0
LEASE_S = 4.0


@pytest.fixture
async def one(postgres_url: str) -> AsyncIterator[PostgresPersistence]:
    async with PostgresPersistence(postgres_url) as opened:
        yield opened


@pytest.fixture
async def other(postgres_url: str) -> AsyncIterator[PostgresPersistence]:
    async with PostgresPersistence(postgres_url) as opened:
        yield opened


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not fact():  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.02)


async def test_a_run_admitted_on_one_server_is_driven_by_another_and_followed_on_a_third(
    one: PostgresPersistence, other: PostgresPersistence, postgres_url: str
):
    thread_id = new_id()
    async with PostgresPersistence(postgres_url) as third, driving(other, worker="other") as worker:
        admitted = await one.queue.admit(Admission(a_run(thread_id), create_thread=True))
        run_id, heard = admitted.run.run_id, []

        async def follow() -> None:
            async for events in third.events.follow_run(thread_id, run_id):
                heard.extend(event.event for event in events)

        following = asyncio.create_task(follow())
        claim = await worker.next()
        for name in ("first", "second"):
            await other.events.append(claim.lease, [NewEvent(name, b"{}")])
            await until(lambda name=name: name in heard)
        await worker.end(claim, DONE)
        await asyncio.wait_for(following, PATIENCE_S)
        assert heard == ["first", "second", "end"]
        assert await one.queue.finished(run_id, PATIENCE_S) == "finished"


async def test_a_process_has_eight_connections_however_much_it_has_to_do(one: PostgresPersistence, postgres_url: str):
    """A writer, a listener and six readers: what docs/how-to/scale.md has operators count with."""
    count = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

    def work(connection: Connection) -> None:
        connection.execute("SELECT pg_sleep(0.05)")

    busy = [one.database.read(work, patient=patient) for patient in (False, True) for _ in range(20)]
    await asyncio.gather(one.database.write(work), *busy)
    with psycopg.connect(postgres_url) as looking:
        assert looking.execute(count).fetchone() == (8,)


async def test_a_cancellation_reaches_the_worker_that_drives_the_run(one: PostgresPersistence, other: PostgresPersistence):
    thread_id = new_id()
    async with driving(other, worker="other") as worker:
        await one.queue.admit(Admission(a_run(thread_id), create_thread=True))
        claim = await worker.next()
        await one.queue.cancel(OWNER, [claim.run.run_id], "interrupt")
        wanted = await asyncio.wait_for(anext(other.queue.cancellations()), PATIENCE_S)
        assert (wanted.run_id, wanted.action) == (claim.run.run_id, "interrupt")
        await worker.end(claim)


async def test_one_server_leads_and_another_takes_over(postgres_url: str, one: PostgresPersistence):
    async with PostgresPersistence(postgres_url) as first:
        await until(first.maintenance.leads)
        assert not one.maintenance.leads()
    await until(one.maintenance.leads)


async def test_tables_are_made_once_by_whoever_comes_first(postgres_cluster):
    url = postgres_cluster.create(f"fresh-{new_id()}")
    opened = await asyncio.gather(*(asyncio.to_thread(PostgresDatabase, url) for _ in range(4)))
    for database in opened:
        await database.check()
        database.close()


async def test_work_goes_on_when_the_writers_connection_is_cut(one: PostgresPersistence, other: PostgresPersistence):
    await other.database.write(
        lambda connection: connection.execute("SELECT pg_terminate_backend(CAST(? AS INTEGER))", (one.database.writer,))
    )
    await one.database.check()
    assert await one.maintenance.backlog()


async def test_a_claim_that_was_stored_without_the_workers_knowing_is_given_back(postgres_url: str):
    """As when the connection is lost during the commit. The worker has other work, so its leases do not expire."""
    async with PostgresPersistence(postgres_url, lease_s=LEASE_S) as only, driving(only, worker="busy") as worker:
        await only.queue.admit(Admission(a_run(new_id()), create_thread=True))
        long = await worker.next()
        run = a_run(new_id())

        def claim_unseen(connection: Connection) -> None:
            now = time()
            admission.admit(connection, Admission(run, create_thread=True), now)
            leases.claim(connection, "busy", 1, now)

        await only.database.write(claim_unseen)
        claim = await worker.next()
        assert (claim.run.run_id, claim.run.attempt) == (run.run_id, 2)
        await worker.end(claim)
        await worker.end(long)


async def test_a_hold_that_was_stored_without_the_holders_knowing_is_given_back(postgres_url: str):
    async with PostgresPersistence(postgres_url, lease_s=LEASE_S) as only:
        unseen, seen = a_thread(), a_thread()
        for thread in (unseen, seen):
            await only.records.create_thread(thread, if_exists="raise")
        async with only.queue.hold(OWNER, seen.thread_id, "editing") as lease:
            await only.database.write(
                lambda connection: leases.hold(connection, OWNER, unseen.thread_id, "hold:unseen", time(), lease.worker)
            )
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    with suppress(ThreadBusyError):
                        async with only.queue.hold(OWNER, unseen.thread_id, "editing again"):
                            break
                    await asyncio.sleep(0.1)


class Stopped:
    """A worker in a thread of its own, which can be stopped as SIGSTOP does it: from one moment to the next it says nothing more."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._url = url
        self.claim: ClaimedRun | None = None

    async def start(self) -> None:
        self._persistence = await PostgresPersistence(self._url, lease_s=LEASE_S).__aenter__()
        self._driving = driving(self._persistence, worker="stopped")
        self._worker = await self._driving.__aenter__()

    async def claim_one(self) -> None:
        self.claim = await self._worker.next()

    async def write(self) -> None:
        await self._persistence.events.append(self.claim.lease, [NewEvent("late", b"{}")])

    async def close(self) -> None:
        await self._driving.__aexit__(None, None, None)
        await self._persistence.__aexit__(None, None, None)

    def run(self, step: Coroutine[None, None, None]) -> None:
        """Only while a step runs does the worker live."""
        self._loop.run_until_complete(step)

    def shut(self) -> None:
        self._loop.close()


async def test_a_worker_that_falls_silent_loses_its_run_and_writes_no_more_when_it_wakes(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(heartbeat, "HELD_UP_S", 0.0)  # nor does the thread say anything that stands in for an event loop
    thread_id = new_id()
    async with PostgresPersistence(postgres_url, lease_s=LEASE_S) as other:
        await other.queue.admit(Admission(a_run(thread_id), create_thread=True))
        stopped = Stopped(postgres_url)
        for step in (stopped.start, stopped.claim_one):
            await asyncio.to_thread(stopped.run, step())
        async with driving(other, worker="other") as worker:
            claim = await worker.next()
            assert (claim.run.run_id, claim.run.attempt) == (stopped.claim.run.run_id, 2)
            with pytest.raises(LeaseLostError):
                await asyncio.to_thread(stopped.run, stopped.write())
            await worker.end(claim)
        await asyncio.to_thread(stopped.run, stopped.close())
        stopped.shut()
    events = await _events(postgres_url, thread_id)
    assert events == ["end"]


async def _events(url: str, thread_id: str) -> list[str]:
    async with PostgresPersistence(url) as opened:
        return [event.event for event in await opened.events.read(thread_id)]
