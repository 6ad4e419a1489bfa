"""A server whose machine tells the wrong time: part of the suite for queues.

Leases are compared by one clock that all workers share. One whose own clock is an hour ahead would find every other worker's lease expired,
and its own would last an hour after its death; one whose clock is an hour behind would be robbed of its runs, and would never find that
another has died. An implementation that several processes can use must do neither.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.contract.suites.queue.case import QueueCase
from tests.support.driven_runs import PATIENCE_S

from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import LEASE_S, ClaimedRun
from stepwell.database.types import NewEvent

_BRIEF_S = 1.0
"""A lease that a test waits for: the time is real."""
_WHILE_S = 0.5
_AN_HOUR = 3600.0
_SAID = [NewEvent("x", b"1")]

Opened = Callable[[float, float], AbstractAsyncContextManager[Persistence]]
"""A server on the suite's database: by how many seconds its machine's clock is ahead, and how long its leases last."""


class ClockCases(QueueCase):
    """Override `opened`. An implementation for one process at a time, whose clock is the only one, is not asked this."""

    @pytest.fixture
    def opened(self) -> Opened:
        raise NotImplementedError("Say how a server is opened on a machine whose clock is wrong.")

    @pytest.mark.parametrize("ahead_s", [_AN_HOUR, -_AN_HOUR])
    async def test_a_wrong_clock_takes_no_run_from_a_living_worker(
        self, opened: Opened, thread_id: str, ahead_s: float
    ) -> None:
        async with opened(0.0, LEASE_S) as right, opened(ahead_s, LEASE_S) as wrong:
            await self.admit(right, thread_id)
            async with self.working(right, worker="right") as worker:
                claim = await worker.next()
                async with self.working(wrong, worker="wrong") as other:  # looks after others by itself, too
                    await asyncio.sleep(_WHILE_S)
                    assert await wrong.queue.recover("another wrong one") == []
                    assert await other.idle()
                await right.events.append(claim.lease, _SAID)
                assert (await worker.end(claim)).status == "success"

    @pytest.mark.parametrize("ahead_s", [_AN_HOUR, -_AN_HOUR])
    async def test_a_worker_with_a_wrong_clock_keeps_its_run_as_long_as_it_lives(
        self, opened: Opened, thread_id: str, ahead_s: float
    ) -> None:
        async with opened(0.0, LEASE_S) as right, opened(ahead_s, LEASE_S) as wrong:
            await self.admit(wrong, thread_id)
            async with self.working(wrong, worker="wrong") as worker:
                claim = await worker.next()
                async with self.working(right, worker="right") as other:
                    await asyncio.sleep(_WHILE_S)
                    assert await right.queue.recover("another right one") == []
                    assert await other.idle()
                await wrong.events.append(claim.lease, _SAID)
                assert (await worker.end(claim)).status == "success"

    @pytest.mark.parametrize("ahead_s", [_AN_HOUR, -_AN_HOUR])
    async def test_a_worker_with_a_wrong_clock_loses_its_run_when_it_dies(
        self, opened: Opened, thread_id: str, ahead_s: float
    ) -> None:
        async with opened(0.0, _BRIEF_S) as right:
            admitted = await self.admit(right, thread_id)
            await _die(opened(ahead_s, _BRIEF_S), "wrong")
            assert await _recovered(right) == [admitted.run.run_id]

    @pytest.mark.parametrize("ahead_s", [_AN_HOUR, -_AN_HOUR])
    async def test_a_wrong_clock_sees_that_another_worker_has_died(
        self, opened: Opened, thread_id: str, ahead_s: float
    ) -> None:
        async with opened(ahead_s, _BRIEF_S) as wrong:
            admitted = await self.admit(wrong, thread_id)
            await _die(opened(0.0, _BRIEF_S), "right")
            assert await _recovered(wrong) == [admitted.run.run_id]


async def _die(opening: AbstractAsyncContextManager[Persistence], worker: str) -> None:
    """Claim a run, and lose the database before it is given back: nobody is told."""
    claims: asyncio.Queue[ClaimedRun] = asyncio.Queue()

    async def drive(claim: ClaimedRun) -> None:
        claims.put_nowait(claim)
        await asyncio.Event().wait()

    async with opening as dying:
        working: asyncio.Task[Any] = asyncio.create_task(
            dying.queue.work(drive, worker=worker, concurrency=1, draining=asyncio.Event())
        )
        await asyncio.wait_for(claims.get(), PATIENCE_S)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


async def _recovered(persistence: Persistence) -> list[str]:
    """What is found to be left by somebody who has died, as soon as it is."""
    async with asyncio.timeout(PATIENCE_S / 2):
        while True:
            if left := await persistence.queue.recover("a new one"):
                return [run.run_id for run in left]
            await asyncio.sleep(_BRIEF_S / 10)
