"""Finds out what a rewind of a thread would do, from outside of a run. Used by `rewind`, and by servers before they start one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from langchain.tools import ToolRuntime
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langgraph._internal._constants import CONFIG_KEY_RUNTIME
from langgraph.runtime import Runtime

from stepwell.backends.steps import Steps
from stepwell.errors import InvalidRequestError, RewindError
from stepwell.middleware.rewind.middleware import (
    RewindMiddleware,
    RewindOrder,
    new_order,
    report_of,
    require_rewind,
    unknown_turn,
)
from stepwell.middleware.rewind.planning import REWIND, find_turn, plan
from stepwell.middleware.rewind.reports import RewindReport, state_changes
from stepwell.middleware.rewind.restoring import Files, look
from stepwell.tools.rewind.journal import Entry
from stepwell.tools.rewind.recorded import JournalCall, RecordedBackend, Request


class GraphCall(NamedTuple):
    """A call of a method of the graph, or of its saver; by its sync name."""

    of_saver: bool
    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """What a rewind would do, and how to do it."""

    report: RewindReport
    order: RewindOrder
    checkpoint_id: str
    """Where the run begins that carries out the order."""
    run_id: str | None = None
    """The run that began the turn, on a server."""


def config_of(config: RunnableConfig) -> RunnableConfig:
    """The config of a thread, at its newest checkpoint."""
    configurable = {
        name: value
        for name, value in (config.get("configurable") or {}).items()
        if name not in ("checkpoint_id", "checkpoint_map")
    }
    return {**config, "configurable": {**configurable, "checkpoint_ns": ""}}


def plan_rewind(config: RunnableConfig, turn_id: str, *, force: bool) -> Steps[GraphCall | Request, RewindPlan]:
    """Look at a thread. Requests are calls of the graph, of the thread's backend and of its journal (`Looking` performs them)."""
    _check_turn_id(turn_id)
    head = yield GraphCall(False, "get_state", (config,))
    if not head.config["configurable"].get("checkpoint_id"):
        raise RewindError("The thread has no turns yet, so there is nothing to take back.")
    entries: list[Entry] = yield JournalCall("entries", ())
    mark = find_turn(entries, turn_id)
    if mark is None:
        raise RewindError(unknown_turn(turn_id))
    checkpoint_id = yield from _checkpoint_before(mark, config)
    then = yield GraphCall(False, "get_state", (_at(config, checkpoint_id),))
    outlook = yield from look(plan(entries, mark))
    report = report_of(turn_id, outlook, entries, mark, force=force)
    _add_state(report, head.values, then.values)
    messages = then.values.get("messages") or []
    order = new_order(
        turn_id,
        head.config["configurable"]["checkpoint_id"],
        messages[-1].id if messages else None,
        force=force,
    )
    return RewindPlan(report, order, checkpoint_id, mark.run_id or None)


def runtime_for(graph: Any, config: RunnableConfig, state: Any, context: Any) -> ToolRuntime[Any, Any]:
    """What a backend factory is given outside of a run."""
    return ToolRuntime(
        state=state, context=context, config=config, stream_writer=lambda _: None, tool_call_id=None, store=graph.store
    )


@dataclass(frozen=True, slots=True)
class Looking:
    """Performs the requests of `plan_rewind` on one graph."""

    graph: Any
    files: Files
    config: RunnableConfig

    @classmethod
    def at(cls, graph: Any, config: RunnableConfig, context: Any = None) -> Looking:
        middleware: RewindMiddleware = require_rewind(graph)
        files = middleware.files_for(runtime_for(graph, config, {}, context))
        if files is None:
            raise RewindError("The thread has no files of its own to take back. Send a config with a thread_id.")
        runtime = Runtime(context=context, store=graph.store)
        return cls(graph, files, {**config, "configurable": {**config["configurable"], CONFIG_KEY_RUNTIME: runtime}})

    def has_files_of(self, other: Looking) -> bool:
        """Whether both agents certainly have the same files."""
        return cast("RecordedBackend", self.files.backend).has_files_of(other.files.backend)

    def perform(self, request: GraphCall | Request) -> Any:
        if isinstance(request, GraphCall):
            return getattr(self._target(request), request.method)(*request.arguments)
        with self._as_if_running():
            return self.files.perform(request)

    async def aperform(self, request: GraphCall | Request) -> Any:
        if isinstance(request, GraphCall):
            return await getattr(self._target(request), f"a{request.method}")(*request.arguments)
        with self._as_if_running():
            return await self.files.aperform(request)

    @contextmanager
    def _as_if_running(self) -> Iterator[None]:
        """Let backends find the graph's store and context, as they do in a run."""
        token = var_child_runnable_config.set(self.config)
        try:
            yield
        finally:
            var_child_runnable_config.reset(token)

    def _target(self, request: GraphCall) -> Any:
        return self.graph.checkpointer if request.of_saver else self.graph


def _check_turn_id(given: object) -> None:
    if not isinstance(given, str) or not given.strip():
        raise InvalidRequestError(
            f"turn_id is {given!r}. Send the id of a message of the user that began a turn, or the rewind_id of an earlier report."
        )


def _checkpoint_before(mark: Entry, config: RunnableConfig) -> Steps[GraphCall, str]:
    """The checkpoint that has the thread as it was before the turn. For the first turn, it is the one that received its input."""
    if mark.detail == REWIND:
        yield from _tuple(mark.checkpoint_id, config)
        return mark.checkpoint_id
    began = yield from _tuple(mark.checkpoint_id, config)
    while began.metadata.get("source") not in ("input", "update"):
        began = yield from _tuple(_parent(began), config)
    parent = _parent(began)
    # `update_state` may have begun the turn, in several updates: go back to before the one that brought the turn's message.
    while parent and began.metadata.get("source") == "update" and (yield from _has_message(parent, mark.name, config)):
        began = yield from _tuple(parent, config)
        parent = _parent(began)
    return parent or began.config["configurable"]["checkpoint_id"]


def _has_message(checkpoint_id: str, message_id: str, config: RunnableConfig) -> Steps[GraphCall, bool]:
    then = yield GraphCall(False, "get_state", (_at(config, checkpoint_id),))
    return any(message.id == message_id for message in then.values.get("messages") or [])


def _tuple(checkpoint_id: str | None, config: RunnableConfig) -> Steps[GraphCall, Any]:
    found = (yield GraphCall(True, "get_tuple", (_at(config, checkpoint_id),))) if checkpoint_id else None
    if found is None:
        raise RewindError(
            "The conversation as it was before this turn is not kept any more, because the thread was pruned. Go back to a later turn."
        )
    return found


def _parent(found: Any) -> str | None:
    parent = (found.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    return str(parent) if parent else None


def _at(config: RunnableConfig, checkpoint_id: str) -> RunnableConfig:
    return {**config, "configurable": {**config["configurable"], "checkpoint_ns": "", "checkpoint_id": checkpoint_id}}


def _add_state(report: RewindReport, now: Mapping[str, Any], then: Mapping[str, Any]) -> None:
    """Add what goes back with the checkpoint: files in the agent's state, and messages."""
    files = state_changes(now.get("files") or {}, then.get("files") or {})
    report["files"] = sorted([*report["files"], *files], key=lambda each: each["path"])
    report["files_changed"] = [each["path"] for each in report["files"]]
    report["insertions"] += sum(each["insertions"] for each in files)
    report["deletions"] += sum(each["deletions"] for each in files)
    kept = {message.id for message in then.get("messages") or []}
    report["messages_removed"] = sum(message.id not in kept for message in now.get("messages") or [])
