"""A thread's state as clients receive it: from LangGraph's `StateSnapshot` to the `ThreadState` of its SDK.

These functions are pure: a `StateSnapshot` goes in, JSON-able values come out. They read no checkpoint and know no database.

Rule to keep: what leaves here goes to a client. A config may contain savers, callbacks and leases, and metadata may contain anything a run
was given: `run_config` decides what may be seen of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt, PregelTask, StateSnapshot

from stepwell.database.types import ThreadStatus
from stepwell.runs.run_config import checkpoint_place, public_metadata
from stepwell.state.wire import plain

ShowValues = Callable[[Any], Any]
"""How the values of a state become JSON: as Python values, as already encoded text, or not at all."""


def empty_state() -> dict[str, Any]:
    """The state of a thread without any writes."""
    return {
        "values": {},
        "next": [],
        "tasks": [],
        "metadata": None,
        "created_at": None,
        "checkpoint": None,
        "parent_checkpoint": None,
        "interrupts": [],
        "checkpoint_id": None,
        "parent_checkpoint_id": None,
    }


def thread_state(snapshot: StateSnapshot, show_values: ShowValues = plain) -> dict[str, Any]:
    """A snapshot in the SDK's format; states of subgraphs are nested where LangGraph has looked them up."""
    if snapshot.created_at is None and not snapshot.config.get("configurable", {}).get("checkpoint_ns"):
        return empty_state()
    checkpoint = checkpoint_of(snapshot.config)
    parent = checkpoint_of(snapshot.parent_config) if snapshot.parent_config else None
    return {
        "values": show_values(snapshot.values),
        "next": list(snapshot.next),
        "tasks": [_task(task) for task in snapshot.tasks],
        "metadata": None if snapshot.metadata is None else plain(public_metadata(snapshot.metadata)),
        "created_at": snapshot.created_at,
        "checkpoint": checkpoint,
        "parent_checkpoint": parent,
        "interrupts": [_interrupt(interrupt) for interrupt in snapshot.interrupts],
        # Older clients expect the two ids here.
        "checkpoint_id": checkpoint.get("checkpoint_id"),
        "parent_checkpoint_id": parent and parent.get("checkpoint_id"),
    }


def checkpoint_of(config: RunnableConfig) -> dict[str, Any]:
    """The checkpoint that a config names; the root graph's if it names no namespace."""
    return {"checkpoint_ns": "", **checkpoint_place(config)}


def status_of(snapshot: StateSnapshot) -> ThreadStatus:
    """The thread's status when nothing drives it: a thread with steps left is `interrupted`, as on LangGraph's server."""
    if any(task.error for task in snapshot.tasks):
        return "error"
    return "interrupted" if snapshot.next or snapshot.interrupts else "idle"


def _task(task: PregelTask) -> dict[str, Any]:
    state = task.state
    return {
        "id": task.id,
        "name": task.name,
        "path": plain(_lists(task.path)),
        "error": _error(task.error),
        "interrupts": [_interrupt(interrupt) for interrupt in task.interrupts],
        # Without `subgraphs`, LangGraph only says where the subgraph's checkpoints are.
        "checkpoint": None if state is None or isinstance(state, StateSnapshot) else checkpoint_of(state),
        "state": thread_state(state) if isinstance(state, StateSnapshot) else None,
        "result": plain(task.result),
    }


def _lists(path: Iterable[Any]) -> list[Any]:
    return [_lists(part) if isinstance(part, tuple) else part for part in path]


def _error(error: Any) -> str | None:
    # A saver that may not restore exceptions returns the stored text instead.
    if error is None or isinstance(error, str):
        return error
    return repr(error)


def _interrupt(interrupt: Interrupt[Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": interrupt.id, "value": plain(interrupt.value)}
    if isinstance(interrupt.response_schema, dict):
        shown["response_schema"] = plain(interrupt.response_schema)
    return shown
