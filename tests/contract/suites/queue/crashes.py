"""Workers that die, and what becomes of the runs they had: part of the suite for queues.

Time is the suite's clock, which is moved on until something happens. A worker dies here by not being heard of: the clock is moved past its
lease, and another one recovers what it had. Should a slow machine let it be heard of once more, that death is forgiven, so a test goes on
until it has what it waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from tests.contract.suites.queue.case import QueueCase, ShiftedClock
from tests.support.driven_runs import OWNER, PATIENCE_S, DrivenRuns, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import LEASE_S, MAX_COUNTED_CRASHES, ClaimedRun
from stepwell.database.types import Run

_MOST_DEATHS = 40
_STEP_S = 60.0
_MANY = 12
"""More deaths than a run that causes them would live through."""


class CrashCases(QueueCase):
    """What `stepwell.database.queue.run_queue` says about crashes, each as a test."""

    async def test_a_run_that_its_workers_die_of_is_given_up_and_the_error_names_them(
        self, persistence: Persistence, second: Persistence, thread_id: str, clock: ShiftedClock
    ) -> None:
        admitted = (await self.admit(persistence, thread_id)).run
        deaths = await self._die_until_ended(persistence, second, clock, [admitted])
        run = await persistence.records.get_run(OWNER, thread_id, admitted.run_id)
        assert run.status == "error"
        assert len(deaths) <= run.attempt, "a claim that the clock ran away from is an attempt that nobody died of"
        events = await persistence.events.read(thread_id, run_id=run.run_id)
        assert [event.event for event in events] == ["error", "end"]
        assert run.error is not None
        message = run.error["message"]
        assert sum(f"{worker} at " in message for worker in deaths) == MAX_COUNTED_CRASHES <= len(deaths)
        assert " UTC" in message
        assert (await persistence.records.get_thread(OWNER, thread_id)).status == "error"

    async def test_two_runs_that_kill_their_workers_are_both_given_up(
        self, persistence: Persistence, second: Persistence, clock: ShiftedClock
    ) -> None:
        """Each is waiting when the other one kills: that must not acquit it."""
        bad = [(await self.admit(persistence, new_id())).run for _ in range(2)]
        await self._die_until_ended(persistence, second, clock, bad)
        for run in bad:
            assert (await persistence.records.get_run(OWNER, run.thread_id, run.run_id)).status == "error"

    async def test_runs_that_were_under_way_at_two_deaths_are_driven_at_once(
        self, persistence: Persistence, second: Persistence, clock: ShiftedClock
    ) -> None:
        admitted = {(await self.admit(persistence, new_id())).run.run_id for _ in range(10)}
        for number in range(2):
            async with self.working(persistence, worker=f"worker {number}") as worker:
                for _ in admitted:
                    await worker.next()
                await _die(second, clock)
        async with self.working(persistence, worker="the last one") as worker:
            claims = [await self._next(persistence, worker, clock) for _ in admitted]
            assert {claim.run.run_id for claim in claims if claim} == admitted, "none has ended, and all are under way"
            for claim in claims:
                assert claim is not None
                await worker.end(claim)

    async def test_one_that_kills_is_found_among_many_that_do_not(
        self, persistence: Persistence, second: Persistence, clock: ShiftedClock
    ) -> None:
        harmless = [(await self.admit(persistence, new_id())).run for _ in range(5)]
        bad = (await self.admit(persistence, new_id())).run
        harmless += [(await self.admit(persistence, new_id())).run for _ in range(5)]
        await self._die_until_ended(persistence, second, clock, [bad])
        async with self.working(persistence, 100, worker="the last one") as worker:
            left = {run.run_id for run in harmless}
            while left:
                claim = await self._next(persistence, worker, clock)
                assert claim is not None
                await worker.end(claim)
                left.remove(claim.run.run_id)
        for run in harmless:
            assert (await persistence.records.get_run(OWNER, run.thread_id, run.run_id)).status == "success"

    async def test_a_worker_that_says_goodbye_has_not_died_of_its_run(self, persistence: Persistence, thread_id: str) -> None:
        await self.admit(persistence, thread_id)
        for number in range(_MANY):
            async with self.working(persistence, worker=f"worker {number}") as worker:
                await worker.next()
            await persistence.queue.recover("next")
        async with self.working(persistence) as worker:
            assert (await worker.end(await worker.next())).status == "success"

    async def _die_until_ended(
        self, persistence: Persistence, second: Persistence, clock: ShiftedClock, bad: Sequence[Run]
    ) -> list[str]:
        """Workers take what there is, and die as soon as one of the bad runs is among it. Gives the workers that died."""
        deaths: list[str] = []
        for number in range(_MOST_DEATHS):
            open_runs = {run.run_id: run for run in bad if not await _is_over(persistence, run)}
            if not open_runs:
                return deaths
            async with self.working(persistence, 100, worker=f"worker {number}") as worker:
                while claim := await self._next(persistence, worker, clock, watched=list(open_runs.values())):
                    if claim.run.run_id in open_runs:
                        deaths.append(f"worker {number}")
                        await _die(second, clock)
                        break
        raise AssertionError(f"{len(deaths)} workers have died, and it is not found out of which run")

    async def _next(
        self, persistence: Persistence, worker: DrivenRuns, clock: ShiftedClock, watched: Sequence[Run] = ()
    ) -> ClaimedRun | None:
        """The next run that is claimed, however long it has to wait for that; `None` when those watched have ended."""
        claiming = asyncio.create_task(worker.next())
        try:
            async with asyncio.timeout(PATIENCE_S * 3):
                while not (await asyncio.wait({claiming}, timeout=0.1))[0]:
                    if watched and all([await _is_over(persistence, run) for run in watched]):
                        return None
                    clock.move(_STEP_S)
                    # Whoever waits looks at the clock when something is admitted; this itself is not due.
                    await self.admit(persistence, new_id(), due_at=datetime.now(UTC) + timedelta(days=365))
            return claiming.result()
        finally:
            claiming.cancel()


async def _is_over(persistence: Persistence, run: Run) -> bool:
    return (await persistence.records.get_run(OWNER, run.thread_id, run.run_id)).finished


async def _die(second: Persistence, clock: ShiftedClock) -> None:
    clock.move(LEASE_S + 1)
    await second.queue.recover("another")
