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

from stepwell.clock import Clock, SystemClock
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import Run, RunEvent, Thread
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.starting import RunOrder

GRAPHS = (
    "two",
    "asking",
    "asking_twice",
    "failing",
    "waiting",
    "siblings",
    "chat",
    "slow_chat",
    "deep",
    "talker",
    "paying",
    "typed",
)
HOSTILE = (
    *(
        "raises_base",
        "raises_group",
        "raises_mute",
        "raises_half_a_character",
        "raises_cancelled",
        "raises_stop",
        "raises_memory",
    ),
    *("gives_a_lock", "gives_a_generator", "gives_itself", "gives_a_huge_number", "gives_half_a_character"),
    *("never_ends", "loops", "slow_to_make", "broken", "both", "inner"),
)
OWNER = "somebody"


def new_id() -> str:
    return str(uuid.uuid4())


@dataclass
class Runs:
    """The engine, with the few words that tests need."""

    engine: Engine
    persistence: EmbeddedPersistence
    registry: GraphRegistry

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
    async def opened(clock: Clock | None = None, **options: Any) -> AsyncIterator[Runs]:
        clock = clock or SystemClock()
        async with EmbeddedPersistence(tmp_path / "stepwell.db", clock=clock) as persistence:
            sources = {name: f"./graphs.py:{name}" for name in GRAPHS}
            sources |= {name: f"tests.integration.runs.hostile_graphs:{name}" for name in HOSTILE}
            registry = GraphRegistry.from_specs(sources, Path(__file__).parent)
            assistants = Assistants(persistence.records, registry, clock, new_id)
            await assistants.install_defaults()
            named = {name: options.pop(name) for name in ("watchers", "gates", "supervisor") if name in options}
            chosen = EngineOptions(**{"drain_s": 0.0, **options})
            engine = Engine(persistence, registry, assistants, clock=clock, new_id=new_id, options=chosen, **named)
            async with engine:
                yield Runs(engine, persistence, registry)

    return opened


@pytest.fixture
async def runs(open_runs: OpenRuns) -> AsyncIterator[Runs]:
    async with open_runs() as opened:
        yield opened


@pytest.fixture
def thread_id() -> str:
    return new_id()
