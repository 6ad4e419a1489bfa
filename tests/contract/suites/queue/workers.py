"""Two workers on one queue, of which one may not be heard of any more: part of the suite for queues."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointMetadata, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from tests.contract.suites.queue.case import QueueCase, ShiftedClock
from tests.support.driven_runs import DONE, OWNER, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import LEASE_S
from stepwell.database.types import Lease, NewEvent, PendingInterrupt
from stepwell.errors import LeaseLostError, ThreadBusyError
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.research.database_vault import SqlVault

_SAID = [NewEvent("x", b"1")]
_TICKS_PER_S = 10_000_000


class WorkersCases(QueueCase):
    """What `stepwell.database.queue.run_queue` says about workers, each as a test."""

    async def test_a_worker_that_starts_leaves_those_alone_that_are_at_work(
        self, persistence: Persistence, second: Persistence, thread_id: str
    ) -> None:
        await self.admit(persistence, thread_id)
        async with self.working(persistence, worker="one") as one:
            claim = await one.next()
            assert await second.queue.recover("two") == []
            async with self.working(second, worker="two") as two:
                assert await two.idle()
                await persistence.events.append(claim.lease, _SAID)
                assert (await one.end(claim)).status == "success"

    async def test_two_workers_share_the_runs_and_none_is_driven_twice(
        self, persistence: Persistence, second: Persistence
    ) -> None:
        admitted = {(await self.admit(persistence, new_id())).run.run_id for _ in range(12)}
        driven: list[str] = []
        async with self.working(persistence, 2, "one") as one, self.working(second, 2, "two") as two:

            async def drive(worker: object) -> None:
                while True:
                    claim = await worker.next()  # type: ignore[attr-defined]
                    driven.append(claim.run.run_id)
                    await worker.end(claim)  # type: ignore[attr-defined]

            tasks = [asyncio.create_task(drive(worker)) for worker in (one, two)]
            for run_id in admitted:
                assert await persistence.queue.finished(run_id, 20) == "finished"
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert sorted(driven) == sorted(admitted)

    async def test_a_worker_that_is_not_heard_of_loses_its_runs_and_writes_no_more(
        self, persistence: Persistence, second: Persistence, thread_id: str, clock: ShiftedClock
    ) -> None:
        admitted = await self.admit(persistence, thread_id)
        async with self.working(persistence, worker="one") as one:
            lost = await one.next()
            clock.move(LEASE_S + 1)
            recovered = await second.queue.recover("two")
            assert [run.run_id for run in recovered] == [admitted.run.run_id]
            with pytest.raises(LeaseLostError):
                await persistence.events.append(lost.lease, _SAID)
            with pytest.raises(LeaseLostError):
                await persistence.queue.finish(lost.lease, DONE)

    async def test_the_right_fence_in_the_hands_of_another_worker_writes_nothing(
        self, persistence: Persistence, second: Persistence, thread_id: str
    ) -> None:
        """A standby that takes over may have missed the last commits, a claim among them. The next worker then claims the same run with
        the same fence, and the first one does not know that its claim was lost."""
        await self.admit(persistence, thread_id)
        async with self.working(persistence, worker="next") as worker:
            claim = await worker.next()
            forgotten = replace(claim.lease, worker="forgotten")
            stored = [name for name, write in _writes(second, forgotten) if not await _is_refused(write)]
            assert stored == []
            assert await persistence.events.read(thread_id) == []
            assert (await worker.end(claim)).status == "success"

    async def test_a_worker_that_is_heard_of_keeps_its_runs_however_long_they_take(
        self, persistence: Persistence, second: Persistence, thread_id: str, clock: ShiftedClock
    ) -> None:
        await self.admit(persistence, thread_id)
        async with self.working(persistence, worker="one") as one:
            claim = await one.next()
            for _ in range(2):
                clock.move(0.6 * LEASE_S)
                await asyncio.sleep(0.3 * LEASE_S)  # a worker says it four times while a lease lasts
            assert await second.queue.recover("two") == []
            await one.end(claim)

    async def test_a_worker_that_stops_leaves_its_runs_to_others_at_once(
        self, persistence: Persistence, second: Persistence, thread_id: str
    ) -> None:
        admitted = await self.admit(persistence, thread_id)
        async with self.working(persistence, worker="one") as one:
            await one.next()
        assert [run.run_id for run in await second.queue.recover("two")] == [admitted.run.run_id]

    async def test_a_thread_that_is_held_stays_so_until_its_holder_is_not_heard_of(
        self, persistence: Persistence, second: Persistence, thread_id: str, clock: ShiftedClock
    ) -> None:
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next())
        async with persistence.queue.hold(OWNER, thread_id, "test") as lease:
            await second.queue.recover("two")
            await persistence.events.append(lease, _SAID)
            with pytest.raises(ThreadBusyError):
                async with second.queue.hold(OWNER, thread_id, "test"):
                    pass
            clock.move(LEASE_S + 1)
            await second.queue.recover("two")
            with pytest.raises(LeaseLostError):
                await persistence.events.append(lease, _SAID)

    async def test_checkpoints_go_on_after_the_newest_one_whatever_a_workers_clock_says(
        self, persistence: Persistence, second: Persistence, thread_id: str
    ) -> None:
        """The first worker's clock is three seconds ahead: what the second one stores is newer all the same."""
        await self.admit(persistence, thread_id)
        await self.admit(persistence, thread_id)
        config = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        facts: CheckpointMetadata = {"source": "loop", "step": 0, "parents": {}}
        async with self.working(persistence, worker="one") as one:
            first = await one.next()
            ahead = _later_id(3.0)
            await persistence.saver(first.lease).aput(config, {**empty_checkpoint(), "id": ahead}, facts, {})  # type: ignore[arg-type]
            await one.end(first)
            claim = await one.next()
            assert claim.lease.newest_checkpoint == ahead
            newer = empty_checkpoint()
            assert newer["id"] > ahead
            await second.saver(claim.lease).aput(config, newer, facts, {})  # type: ignore[arg-type]
            latest = await persistence.saver().aget_tuple(config)  # type: ignore[arg-type]
            assert latest is not None
            assert latest.checkpoint["id"] == newer["id"]
            await one.end(claim)


def _writes(persistence: Persistence, lease: Lease) -> list[tuple[str, Callable[[], Awaitable[Any]]]]:
    """One of each kind of write that a run makes."""
    config: Any = {"configurable": {"thread_id": lease.thread_id, "checkpoint_ns": ""}}
    at_checkpoint: Any = {"configurable": {**config["configurable"], "checkpoint_id": empty_checkpoint()["id"]}}
    facts: CheckpointMetadata = {"source": "loop", "step": 0, "parents": {}}
    saver, effects = persistence.saver(lease), persistence.effects(lease)
    return [
        ("a checkpoint", lambda: saver.aput(config, empty_checkpoint(), facts, {})),
        ("a step's write", lambda: saver.aput_writes(at_checkpoint, [("channel", 1)], "a-task")),
        ("an event", lambda: persistence.events.append(lease, _SAID)),
        ("a step record", lambda: persistence.records.add_steps(lease, [])),
        ("the beginning of an effect", lambda: asyncio.wrap_future(effects.begin("key"))),
        ("the end of an effect", lambda: asyncio.wrap_future(effects.finish("key", b"done"))),
        ("the release of an effect", lambda: asyncio.wrap_future(effects.release("key"))),
        ("a barrier before an effect", lambda: asyncio.wrap_future(effects.barrier())),
        ("evidence", lambda: SqlVault(persistence.database, lease.thread_id, lease).put(b"evidence")),
        ("a charge", lambda: DatabaseLedger(persistence.database, lease=lease).confirm("a-session", ["key"])),
        ("an interrupt", lambda: persistence.queue.ask(lease, [PendingInterrupt("a" * 32, "why?")])),
        ("a run handed back", lambda: persistence.queue.hand_back(lease)),
        ("the end of the run", lambda: persistence.queue.finish(lease, DONE)),
    ]


async def _is_refused(write: Callable[[], Awaitable[Any]]) -> bool:
    try:
        await write()
    except LeaseLostError:
        return True
    return False


def _later_id(seconds: float) -> str:
    """An id as LangGraph will make it in so many seconds."""
    now = uuid6(clock_seq=0).int
    ticks = ((now >> 80) << 12 | (now >> 64) & 0xFFF) + int(seconds * _TICKS_PER_S)
    return str(uuid.UUID(int=(ticks >> 12) << 80 | 6 << 76 | (ticks & 0xFFF) << 64 | now & 0xFFFFFFFFFFFFFFFF))
