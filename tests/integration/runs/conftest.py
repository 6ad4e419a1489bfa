"""A real engine over a real SQLite file, serving `graphs.py`."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from stepwell.clock import SystemClock
from stepwell.runs.assistants import Assistants
from stepwell.runs.embedded.persistence import EmbeddedPersistence
from stepwell.runs.engine import Engine
from stepwell.runs.records import Run, RunEvent, Thread
from stepwell.runs.registry import GraphRegistry
from stepwell.runs.starting import RunOrder

GRAPHS = ("two", "asking", "asking_twice", "failing", "waiting", "siblings", "chat", "slow_chat", "deep", "talker")
OWNER = "somebody"


def new_id() -> str:
    return str(uuid.uuid4())


@dataclass
class Runs:
    """The engine, with the few words that tests need."""

    engine: Engine
    persistence: EmbeddedPersistence

    async def start(self, assistant: str, thread_id: str | None, **order: Any) -> Run:
        order = {"if_not_exists": "create", **order}
        return (await self.engine.start(OWNER, RunOrder(assistant, thread_id=thread_id, **order))).run

    async def result(self, run: Run) -> Any:
        return orjson.loads(await self.engine.result(OWNER, run.thread_id, run.run_id))

    async def events(self, run: Run, **options: Any) -> list[RunEvent]:
        return [event async for batch in self.engine.events(OWNER, run.thread_id, run.run_id, **options) for event in batch]

    async def thread(self, thread_id: str) -> Thread:
        return await self.persistence.records.get_thread(OWNER, thread_id)

    async def run(self, run: Run) -> Run:
        return await self.persistence.records.get_run(OWNER, run.thread_id, run.run_id)


OpenRuns = Callable[..., AbstractAsyncContextManager[Runs]]


@pytest.fixture
def open_runs(tmp_path: Path) -> OpenRuns:
    """Open the same database again and again, as restarts do."""

    @asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[Runs]:
        clock = SystemClock()
        async with EmbeddedPersistence(tmp_path / "stepwell.db") as persistence:
            registry = GraphRegistry.from_specs({name: f"./graphs.py:{name}" for name in GRAPHS}, Path(__file__).parent)
            assistants = Assistants(persistence.records, registry, clock, new_id)
            await assistants.install_defaults()
            engine = Engine(persistence, registry, assistants, clock=clock, new_id=new_id, **{"drain_s": 0.0, **options})
            async with engine:
                yield Runs(engine, persistence)

    return opened


@pytest.fixture
async def runs(open_runs: OpenRuns) -> AsyncIterator[Runs]:
    async with open_runs() as opened:
        yield opened


@pytest.fixture
def thread_id() -> str:
    return new_id()
