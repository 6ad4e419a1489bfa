"""A research on a thread: in this process over a file of its own, or on a server.

```
LocalResearch    engine and SQLite file under the data folder: killed at any moment, the next process goes on
RemoteResearch   LangGraph's client; the server keeps everything
```
Each thread has its own folder, so several can run at a time, and going on with one drives no other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import orjson

from stepwell.apps.research.graph import build_graph
from stepwell.apps.research.kit import Equipment
from stepwell.audit.bundle import write_bundle
from stepwell.cli.dialogue.answers import OpenInterrupt
from stepwell.clock import SystemClock
from stepwell.errors import RunError
from stepwell.runs.assistants import Assistants
from stepwell.runs.embedded.persistence import EmbeddedPersistence
from stepwell.runs.engine import Engine
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.records import Run
from stepwell.runs.repository import Page
from stepwell.runs.starting import RunOrder

GRAPH = "research"
DATABASE = "research.db"
BUNDLE = "bundle.zip"
MODES = ("updates",)
_OWNER = "you"

Update = tuple[str, Mapping[str, Any]]
"""A node, and what it changed."""


class ResearchSession(Protocol):
    @property
    def thread_id(self) -> str: ...

    def ask(self, given: Mapping[str, Any]) -> AsyncIterator[Update]:
        """Begin a research; what its nodes do follows, until it ends or asks."""
        ...

    def answer(self, answers: Mapping[str, Any]) -> AsyncIterator[Update]:
        """Answer open questions by their ids; the research goes on."""
        ...

    def follow(self) -> AsyncIterator[Update]:
        """What is under way on the thread, or goes on with what was stopped."""
        ...

    async def questions(self) -> tuple[OpenInterrupt, ...]: ...

    async def values(self) -> Mapping[str, Any]: ...

    async def stop(self) -> None: ...


class LocalResearch:
    """Opened with `open`, closed with `close`."""

    def __init__(
        self, folder: Path, thread_id: str, kit: Equipment, *, new_id: Callable[[], str] = lambda: str(uuid4())
    ) -> None:
        self._folder = folder
        self._thread_id = thread_id
        self._kit = kit
        self._new_id = new_id
        self._stack = AsyncExitStack()

    @property
    def thread_id(self) -> str:
        return self._thread_id

    async def open(self) -> None:
        clock = SystemClock()
        registry = GraphRegistry({GRAPH: GraphSource.of(build_graph(self._kit))})
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._persistence = await self._stack.enter_async_context(EmbeddedPersistence(self._folder / DATABASE))
        assistants = Assistants(self._persistence.records, registry, clock, self._new_id)
        await assistants.install_defaults()
        engine = Engine(self._persistence, registry, assistants, clock=clock, new_id=self._new_id, drain_s=0.2)
        self._engine = await self._stack.enter_async_context(engine)

    async def close(self) -> None:
        await self._stack.aclose()

    def ask(self, given: Mapping[str, Any]) -> AsyncIterator[Update]:
        return self._start(input=dict(given), if_not_exists="create")

    def answer(self, answers: Mapping[str, Any]) -> AsyncIterator[Update]:
        return self._start(command={"resume": dict(answers)})

    async def follow(self) -> AsyncIterator[Update]:
        runs = await self._persistence.records.list_runs(_OWNER, self._thread_id, None, Page(limit=20))
        under_way = [run for run in reversed(runs) if not run.finished]
        if not under_way and not await self.questions() and not ended(await self.values()):
            async for update in self._start(input=None):  # it was stopped: on from its last checkpoint
                yield update
        for run in under_way:
            async for update in self._updates(run):
                yield update

    async def questions(self) -> tuple[OpenInterrupt, ...]:
        thread = await self._persistence.records.get_thread(_OWNER, self._thread_id)
        return tuple(OpenInterrupt(each.interrupt_id, each.value) for each in thread.interrupts)

    async def values(self) -> Mapping[str, Any]:
        thread = await self._persistence.records.get_thread(_OWNER, self._thread_id)
        return thread.values or {}

    async def stop(self) -> None:
        """Leaving the engine hands the run back: whoever opens the folder next goes on with it."""

    async def save_bundle(self) -> Path:
        """Where the evidence is now, as one file."""
        file = self._folder / BUNDLE
        await write_bundle(self._persistence.vault(self._thread_id), file)
        return file

    async def _start(self, **order: Any) -> AsyncIterator[Update]:
        admitted = await self._engine.start(_OWNER, RunOrder(GRAPH, thread_id=self._thread_id, stream_modes=MODES, **order))
        async for update in self._updates(admitted.run):
            yield update

    async def _updates(self, run: Run) -> AsyncIterator[Update]:
        async for batch in self._engine.events(_OWNER, run.thread_id, run.run_id):
            for event in batch:
                for update in updates_of(event.event, orjson.loads(event.data)):
                    yield update


def updates_of(name: str, data: Any) -> list[Update]:
    """The updates in an event of a run; `RunError` for one that says that the run failed."""
    if name == "error":
        raise RunError(str(data.get("message") or data.get("error") or "The research failed and did not say why."))
    if name != "updates" or not isinstance(data, Mapping):
        return []
    return [(node, update) for node, update in data.items() if isinstance(update, Mapping)]


def ended(values: Mapping[str, Any]) -> bool:
    return values.get("status") in ("complete", "failed")
