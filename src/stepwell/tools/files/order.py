"""Changes of one file within one model turn happen in the order of their calls. `file_turn` finds a call's place in its turn, and
`ChangeGate` lets calls on one path through one after the other. A folder that is deleted or moved concerns every path below it.

LangGraph runs the calls of a turn in parallel. For files in state it is enough to know the earlier changes, which `backends.turn` keeps.
On a disk or in a store the earlier call must really be finished, so a call waits for its predecessors on the same paths. If a
predecessor never arrives (a person rejected it, another middleware answered it), the wait is short. Shell commands have their own order:
`tools.shell.call_order`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage

from stepwell.backends import paths
from stepwell.backends.protocol import ErrorText
from stepwell.backends.turn import PlannedChange

EDITED_BY_A_PERSON = "hitl_edited_tool_calls"
"""Where LangChain's approvals store a person's edit of a call; the message still shows the model's version."""
GRACE_S = 0.25
"""How long a call waits for predecessors that have not arrived."""
POLL_S = 0.002
MAX_TURNS = 256
"""How many turns a gate remembers. Beyond that, it drops the oldest turns, whose last call never came."""


@dataclass(frozen=True, slots=True)
class FileTurn:
    """A file-changing call and its place among the calls of its model turn."""

    key: tuple[int, str]
    """Identifies the turn by the model's message, because all calls of the turn share that object."""
    call_id: str
    earlier: tuple[PlannedChange, ...] = ()
    """The changes asked for by earlier calls, on any path."""
    predecessors: tuple[str, ...] = ()
    """The earlier calls on this call's own paths, or on paths above or below them."""
    has_followers: bool = False
    """Whether later calls are on such paths."""

    @property
    def is_shared(self) -> bool:
        """Whether the turn changes this call's file more than once."""
        return bool(self.predecessors) or self.has_followers


def file_turn(runtime: ToolRuntime) -> FileTurn:
    """Find a file-changing call's place in its turn. Calls that already have a result (rejected ones) do not count."""
    own_id = runtime.tool_call_id or ""
    answered: set[str] = set()
    for message in reversed(runtime.state.get("messages", [])):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        if isinstance(message, AIMessage):
            planned = _plan_changes(message, answered, runtime.state.get(EDITED_BY_A_PERSON) or {})
            return _place_call(planned, own_id, (id(message), message.id or ""))
    return FileTurn((0, ""), own_id)


def _plan_changes(
    message: AIMessage, answered: set[str], edited: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, PlannedChange | None]]:
    """Every open call of the turn, with the change it asks for, if any."""
    planned: list[tuple[str, PlannedChange | None]] = []
    for call in message.tool_calls:
        call_id = call["id"] or ""
        if call_id not in answered:
            runs: Mapping[str, Any] = edited.get(call_id, call)
            planned.append((call_id, _change_of(runs["name"], runs["args"])))
    return planned


def _place_call(planned: Sequence[tuple[str, PlannedChange | None]], own_id: str, key: tuple[int, str]) -> FileTurn:
    ids = [call_id for call_id, _ in planned]
    place = ids.index(own_id) if own_id in ids else 0
    own = planned[place][1] if own_id in ids else None
    earlier = [(call_id, change) for call_id, change in planned[:place] if change]
    return FileTurn(
        key,
        own_id,
        earlier=tuple(change for _, change in earlier),
        predecessors=tuple(call_id for call_id, change in earlier if own and change.concerns(own)),
        has_followers=any(
            own is not None and change is not None and change.concerns(own) for _, change in planned[place + 1 :]
        ),
    )


def _change_of(name: str, args: Mapping[str, Any]) -> PlannedChange | None:
    if name == "move":
        source, destination = paths.resolve_entry(args.get("source")), paths.resolve_entry(args.get("destination"))
        if isinstance(source, ErrorText) or isinstance(destination, ErrorText):
            return None
        return PlannedChange(source, overwrite=bool(args.get("overwrite")), destination=destination)
    path = paths.resolve_file(args.get("file_path"))
    if isinstance(path, ErrorText):
        return None
    if name == "delete":
        return PlannedChange(path)
    if name == "write_file" and isinstance(args.get("content"), str):
        return PlannedChange(path, args["content"], overwrite=bool(args.get("overwrite")))
    if name == "edit_file" and isinstance(args.get("old_string"), str) and isinstance(args.get("new_string"), str):
        return PlannedChange(path, args["new_string"], args["old_string"], bool(args.get("replace_all")))
    return None


@dataclass(slots=True)
class _Calls:
    """How far the calls of one turn have got."""

    arrived: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)


class ChangeGate:
    """Lets changes of one file through one after the other. One gate serves a set of file tools."""

    def __init__(self) -> None:
        self._moved = threading.Condition()
        self._turns: dict[tuple[int, str], _Calls] = {}

    @contextmanager
    def passing(self, turn: FileTurn) -> Iterator[None]:
        """Wait for the predecessors, then let the body change the file."""
        if not turn.is_shared:
            yield
            return
        deadline = self._arrive(turn)
        with self._moved:
            while not self._is_free(turn, deadline):
                self._moved.wait(POLL_S)
        try:
            yield
        finally:
            self._leave(turn)

    @asynccontextmanager
    async def apassing(self, turn: FileTurn) -> AsyncIterator[None]:
        """`passing` for async code; blocks no thread."""
        if not turn.is_shared:
            yield
            return
        deadline = self._arrive(turn)
        while not self._is_free(turn, deadline):  # noqa: ASYNC110  # earlier calls may run in other threads or loops
            await asyncio.sleep(POLL_S)
        try:
            yield
        finally:
            self._leave(turn)

    def _arrive(self, turn: FileTurn) -> float:
        with self._moved:
            if len(self._turns) >= MAX_TURNS:
                # A turn whose last call never came; calls that still wait in it continue after the grace period.
                self._turns.pop(next(iter(self._turns)))
            self._turns.setdefault(turn.key, _Calls()).arrived.add(turn.call_id)
        return time.monotonic() + GRACE_S

    def _is_free(self, turn: FileTurn, deadline: float) -> bool:
        calls = self._turns.get(turn.key, _Calls())
        missing = [call for call in turn.predecessors if call not in calls.done]
        if not missing:
            return True
        return time.monotonic() > deadline and not calls.arrived.intersection(missing)

    def _leave(self, turn: FileTurn) -> None:
        with self._moved:
            calls = self._turns.setdefault(turn.key, _Calls())
            calls.done.add(turn.call_id)
            if not turn.has_followers and calls.arrived <= calls.done:
                self._turns.pop(turn.key, None)
            self._moved.notify_all()
