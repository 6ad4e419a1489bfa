"""Changes of one file within one model turn happen in the order of their calls, and each sees what those before it really did. A folder
that is deleted or moved concerns every path below it.

LangGraph runs the calls of a turn in parallel. `ChangeOrder` stands around whatever may answer a call (approvals, run modes, hooks, the
tool itself), lets a call wait for the earlier calls on its paths, and then looks at what became of them:

| the earlier call | this call |
|---|---|
| has a result, now or in a run before this one | runs; files in state get the updates that the earlier calls returned (`backends.turn`) |
| waits for a person or a device, or lost its database | waits too: it ends without a result and begins again with the earlier one |
| failed with an exception, or never began | is refused with a sentence, so that the model calls again |

So nothing is taken for granted because a call asked for it. After a resume, calls that have finished are not run again; what they
returned is read from the checkpointer. Shell commands have their own order: `tools.shell.call_order`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import get_runtime
from langgraph.types import Command

from stepwell.backends import paths
from stepwell.backends.protocol import ErrorText
from stepwell.backends.turn import FilesUpdate, after
from stepwell.control_flow import find_passing

EDITED_BY_A_PERSON = "hitl_edited_tool_calls"
"""Where LangChain's approvals store a person's edit of a call; the message still shows the model's version."""
GRACE_S = 0.05
"""How long a call waits for an earlier one to begin before it looks whether that one has finished in a run before this one."""
PATIENCE_S = 3.0
"""How long a call waits for an earlier one that neither begins nor has finished."""
POLL_S = 0.002
MAX_TURNS = 1024
"""How many turns are remembered. Beyond that, the oldest are dropped."""

ToolResult = ToolMessage | Command[Any]
Standing = Literal["free", "busy", "missing", "paused", "failed"]

_CHECKPOINTER = "__pregel_checkpointer"
"""LangGraph's key for the checkpointer in a node's config."""
_ORDERED: ContextVar[str | None] = ContextVar("stepwell_ordered_call", default=None)


@dataclass(frozen=True, slots=True)
class FileTurn:
    """A file-changing call and its place among the calls of its model turn."""

    run: object
    """What the calls of one run share, and no later run has."""
    name: tuple[str, str]
    """The turn within the run: the agent's namespace and the id of the model's message."""
    call_id: str
    earlier: tuple[str, ...] = ()
    """The earlier calls that change files, on any path."""
    predecessors: tuple[str, ...] = ()
    """Those on this call's own paths, or on paths above or below them."""


def file_turn(request: ToolCallRequest) -> FileTurn | None:
    """A call's place in its turn; None if its order does not matter. Calls that had a result before the tools began (rejected ones) do not
    count."""
    state: Any = request.state
    messages = state.get("messages") if isinstance(state, Mapping) else None
    answered: set[str] = set()
    for message in reversed(messages or ()):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            if len(message.tool_calls) < 2:
                return None
            changed = _changed_paths(message, answered, state.get(EDITED_BY_A_PERSON) or {})
            return _place_call(changed, request, message.id or "")
    return None


def _changed_paths(
    message: AIMessage, answered: set[str], edited: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str, ...]]:
    """The open calls of the turn that change files, with the paths that they concern."""
    changed: dict[str, tuple[str, ...]] = {}
    for call in message.tool_calls:
        call_id = call["id"] or ""
        runs: Mapping[str, Any] = edited.get(call_id, call)
        if call_id not in answered and (concerned := _paths_of(runs["name"], runs["args"])):
            changed[call_id] = concerned
    return changed


def _place_call(changed: Mapping[str, tuple[str, ...]], request: ToolCallRequest, message_id: str) -> FileTurn | None:
    own_id = request.tool_call["id"] or ""
    if own_id not in changed:
        return None
    concerned = [call_id for call_id in changed if _share(changed[call_id], changed[own_id])]
    if concerned == [own_id]:
        return None
    earlier = tuple(changed)[: list(changed).index(own_id)]
    return FileTurn(
        _run_of(request),
        (_namespace(request), message_id),
        own_id,
        earlier=earlier,
        predecessors=tuple(call_id for call_id in earlier if call_id in concerned),
    )


def _paths_of(name: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths that a call changes; none if it changes nothing, or if its arguments are wrong."""
    match name:
        case "move":
            given = [args.get("source"), args.get("destination")]
        case "delete" | "write_file" | "edit_file":
            given = [args.get("file_path")]
        case _:
            return ()
    found = [paths.resolve_entry(each) for each in given]
    return tuple(path for path in found if not isinstance(path, ErrorText))


def _share(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the order of two changes matters: they have a path in common, or one is below the other's."""
    return any(paths.is_within(one, two) or paths.is_within(two, one) for one in some for two in others)


def _run_of(request: ToolCallRequest) -> object:
    """LangGraph makes one such object per run, and shares it with subagents."""
    try:
        return get_runtime().control or request.state
    except (RuntimeError, KeyError):  # outside of a graph
        return request.state


def _namespace(request: ToolCallRequest) -> str:
    """The namespace of the agent, which is the part of its task's before the last separator."""
    own: str = (request.runtime.config.get("configurable") or {}).get("checkpoint_ns") or ""
    return own.rpartition("|")[0]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a call."""

    kind: Literal["result", "paused", "failed"]
    files: FilesUpdate | None = None


@dataclass(slots=True)
class _Calls:
    """How far the calls of one turn have got."""

    run: object
    """Kept, so that its id stays its own."""
    running: set[str] = field(default_factory=set)
    outcomes: dict[str, _Outcome] = field(default_factory=dict)


class ChangeOrder:
    """Lets changes of one file happen one after the other."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turns: dict[tuple[int, tuple[str, str]], _Calls] = {}

    def run(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Make a call when it is its turn."""
        turn = None if _is_ordered(request) else file_turn(request)
        if turn is None:
            return handler(request)
        with self._passing(turn) as calls:
            waiting = _Waiting(calls, turn)
            while waiting.goes_on():
                if waiting.wants_to_look():
                    waiting.note(_stored_outcomes(_saved(request)))
                with self._changed:
                    self._changed.wait(POLL_S)
            if refusal := waiting.refuse(request):
                return refusal
            with _ordered(turn, calls):
                result = handler(request)
            self._settle(turn, calls, _Outcome("result", _files_in(result)))
            return result

    def arun(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> Awaitable[ToolResult]:
        """The same from async code; blocks no thread. A call whose order does not matter costs no coroutine."""
        turn = None if _is_ordered(request) else file_turn(request)
        return handler(request) if turn is None else self._arun(turn, request, handler)

    async def _arun(
        self, turn: FileTurn, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        with self._passing(turn) as calls:
            waiting = _Waiting(calls, turn)
            while waiting.goes_on():  # earlier calls may run in other threads or loops
                if waiting.wants_to_look():
                    waiting.note(_stored_outcomes(await _asaved(request)))
                await asyncio.sleep(POLL_S)
            if refusal := waiting.refuse(request):
                return refusal
            with _ordered(turn, calls):
                result = await handler(request)
            self._settle(turn, calls, _Outcome("result", _files_in(result)))
            return result

    @contextmanager
    def _passing(self, turn: FileTurn) -> Iterator[_Calls]:
        """Note that a call has begun, and how it ends."""
        with self._changed:
            calls = self._turns.setdefault((id(turn.run), turn.name), _Calls(turn.run))
            calls.running.add(turn.call_id)
            calls.outcomes.pop(turn.call_id, None)
            if len(self._turns) > MAX_TURNS:
                self._turns.pop(next(iter(self._turns)))
        try:
            yield calls
        except BaseException as error:
            self._settle(turn, calls, _Outcome("failed" if find_passing(error) is None else "paused"))
            raise
        if turn.call_id in calls.running:  # refused
            self._settle(turn, calls, _Outcome("result"))

    def _settle(self, turn: FileTurn, calls: _Calls, outcome: _Outcome) -> None:
        with self._changed:
            calls.outcomes[turn.call_id] = outcome
            calls.running.discard(turn.call_id)
            self._changed.notify_all()


class _Waiting:
    """A call that waits for those before it."""

    def __init__(self, calls: _Calls, turn: FileTurn) -> None:
        self._calls = calls
        self._turn = turn
        self._look_at = time.monotonic() + GRACE_S
        self._give_up_at = time.monotonic() + PATIENCE_S

    def standing(self) -> Standing:
        """How the earlier calls on the same paths stand, the worst first."""
        unsettled = [each for each in self._turn.predecessors if each not in self._calls.outcomes]
        if unsettled:
            return "busy" if self._calls.running.intersection(unsettled) else "missing"
        kinds = {self._calls.outcomes[each].kind for each in self._turn.predecessors}
        return "paused" if "paused" in kinds else "failed" if "failed" in kinds else "free"

    def goes_on(self) -> bool:
        standing = self.standing()
        return standing == "busy" or (standing == "missing" and time.monotonic() < self._give_up_at)

    def wants_to_look(self) -> bool:
        """Whether it is time to look for results of a run before this one."""
        if self.standing() != "missing" or time.monotonic() < self._look_at:
            return False
        self._look_at = time.monotonic() + PATIENCE_S / 4
        return True

    def note(self, stored: Mapping[str, _Outcome]) -> None:
        for call_id in self._turn.earlier:
            if call_id in stored and call_id not in self._calls.running:
                self._calls.outcomes.setdefault(call_id, stored[call_id])

    def refuse(self, request: ToolCallRequest) -> ToolMessage | None:
        """The result of a call that cannot be made; None if it can. Raises a pause if an earlier call has paused."""
        standing = self.standing()
        if standing == "free":
            return None
        if standing == "paused":
            raise GraphInterrupt(())  # asks nothing: LangGraph begins this call again together with the earlier one
        name = request.tool_call["name"]
        return ToolMessage(
            f"Error: {name} changed nothing, because an earlier call of this turn concerns the same path and was not carried out. "
            "Look at the files, and call it again if it is still wanted.",
            name=name,
            tool_call_id=self._turn.call_id,
            status="error",
        )


@contextmanager
def _ordered(turn: FileTurn, calls: _Calls) -> Iterator[None]:
    """Run the body as the call that follows what the earlier calls did."""
    outcomes = [calls.outcomes.get(each) for each in turn.earlier]
    token = _ORDERED.set(turn.call_id)
    try:
        with after([outcome.files for outcome in outcomes if outcome and outcome.files]):
            yield
    finally:
        _ORDERED.reset(token)


def _is_ordered(request: ToolCallRequest) -> bool:
    """Whether a `ChangeOrder` further out has this call already."""
    return _ORDERED.get() is not None and _ORDERED.get() == request.tool_call["id"]


def _files_in(result: object) -> FilesUpdate | None:
    update = result.update if isinstance(result, Command) else None
    files = update.get("files") if isinstance(update, Mapping) else None
    return files if isinstance(files, Mapping) else None


def _saved(request: ToolCallRequest) -> Any:
    saver, where = _place_of_checkpoint(request)
    return saver.get_tuple(where) if saver else None


async def _asaved(request: ToolCallRequest) -> Any:
    saver, where = _place_of_checkpoint(request)
    return await saver.aget_tuple(where) if saver else None


def _place_of_checkpoint(request: ToolCallRequest) -> tuple[Any, Any]:
    """The checkpointer, and the checkpoint from which this turn's calls began; None if nothing is stored."""
    info = request.runtime.execution_info
    saver = (request.runtime.config.get("configurable") or {}).get(_CHECKPOINTER)
    if info is None or info.thread_id is None or not hasattr(saver, "get_tuple"):
        return None, None
    place = {"thread_id": info.thread_id, "checkpoint_ns": _namespace(request), "checkpoint_id": info.checkpoint_id}
    return saver, {"configurable": place}


def _stored_outcomes(saved: Any) -> dict[str, _Outcome]:
    """What the calls of a turn returned that finished before the run was resumed, by their ids."""
    messages: dict[str, list[Any]] = {}
    files: dict[str, FilesUpdate] = {}
    for task, channel, value in (saved.pending_writes or ()) if saved else ():
        if channel == "messages":
            messages.setdefault(task, []).extend(value if isinstance(value, list) else [value])
        elif channel == "files" and isinstance(value, Mapping):
            files[task] = value
    return {
        message.tool_call_id: _Outcome("result", files.get(task))
        for task, found in messages.items()
        for message in found
        if isinstance(message, ToolMessage)
    }
