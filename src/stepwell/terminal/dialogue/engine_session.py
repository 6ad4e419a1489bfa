"""A durable session with a graph in this process: an engine executes the graph and stores its runs in a SQLite file.

A run is on disk before its first step. If the process is killed, the run resumes when a process opens the file again; `follow` shows
the rest of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import orjson

from stepwell.clock import SystemClock
from stepwell.database.records.types import Page
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import Run, Thread
from stepwell.errors import MessageTakenError, NoActiveRunError, NotFoundError, RewindError, RunError
from stepwell.private_files import make_private_folder
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.gates import Gate
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.starting import RunOrder
from stepwell.state.steering import SteeringMessage, check_content
from stepwell.terminal.dialogue.session import (
    CLAIM_S,
    TERMINAL,
    OpenInterrupt,
    RunFailedError,
    StreamPart,
    SubAgentLine,
    TaskLine,
    failure_in,
    read_part,
)
from stepwell.terminal.dialogue.stored_subagents import stored_messages, stored_subagents

_OWNER = "you"
_NEWEST = 20
_DRAIN_S = 0.2


@dataclass(frozen=True)
class OpenEngine:
    """A running engine on a file, for one graph."""

    engine: Engine
    persistence: EmbeddedPersistence
    graph_id: str
    registry: GraphRegistry


@asynccontextmanager
async def open_engine(
    file: Path,
    graph_id: str,
    source: GraphSource | GraphRegistry,
    *,
    new_id: Callable[[], str] = lambda: str(uuid4()),
    gates: Callable[[EmbeddedPersistence], Sequence[Gate]] = lambda persistence: (),
) -> AsyncIterator[OpenEngine]:
    """Opens the file, creating it if necessary, and resumes runs that a killed process left in it. On exit, active runs are handed
    back: the next process that opens the file resumes them. The graph comes from its source, or from the registry that has it."""
    clock = SystemClock()
    registry = source if isinstance(source, GraphRegistry) else GraphRegistry({graph_id: source})
    make_private_folder(file.parent)
    async with EmbeddedPersistence(file) as persistence:
        assistants = Assistants(persistence.records, registry, clock, new_id)
        await assistants.install_defaults()
        engine = Engine(
            persistence,
            registry,
            assistants,
            clock=clock,
            new_id=new_id,
            options=EngineOptions(drain_s=_DRAIN_S),
            gates=gates(persistence),
        )
        async with engine:
            yield OpenEngine(engine, persistence, graph_id, registry)


class EngineSession:
    """One thread of the engine's graph."""

    def __init__(
        self,
        opened: OpenEngine,
        thread_id: str,
        modes: Sequence[str],
        *,
        subgraphs: bool = False,
        configurable: Mapping[str, Any] | None = None,
    ) -> None:
        """`configurable` is what every run gets, as it is when the run starts."""
        self._subgraphs = subgraphs
        self._configurable = {} if configurable is None else configurable
        self._engine = opened.engine
        self._persistence = opened.persistence
        self._records = opened.persistence.records
        self._graph_id = opened.graph_id
        self._thread_id = thread_id
        self._modes = tuple(modes)
        self._run_id: str | None = None
        """The run whose stream we are reading."""
        self._steered: dict[str, str] = {}
        """Messages sent to runs since `hear_steered`, with their runs."""

    @property
    def thread_id(self) -> str:
        return self._thread_id

    def send(self, input: Mapping[str, Any] | None, *, title: str = "") -> AsyncGenerator[StreamPart]:
        """`title` is unused: each file has one thread, so there is no list of threads."""
        return self._start(input=None) if input is None else self._start(input=dict(input), if_not_exists="create")

    def answer(self, answers: Mapping[str, Any]) -> AsyncGenerator[StreamPart]:
        return self._start(command={"resume": dict(answers)})

    async def follow(self) -> AsyncGenerator[StreamPart]:
        for run in await self._active_runs():
            async with aclosing(self._read(run.run_id)) as parts:
                async for part in parts:
                    yield part

    async def _active_runs(self) -> list[Run]:
        runs = await self._records.list_runs(_OWNER, self._thread_id, None, Page(limit=_NEWEST)) if await self._thread() else []
        return [run for run in reversed(runs) if not run.finished]

    async def stop(self) -> None:
        if self._run_id is not None:
            await self._engine.cancel(_OWNER, self._thread_id, [self._run_id], wait=True)
            self._run_id = None

    async def values(self) -> Mapping[str, Any]:
        thread = await self._thread()
        return (thread.values if thread else None) or {}

    async def inputs(self) -> list[Mapping[str, Any]]:
        return [run.request.input for run in await self._active_runs() if isinstance(run.request.input, Mapping)]

    async def failure(self) -> RunFailedError | None:
        thread = await self._thread()
        return failure_in(thread.error) if thread and thread.status == "error" else None

    async def interrupts(self) -> tuple[OpenInterrupt, ...]:
        thread = await self._thread()
        waiting = thread.interrupts if thread else ()
        return tuple(OpenInterrupt(each.interrupt_id, each.value, each.response_schema) for each in waiting)

    async def tasks(self) -> list[TaskLine]:
        listed = await self._records.background_tasks(_OWNER, self._thread_id)
        return [TaskLine(each.task_id, each.agent_name, each.status, each.description) for each in listed]

    async def stop_task(self, task_id: str) -> None:
        await self._engine.cancel_task(_OWNER, self._thread_id, task_id)

    def hear_tasks(self) -> AsyncGenerator[StreamPart]:
        return self.follow()

    async def subagents(self) -> list[SubAgentLine]:
        return await stored_subagents(self._persistence.saver(None), self._thread_id)

    async def subagent_messages(self, task_id: str) -> list[Mapping[str, Any]]:
        return await stored_messages(self._persistence.saver(None), self._thread_id, task_id)

    async def claim(self, interrupt_id: str) -> str | None:
        held = await self._records.claim(
            _OWNER, self._thread_id, interrupt_id, device_id=TERMINAL, ttl_s=CLAIM_S, claim_id=None
        )
        return held.claim_id

    async def rewind(self, turn_id: str, *, dry_run: bool = False, force: bool = False) -> Mapping[str, Any]:
        raise RewindError("Turns of this graph cannot be taken back. Start again in another file.")

    async def steer(self, text: str) -> None:
        if self._run_id is None:
            raise NoActiveRunError("No run is under way.")
        message = SteeringMessage(str(uuid4()), check_content(text))
        sent = await self._engine.steer(_OWNER, self._thread_id, self._run_id, message)
        self._steered[message.id] = sent.run_id

    async def withdraw(self) -> list[str]:
        taken_back = []
        for sent in await self._records.list_waiting_messages(_OWNER, self._thread_id):
            try:
                await self._records.withdraw_message(_OWNER, self._thread_id, sent.message.id)
            except (MessageTakenError, NotFoundError):  # the agent has it
                continue
            taken_back.append(str(sent.message.content))
        return taken_back

    async def hear_steered(self) -> AsyncGenerator[StreamPart]:
        steered, self._steered = set(self._steered.values()), {}
        runs = await self._records.list_runs(_OWNER, self._thread_id, None, Page(limit=_NEWEST)) if steered else []
        for run in reversed(runs):
            if run.metadata.get("steered_run_id") in steered:
                async with aclosing(self._read(run.run_id)) as parts:
                    async for part in parts:
                        yield part

    async def aside(self, question: str) -> str:
        raise RunError("Side questions are for conversations with an agent: start one with stepwell chat.")

    async def _thread(self) -> Thread | None:
        try:
            return await self._records.get_thread(_OWNER, self._thread_id)
        except NotFoundError:  # nothing was sent yet
            return None

    async def _start(self, **order: Any) -> AsyncGenerator[StreamPart]:
        config = {"configurable": dict(self._configurable)} if self._configurable else {}
        wanted = RunOrder(
            self._graph_id,
            thread_id=self._thread_id,
            stream_modes=self._modes,
            stream_subgraphs=self._subgraphs,
            config=config,
            **order,
        )
        async with aclosing(self._read(await self._admit(wanted))) as parts:
            async for part in parts:
                yield part

    async def _admit(self, wanted: RunOrder) -> str:
        """The id of the run. If the caller gives up meanwhile, `stop` still knows which run to end."""
        starting = asyncio.ensure_future(self._engine.start(_OWNER, wanted))
        try:
            return (await asyncio.shield(starting)).run.run_id
        except asyncio.CancelledError:
            self._run_id = (await starting).run.run_id
            raise

    async def _read(self, run_id: str) -> AsyncGenerator[StreamPart]:
        self._run_id = run_id
        events = cast("AsyncGenerator[Any]", self._engine.events(_OWNER, self._thread_id, run_id))
        try:
            async with aclosing(events) as batches:
                async for batch in batches:
                    for event in batch:
                        yield read_part(event.event, orjson.loads(event.data))
        except RunFailedError:
            self._run_id = None
            raise
        self._run_id = None
