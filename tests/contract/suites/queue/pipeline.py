"""What is handed in under one lease, and in which order it is stored: part of the suite for queues.

Nothing here waits for one piece before it hands in the next; whoever looks from another server when a piece is stored must find all that
were handed in before it. An implementation with a queue for checkpoints and another for events, or that answers before it has stored
something, is found out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import CheckpointMetadata, empty_checkpoint
from tests.contract.suites.queue.case import QueueCase
from tests.support.driven_runs import DONE, OWNER

from stepwell.database.persistence import Persistence
from stepwell.database.types import Lease, NewEvent
from stepwell.tools.effect_journal import Begun, Standing

_FACTS: CheckpointMetadata = {"source": "loop", "step": 0, "parents": {}}


@dataclass(frozen=True)
class _Piece:
    name: str
    hand_in: Callable[[], Awaitable[Any]]
    is_stored: Callable[[], Awaitable[bool]]


class _Pipeline:
    """Makes pieces of one lease, and looks for them from another server."""

    def __init__(self, persistence: Persistence, looking: Persistence, lease: Lease) -> None:
        self._persistence = persistence
        self._looking = looking
        self._lease = lease
        self._config: Any = {"configurable": {"thread_id": lease.thread_id, "checkpoint_ns": ""}}

    def checkpoint(self, name: str) -> _Piece:
        checkpoint = empty_checkpoint()
        where: Any = {"configurable": {**self._config["configurable"], "checkpoint_id": checkpoint["id"]}}
        return _Piece(
            name,
            lambda: self._persistence.saver(self._lease).aput(self._config, checkpoint, _FACTS, {}),
            lambda: self._is_there(where),
        )

    async def _is_there(self, where: Any) -> bool:
        return await self._looking.saver().aget_tuple(where) is not None

    def event(self, name: str) -> _Piece:
        return _Piece(
            name,
            lambda: self._persistence.events.append(self._lease, [NewEvent(name, b"1")]),
            lambda: self._is_in_log(name),
        )

    async def _is_in_log(self, name: str) -> bool:
        return any(event.event == name for event in await self._looking.events.read(self._lease.thread_id))

    def effect(self, name: str) -> _Piece:
        return _Piece(name, lambda: self._begin(name), lambda: self._has_begun(name))

    async def _begin(self, name: str) -> None:
        standing: Standing = await asyncio.wrap_future(self._persistence.effects(self._lease).begin(name))
        assert isinstance(standing, Begun)

    async def _has_begun(self, name: str) -> bool:
        return name in await asyncio.wrap_future(self._looking.effects(self._lease).look([name]))

    def end(self, name: str) -> _Piece:
        return _Piece(name, lambda: self._persistence.queue.finish(self._lease, DONE), self._has_ended)

    async def _has_ended(self) -> bool:
        run = await self._looking.records.get_run(OWNER, self._lease.thread_id, self._lease.run_id)
        return run.status == "success"


async def _run_all(pieces: list[_Piece]) -> None:
    """Hand all of them in, one after the other and without waiting; when one is stored, those before it must be."""

    async def store(number: int) -> None:
        await pieces[number].hand_in()
        for before in pieces[: number + 1]:
            assert await before.is_stored(), f"{pieces[number].name} is stored, and {before.name}, handed in before it, is not"

    tasks = []
    for number in range(len(pieces)):
        tasks.append(asyncio.create_task(store(number)))
        await asyncio.sleep(0)
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class PipelineCases(QueueCase):
    """What `stepwell.database.queue.run_queue` says about the order of one lease's writes."""

    async def test_what_is_handed_in_under_one_lease_is_stored_in_that_order(
        self, persistence: Persistence, second: Persistence, thread_id: str
    ) -> None:
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            claim = await worker.next()
            pipeline = _Pipeline(persistence, second, claim.lease)
            for number in range(3):
                checkpoints = [pipeline.checkpoint(f"checkpoint {number}.{place}") for place in range(3)]
                effects = [pipeline.effect(f"effect {number}.{place}") for place in range(2)]
                await _run_all([checkpoints[0], effects[0], checkpoints[1], checkpoints[2], effects[1]])
                await _run_all(
                    [pipeline.checkpoint("checkpoint"), pipeline.effect(f"effect {number}"), pipeline.event("event")]
                )
            await worker.end(claim)

    async def test_a_run_ends_after_everything_that_was_handed_in_before(
        self, persistence: Persistence, second: Persistence, thread_id: str
    ) -> None:
        """Its events are waited for, as they may be gathered; whoever drives a run does so too."""
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            claim = await worker.next()
            pipeline = _Pipeline(persistence, second, claim.lease)
            said = [persistence.events.append(claim.lease, [NewEvent(name, b"1")]) for name in ("one", "two", "three")]
            await asyncio.gather(*said)
            await _run_all([pipeline.checkpoint("a checkpoint"), pipeline.effect("an effect"), pipeline.end("the end")])
            log = await second.events.read(thread_id)
            assert [event.event for event in log] == ["one", "two", "three", "end"]
