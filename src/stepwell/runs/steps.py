"""The steps of a run: models, tools, subagents and nodes, each with its time, and models also with tokens and cost.

```
RunMeter   ─ models ─┐
LangChain  ─ tools  ─┼─> StepRecorder ─ ended steps ──> StepJournal ─ now and then ─> the thread's steps
LangGraph  ─ tasks  ─┘
```

A step is recorded when it ends, as one row of limited size, whatever the step read or wrote. LangGraph's namespaces show which steps belong
to a subagent. The metadata that the subagent's call passes to everything inside shows which subagent that is. The nodes that make up an
agent's loop (`model`, `tools`, middleware hooks) are not recorded, but the models and tools in them are.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from stepwell.clock import Clock
from stepwell.control_flow import find_passing
from stepwell.database.types import Lease, PendingInterrupt, Step, StepKind, StepStatus
from stepwell.errors import LeaseLostError, StorageUnavailableError
from stepwell.models.pricing import TokenUse
from stepwell.secrets.errors import words_of
from stepwell.secrets.text import hide_secrets

WRITE_EVERY_S = 0.25
_LONGEST_NAME = 200
_LONGEST_ERROR = 500
_LONGEST_NAMESPACE = 4096
_LOOP_NODE = re.compile(r"model|tools|[^.]{1,200}\.(?:before|after)_(?:model|agent)")
_log = logging.getLogger(__name__)


class KeepSteps(Protocol):
    """Where steps are stored: part of the repository."""

    async def add_steps(self, lease: Lease, steps: Sequence[Step]) -> None: ...


@dataclass
class _Begun:
    kind: StepKind
    name: str
    started_at: datetime
    clock: float
    place: Mapping[str, Any] = field(default_factory=dict)
    call_id: str | None = None


class StepRecorder(BaseCallbackHandler):
    """Observes what begins and ends in one attempt at a run. Thread-safe."""

    run_inline = True  # otherwise LangChain calls it in a thread, for every call
    ignore_llm = True  # the usage meter reports models, with their usage
    ignore_chat_model = True
    ignore_chain = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun: dict[object, _Begun] = {}
        self._ended: list[Step] = []
        self._agents: dict[str, str] = {}
        """Call id -> the subagent that the call turned out to run."""
        self._names: dict[str, str] = {}
        """Namespace -> the subagent that runs there."""
        self._lock = threading.Lock()

    def take(self) -> list[Step]:
        """The steps that ended since the last call."""
        with self._lock:
            ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        """Everything is over: mark steps that have not ended as interrupted."""
        for key in list(self._begun):
            self._end(key, "interrupted")

    def asker(self, question: PendingInterrupt) -> str | None:
        """The subagent that asks, or in which the task that asks runs; `None` if the agent itself asks."""
        place = question.namespace
        while place:
            if name := self._names.get(place):
                return name
            place = place.rpartition("|")[0]
        inside = (name for place, name in self._names.items() if place.rpartition(":")[2] == question.task_id)
        return next(inside, None) if question.task_id else None

    # From the usage meter

    def model_began(self, run_id: UUID, model: str, metadata: Mapping[str, Any]) -> None:
        self._begin(run_id, _Begun("model", model, self._clock.now(), perf_counter(), metadata))

    def model_ended(self, run_id: UUID, use: TokenUse, cost_usd: float | None, error: BaseException | None) -> None:
        self._end(run_id, _status(error), error, use, cost_usd)

    # From LangChain

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        name = str(kwargs.get("name") or (serialized or {}).get("name") or "tool")
        call_id = kwargs.get("tool_call_id")
        begun = _Begun("tool", name, self._clock.now(), perf_counter(), metadata or {}, call_id)
        self._begin(run_id, begun)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        failed = getattr(output, "status", "success") == "error"
        self._end(run_id, "error" if failed else "success", getattr(output, "content", None) if failed else None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, _status(error), error)

    # From LangGraph

    def watch_task(self, task: Mapping[str, Any]) -> None:
        """A task of the root graph begins or has ended."""
        name = str(task["name"])
        if _LOOP_NODE.fullmatch(name):
            return
        key = ("task", task["id"])
        if "result" not in task:
            self._begin(key, _Begun("node", name, self._clock.now(), perf_counter(), {"langgraph_node": name}))
        elif task.get("interrupts"):
            self._end(key, "interrupted")
        else:
            self._end(key, "error" if task.get("error") else "success", task.get("error"))

    def _begin(self, key: object, begun: _Begun) -> None:
        with self._lock:
            self._begun[key] = begun
            agent, call = begun.place.get("lc_agent_name"), begun.place.get("subagent_call_id")
            namespace = _namespace(begun.place)
            if agent and namespace:
                self._names[namespace] = str(agent)
            if agent and call:
                self._agents[str(call)] = str(agent)

    def _end(
        self,
        key: object,
        status: StepStatus,
        error: object = None,
        use: TokenUse | None = None,
        cost_usd: float | None = None,
    ) -> None:
        with self._lock:
            begun = self._begun.pop(key, None)
            if begun is None:
                return
            agent = self._agents.pop(begun.call_id, None) if begun.kind == "tool" and begun.call_id else None
            namespace = _namespace(begun.place)
            self._ended.append(
                Step(
                    kind="agent" if agent else begun.kind,
                    name=_text(agent or begun.name) or "",
                    started_at=begun.started_at,
                    seconds=perf_counter() - begun.clock,
                    status=status,
                    node=_text(begun.place.get("langgraph_node")),
                    agent=_text(self._names.get(namespace)) if namespace else None,
                    namespace=_text(namespace, _LONGEST_NAMESPACE) or "",
                    call_id=_text(begun.call_id),
                    error=_words(error) if status == "error" else None,
                    input_tokens=use.input if use else None,
                    output_tokens=use.output if use else None,
                    cost_usd=cost_usd,
                )
            )


class StepJournal:
    """Writes what a recorder has collected, at most a few times a second: `async with StepJournal(...) as steps`, `steps.tick()`.

    Steps that are left at the end are stored with the run's outcome, in the transaction that ends the run; they are written here only if
    there is no outcome.
    """

    def __init__(self, recorder: StepRecorder, records: KeepSteps, lease: Lease) -> None:
        self._recorder = recorder
        self._records = records
        self._lease = lease
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.time() + WRITE_EVERY_S  # a shorter run needs no write of its own
        self._writing: asyncio.Task[None] | None = None

    def tick(self) -> None:
        """Write, if the last write is long enough ago."""
        if self._loop.time() < self._next or (self._writing and not self._writing.done()):
            return
        if steps := self._recorder.take():
            self._next = self._loop.time() + WRITE_EVERY_S
            self._writing = asyncio.create_task(self._write(steps))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recorder.close()
        if self._writing:
            await self._writing
        if error is not None and (steps := self._recorder.take()):
            await self._write(steps)

    async def _write(self, steps: list[Step]) -> None:
        try:
            await self._records.add_steps(self._lease, steps)
        except (LeaseLostError, StorageUnavailableError) as error:
            # The run's own writes get the same error and decide what happens; a run must not fail because of its step records.
            _log.debug("steps of a run were not stored: %s", error)


def _namespace(place: Mapping[str, Any]) -> str:
    """The namespace of the graph in which something runs. It is LangGraph's namespace without its last part, which names the task."""
    return str(place.get("langgraph_checkpoint_ns") or "").rpartition("|")[0]


def _status(error: BaseException | None) -> StepStatus:
    if error is None:
        return "success"
    return "error" if find_passing(error) is None else "interrupted"


def _words(error: object) -> str | None:
    said = words_of(error) if isinstance(error, BaseException) else error if isinstance(error, str) else ""
    return _text(hide_secrets(said) or type(error).__name__, _LONGEST_ERROR)


def _text(value: object, longest: int = _LONGEST_NAME) -> str | None:
    """The value as text that can be stored. Models and graphs choose names, which may contain half a surrogate pair, and only Python
    accepts that."""
    return None if value is None else str(value)[:longest].encode(errors="replace").decode()
