"""Which deaths of a worker count against a run, and what acquits it: the rules of `suspects`, with times that the test gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from tests.support.driven_runs import a_run, new_id

from stepwell.database.queue import leases, suspects
from stepwell.database.queue.types import MAX_COUNTED_CRASHES, Admission, ClaimedRun
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import Run
from stepwell.sql import Connection, Row

LEASE_S = 8.0


class Workers:
    """Workers that live one after the other, each for as long as a test says, on one database."""

    def __init__(self, persistence: EmbeddedPersistence) -> None:
        self._persistence = persistence
        self.now = 8e9
        """Later than everything that is due. Tests add halves of seconds, so that no digit is lost."""
        self._born = 0

    async def admit(self) -> Run:
        return (await self._persistence.queue.admit(Admission(a_run(new_id()), create_thread=True))).run

    def begin(self) -> tuple[str, float]:
        """A new worker, and since when it works."""
        self._born += 1
        return f"worker-{self._born}", self.now

    async def claim(self, worker: tuple[str, float]) -> list[ClaimedRun]:
        name, since = worker

        def work(connection: Connection) -> list[ClaimedRun]:
            leases.stay_alive(connection, name, self.now + LEASE_S, since)
            return leases.claim(connection, name, 10, self.now, since=since).claims

        return await self._persistence.database.write(work)

    async def die(self, worker: tuple[str, float], *, only: bool = False) -> None:
        """It was heard of until now, and never again. `only`: no other process uses the database."""
        name, since = worker

        def work(connection: Connection) -> None:
            leases.stay_alive(connection, name, self.now + LEASE_S, since)
            self.now += LEASE_S
            leases.recover(connection, None, self.now, leases.Silence(self.now, LEASE_S, [] if only else None))

        await self._persistence.database.write(work)

    async def live_and_die(self, *, before_s: float, with_it_s: float) -> None:
        """A worker takes what there is when it has lived for a while, and dies a while later."""
        worker = self.begin()
        self.now += before_s
        assert await self.claim(worker), "nothing could be taken"
        self.now += with_it_s
        await self.die(worker)

    async def row(self, run: Run) -> Row:
        def look(connection: Connection) -> Row:
            return connection.execute("SELECT * FROM runs WHERE run_id = ?", (run.run_id,)).fetchone()

        return await self._persistence.database.read(look)

    async def finish_a_step(self, claim: ClaimedRun) -> None:
        config: Any = {"configurable": {"thread_id": claim.run.thread_id, "checkpoint_ns": ""}}
        await self._persistence.saver(claim.lease).aput(config, empty_checkpoint(), {"source": "loop", "step": 1}, {})


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[Workers]:
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as opened:
        yield Workers(opened)


async def suspect(workers: Workers) -> Run:
    """A run that has lived through two deaths at the same step."""
    run = await workers.admit()
    for _ in range(2):
        await workers.live_and_die(before_s=0, with_it_s=2)
    assert (await workers.row(run))["crashes"] == 2
    return run


def counted(rows: Sequence[Row]) -> list[int]:
    return [len(suspects.counted(row)) for row in rows]


async def test_a_death_counts_after_a_calm_four_times_as_long_and_not_after_a_shorter_one(workers: Workers) -> None:
    run = await suspect(workers)
    await workers.live_and_die(before_s=7.5, with_it_s=2)
    assert counted([await workers.row(run)]) == [0]
    await workers.live_and_die(before_s=8, with_it_s=2)
    assert counted([await workers.row(run)]) == [1]


async def test_the_fifth_death_that_counts_ends_the_run(workers: Workers) -> None:
    run = await suspect(workers)
    for number in range(MAX_COUNTED_CRASHES):
        assert (await workers.row(run))["status"] == "pending", f"{number} deaths have counted"
        await workers.live_and_die(before_s=1000, with_it_s=2)
    worker = workers.begin()
    workers.now += 1000
    assert await workers.claim(worker) == []
    assert (await workers.row(run))["status"] == "error"


async def test_a_lone_suspect_waits_twice_as_long_after_each_death_and_five_minutes_at_most(workers: Workers) -> None:
    run = await suspect(workers)
    waits = [(await workers.row(run))["wait_s"]]
    for _ in range(10):
        worker = workers.begin()
        workers.now += waits[-1] - 0.5
        assert await workers.claim(worker) == [], "it has not lived for long enough"
        workers.now += 0.5
        assert await workers.claim(worker)
        workers.now += waits[-1]  # too long with it to count
        await workers.die(worker)
        waits.append((await workers.row(run))["wait_s"])
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


async def test_a_suspect_that_finishes_a_step_is_free_again(workers: Workers) -> None:
    run = await suspect(workers)
    worker = workers.begin()
    workers.now += 1
    (claim,) = await workers.claim(worker)
    await workers.finish_a_step(claim)
    await workers.claim(worker)
    assert (await workers.row(run))["crashes"] == 0


async def test_a_suspect_whose_worker_outlives_earlier_ones_is_free_again(workers: Workers) -> None:
    """They lived with it for two seconds: half as long again, and three seconds more."""
    run = await suspect(workers)
    worker = workers.begin()
    workers.now += 1
    assert await workers.claim(worker)
    workers.now += 5.5
    await workers.claim(worker)
    assert (await workers.row(run))["crashes"] == 2
    workers.now += 0.5
    await workers.claim(worker)
    assert (await workers.row(run))["crashes"] == 0


async def test_suspects_are_driven_together_beside_all_others_and_a_group_is_halved_by_a_death(workers: Workers) -> None:
    runs = [await workers.admit() for _ in range(4)]
    for _ in range(2):
        await workers.live_and_die(before_s=0, with_it_s=2)
    other = await workers.admit()
    worker = workers.begin()
    workers.now += 1
    assert {claim.run.run_id for claim in await workers.claim(worker)} == {run.run_id for run in [*runs, other]}
    await workers.die(worker)
    groups = [(await workers.row(run))["suspect_group"] for run in runs]
    assert groups[0] == groups[1] != groups[2] == groups[3]
    assert counted([await workers.row(run) for run in runs]) == [0] * 4, "nobody knows which of them it was"
    worker = workers.begin()
    workers.now += 1
    taken = {claim.run.run_id for claim in await workers.claim(worker)} - {other.run_id}
    assert taken in [{run.run_id for run in half} for half in (runs[:2], runs[2:])], "one group at a time"


async def test_when_the_only_process_dies_while_suspects_wait_their_last_crash_is_forgiven(workers: Workers) -> None:
    run = await suspect(workers)
    other = await workers.admit()
    worker = workers.begin()
    assert [claim.run.run_id for claim in await workers.claim(worker)] == [other.run_id], "the suspect waits"
    await workers.die(worker, only=True)
    assert (await workers.row(run))["crashes"] == 1
