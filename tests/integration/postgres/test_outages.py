"""What a worker's death and the database's absence mean for leases, and who hears of it."""

from __future__ import annotations

import asyncio
import threading
from time import sleep, time

import pytest
from tests.integration.postgres.chaos.proxy import DatabaseProxy
from tests.support.driven_runs import OWNER, a_run, driving, new_id
from tests.support.postgres import PostgresCluster

from stepwell.database.postgres import database as database_module
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.queue import heartbeat, leases
from stepwell.database.queue.types import Admission, ClaimedRun
from stepwell.database.types import RunOutcome
from stepwell.errors import LeaseLostError, StorageUnavailableError
from stepwell.sql import Connection

PATIENCE_S = 60.0
LEASE_S = 5.0


async def claim_and_die(persistence: PostgresPersistence, worker: str) -> ClaimedRun:
    """A claim of a worker that is not heard of any more."""

    def work(connection: Connection) -> list[ClaimedRun]:
        leases.stay_alive(connection, worker, until=0.0, since=0.0)
        return leases.claim(connection, worker, 1, time()).claims

    (claim,) = await persistence.database.write(work)
    return claim


async def crashes(persistence: PostgresPersistence, run_id: str) -> int:
    def look(connection: Connection) -> int:
        return int(connection.execute("SELECT crashes FROM runs WHERE run_id = ?", (run_id,)).fetchone()[0])

    return await persistence.database.read(look)


async def test_whoever_follows_a_run_hears_that_it_ended_with_its_worker(postgres_url: str):
    """The process that finds out is told nothing by the database of what it does itself."""
    async with PostgresPersistence(postgres_url, lease_s=LEASE_S) as only:
        admitted = await only.queue.admit(Admission(a_run(new_id()), create_thread=True))
        run = admitted.run
        await claim_and_die(only, "dead")
        await only.queue.cancel(OWNER, [run.run_id], "interrupt")
        heard: list[str] = []

        async def follow() -> None:
            async for events in only.events.follow_run(run.thread_id, run.run_id):
                heard.extend(event.event for event in events)

        following = asyncio.create_task(follow())
        waiting = asyncio.create_task(only.queue.finished(run.run_id, PATIENCE_S))
        await asyncio.sleep(0.1)
        async with driving(only, worker="alive"):
            await asyncio.wait_for(following, PATIENCE_S)
            assert await waiting == "finished"
        assert heard == ["end"]


async def test_a_suspect_is_not_acquitted_by_the_death_of_a_worker_that_did_not_have_it(postgres_url: str):
    """Among many workers some always die; a run that kills its own would otherwise go on doing so for ever."""
    async with PostgresPersistence(postgres_url) as only:
        suspect = (await only.queue.admit(Admission(a_run(new_id()), create_thread=True))).run
        for number in (1, 2):
            assert (await claim_and_die(only, f"killed {number}")).run.run_id == suspect.run_id
            await only.queue.recover("new")
        assert await crashes(only, suspect.run_id) == 2
        other = (await only.queue.admit(Admission(a_run(new_id()), create_thread=True))).run
        assert (await claim_and_die(only, "died of something else")).run.run_id == other.run_id
        await only.queue.recover("new")
        assert await crashes(only, suspect.run_id) == 2


async def test_a_worker_that_claims_again_what_the_database_forgot_drives_it_once(postgres_url: str):
    """After a failover that lost its claim. Both attempts would pass the same fence, so the first one ends before the second begins."""
    begun: asyncio.Queue[ClaimedRun] = asyncio.Queue()
    ended: list[ClaimedRun] = []

    async def drive(claim: ClaimedRun) -> None:
        begun.put_nowait(claim)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(claim)

    def forget(connection: Connection) -> None:
        connection.execute("UPDATE threads SET fence = fence - 1, lease_holder = NULL, lease_run = NULL")
        connection.execute("UPDATE runs SET status = 'pending', attempt = attempt - 1")

    async with PostgresPersistence(postgres_url) as only:
        await only.queue.admit(Admission(a_run(new_id()), create_thread=True))
        working = asyncio.create_task(only.queue.work(drive, worker="one", concurrency=2, draining=asyncio.Event()))
        first = await asyncio.wait_for(begun.get(), PATIENCE_S)
        await only.database.write(forget)
        only.queue.hear_of_work()
        second = await asyncio.wait_for(begun.get(), PATIENCE_S)
        assert second.lease == first.lease, "nothing tells them apart"
        assert ended == [first]
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def test_nobody_loses_a_lease_because_the_database_was_away(postgres_cluster: PostgresCluster, postgres_url: str):
    """For longer than a lease lasts; whoever comes first afterwards finds all of them silent."""
    async with PostgresPersistence(postgres_url, lease_s=LEASE_S) as one, driving(one, worker="one") as worker:
        await one.queue.admit(Admission(a_run(new_id()), create_thread=True))
        claim = await worker.next()
        await asyncio.to_thread(postgres_cluster.stop)
        await asyncio.sleep(LEASE_S + 0.5)
        postgres_cluster.start()  # not in a thread: the server ends with the thread that started it
        async with PostgresPersistence(postgres_url, lease_s=LEASE_S) as other:
            assert await other.queue.recover("at once") == []
            await asyncio.sleep(LEASE_S)
            assert await other.queue.recover("later") == [], "it has been heard of meanwhile"
        await worker.end(claim)
        assert await crashes(one, claim.run.run_id) == 0


async def test_a_database_that_says_nothing_is_not_waited_for(
    postgres_cluster: PostgresCluster, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    """The network swallows everything: no error comes from below."""
    monkeypatch.setattr(database_module, "_ANSWER_S", 3.0)
    async with DatabaseProxy(postgres_cluster.socket) as proxy, PostgresPersistence(proxy.url("shared")) as behind:
        await behind.check()
        proxy.block()
        with pytest.raises(StorageUnavailableError, match="not answered within") as told:
            await behind.queue.admit(Admission(a_run(new_id()), create_thread=True))
        assert told.value.away
        with pytest.raises(StorageUnavailableError, match="Nothing was changed"):
            await behind.maintenance.backlog()
        proxy.unblock()
        await behind.check()
        assert (await behind.maintenance.backlog()).pending == 1, "it was told that this may be stored yet"


async def test_a_step_that_blocks_its_worker_keeps_its_runs(postgres_url: str, caplog: pytest.LogCaptureFixture):
    """A node that is `async` and blocks keeps its worker from everything. Others leave its runs alone, and the log tells its author."""
    begun, over = threading.Event(), threading.Event()

    async def work_elsewhere() -> None:
        async with PostgresPersistence(postgres_url, lease_s=6.0) as other, driving(other, worker="other"):
            begun.set()
            await asyncio.to_thread(over.wait, PATIENCE_S)

    async with PostgresPersistence(postgres_url, lease_s=6.0) as only, driving(only, worker="held up") as worker:
        run = (await only.queue.admit(Admission(a_run(new_id()), create_thread=True))).run
        claim = await worker.next()
        elsewhere = threading.Thread(target=lambda: asyncio.run(work_elsewhere()))
        elsewhere.start()
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        sleep(9.0)  # noqa: ASYNC251 - what the test is about
        over.set()
        await asyncio.to_thread(elsewhere.join)
        await only.queue.finish(claim.lease, RunOutcome("success", "idle"))
        assert (await only.records.get_run(run.owner, run.thread_id, run.run_id)).attempt == 1
        async with asyncio.timeout(PATIENCE_S):
            while "event loop was blocked" not in caplog.text:  # noqa: ASYNC110 - nobody announces it
                await asyncio.sleep(0.02)
    assert "asyncio.to_thread" in caplog.text


async def test_a_step_that_blocks_its_worker_for_too_long_loses_its_runs(postgres_url: str, monkeypatch: pytest.MonkeyPatch):
    """Two minutes; here two seconds. What the worker still stores of it afterwards is refused."""
    monkeypatch.setattr(heartbeat, "HELD_UP_S", 2.0)
    taken = threading.Event()

    async def take_over() -> None:
        async with PostgresPersistence(postgres_url, lease_s=3.0) as other, driving(other, worker="other") as worker:
            async with asyncio.timeout(PATIENCE_S):
                claim = await worker.next()
            taken.set()
            await worker.end(claim)

    async with PostgresPersistence(postgres_url, lease_s=3.0) as only, driving(only, worker="held up", concurrency=1) as worker:
        run = (await only.queue.admit(Admission(a_run(new_id()), create_thread=True))).run
        claim = await worker.next()
        elsewhere = threading.Thread(target=lambda: asyncio.run(take_over()))
        elsewhere.start()
        assert taken.wait(PATIENCE_S), "nobody took it over"  # on the event loop: what the test is about
        await asyncio.to_thread(elsewhere.join)
        with pytest.raises(LeaseLostError):
            await only.queue.finish(claim.lease, RunOutcome("success", "idle"))
        assert (await only.records.get_run(run.owner, run.thread_id, run.run_id)).attempt == 2
