"""The embedded queue beyond the shared suite: what happens when somebody gives up, or a row is broken."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from tests.support.driven_runs import OWNER, a_run, a_thread, driving, new_id

from stepwell.database.queue.types import Admission
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import Run
from stepwell.errors import ConfigurationError, StepwellError
from stepwell.supervision import Duty


@pytest.fixture
async def persistence(tmp_path: Path) -> AsyncIterator[EmbeddedPersistence]:
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as opened:
        yield opened


async def test_a_hold_that_is_given_up_while_it_is_taken_is_given_back(persistence: EmbeddedPersistence) -> None:
    thread = await persistence.records.create_thread(a_thread(), if_exists="raise")
    go_on = threading.Event()
    busy = persistence.database.write_soon(lambda connection: go_on.wait(60))

    async def hold() -> None:
        async with persistence.queue.hold(OWNER, thread.thread_id, "a test"):
            raise AssertionError("it was cancelled before")

    holding = asyncio.create_task(hold())
    await asyncio.sleep(0)  # it is with the writer now, who is busy
    holding.cancel()
    go_on.set()
    await busy
    with pytest.raises(asyncio.CancelledError):
        await holding
    await persistence.database.write(lambda connection: None)  # behind whatever was handed in
    async with persistence.queue.hold(OWNER, thread.thread_id, "the next"):
        pass
    await persistence.records.delete_thread(OWNER, thread.thread_id)


async def spoil(persistence: EmbeddedPersistence, run: Run) -> None:
    statement = "UPDATE runs SET request = '{half a request', metadata = x'ff' WHERE run_id = ?"
    await persistence.database.write(lambda connection: connection.execute(statement, (run.run_id,)))


async def test_a_run_that_cannot_be_read_is_set_aside_and_the_others_go_on(
    persistence: EmbeddedPersistence, caplog: pytest.LogCaptureFixture
) -> None:
    thread_id = new_id()
    bad = (await persistence.queue.admit(Admission(a_run(thread_id), create_thread=True))).run
    behind = (await persistence.queue.admit(Admission(a_run(thread_id)))).run
    await spoil(persistence, bad)
    async with driving(persistence) as runs:
        claim = await runs.next()
        assert claim.run.run_id == behind.run_id
        await runs.end(claim)
        assert await persistence.queue.finished(bad.run_id, timeout_s=60) == "finished"
    shown = await persistence.records.get_run(OWNER, thread_id, bad.run_id)
    assert shown.status == "error"
    assert (shown.error or {})["error"] == "RunUnreadableError"
    assert (await persistence.records.get_thread(OWNER, thread_id)).status == "idle"
    told = await persistence.events.read(thread_id, run_id=bad.run_id)
    assert [event.event for event in told] == ["error", "end"]
    assert orjson.loads(told[0].data)["error"] == "RunUnreadableError"
    assert (await persistence.maintenance.backlog()).unreadable == 1
    assert bad.run_id in [getattr(record, "run_id", None) for record in caplog.records]
    kept = await persistence.database.read(lambda connection: connection.execute("SELECT * FROM unreadable_runs").fetchall())
    assert [(row["run_id"], row["request"]) for row in kept] == [(bad.run_id, "{half a request")]


async def test_a_run_that_cannot_be_read_after_a_crash_keeps_no_server_from_starting(tmp_path: Path) -> None:
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as persistence:
        async with driving(persistence) as runs:
            bad, good = await runs.begin(new_id()), await runs.begin(new_id())
        await spoil(persistence, bad.run)
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as persistence:
        recovered = await persistence.queue.recover("a test")
        assert [run.run_id for run in recovered] == [good.run.run_id]
        shown = await persistence.records.get_run(OWNER, bad.run.thread_id, bad.run.run_id)
        assert shown.status == "error"


async def test_driving_goes_on_after_an_unexpected_error_in_a_claim(persistence: EmbeddedPersistence) -> None:
    """A claim fails as long as the trigger is there; nothing is lost, the duty says so, and then it goes on by itself."""
    write = persistence.database.write
    refusing = (
        "CREATE TRIGGER refusing BEFORE UPDATE OF status ON runs WHEN NEW.status = 'running'"
        " BEGIN SELECT RAISE(ABORT, 'not now'); END"
    )
    await write(lambda connection: connection.execute(refusing))
    run = (await persistence.queue.admit(Admission(a_run(new_id()), create_thread=True))).run
    duty, begun = Duty("driving", shortest_s=0.001), asyncio.Event()

    async def drive(claim: object) -> None:
        begun.set()

    working = asyncio.create_task(
        persistence.queue.work(drive, worker="a test", concurrency=10, draining=asyncio.Event(), duty=duty)
    )
    async with asyncio.timeout(60):
        while duty.failing is None:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)
        assert "not now" in duty.failing
        assert (await persistence.records.get_run(OWNER, run.thread_id, run.run_id)).status == "pending"
        await write(lambda connection: connection.execute("DROP TRIGGER refusing"))
        await begun.wait()
    assert duty.failing is None
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


async def test_a_database_whose_first_read_fails_lets_go_of_everything(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    Database(tmp_path / "stepwell.db").close()
    with closing(sqlite3.connect(tmp_path / "stepwell.db")) as connection:
        connection.execute("DROP TABLE checkpoints")
    for _ in range(2):  # the second time it would be in use
        with pytest.raises(StepwellError) as raised:
            async with EmbeddedPersistence(tmp_path / "stepwell.db"):
                pass
        assert not isinstance(raised.value, ConfigurationError), raised.value
    left = set(threading.enumerate()) - before
    assert not [thread.name for thread in left if thread.name.startswith("stepwell-")]
