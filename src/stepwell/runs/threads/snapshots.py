"""LangGraph's picture of a thread's state, in the words of the LangGraph SDK (`ThreadState`).

Pure: a `StateSnapshot` goes in, JSON-able values come out. It reads no checkpoint and knows no database.

Rule to keep: what leaves here goes to a client. A config may carry savers, callbacks and leases, so the four names of a
checkpoint are taken out of it one by one; metadata is passed on without LangGraph's own bookkeeping and without anything whose
name says that it is a secret (LangGraph copies a run's `configurable` into every checkpoint's metadata).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt, PregelTask, StateSnapshot

from stepwell.runs.records import PendingInterrupt, ThreadStatus
from stepwell.runs.run_config import PREFIX
from stepwell.runs.wire import plain
from stepwell.secrets.names import is_secret_name

ShowValues = Callable[[Any], Any]
"""How the values of a state become JSON: as Python values, as text that is encoded already, or not at all."""

_CHECKPOINT_NAMES = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")
_BOOKKEEPING = frozenset({"writes", "counters_since_delta_snapshot", "lease", "fence"})


def empty_state() -> dict[str, Any]:
    """The state of a thread that nothing was ever written to."""
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
    """A snapshot as the SDK reads it; the states of subgraphs are nested where LangGraph has looked them up."""
    if snapshot.created_at is None and not snapshot.config.get("configurable", {}).get("checkpoint_ns"):
        return empty_state()
    checkpoint = checkpoint_of(snapshot.config)
    parent = checkpoint_of(snapshot.parent_config) if snapshot.parent_config else None
    return {
        "values": show_values(snapshot.values),
        "next": list(snapshot.next),
        "tasks": [_task(task) for task in snapshot.tasks],
        "metadata": checkpoint_metadata(snapshot.metadata),
        "created_at": snapshot.created_at,
        "checkpoint": checkpoint,
        "parent_checkpoint": parent,
        "interrupts": [_interrupt(interrupt) for interrupt in snapshot.interrupts],
        # Older clients look for the two ids here.
        "checkpoint_id": checkpoint.get("checkpoint_id"),
        "parent_checkpoint_id": parent and parent.get("checkpoint_id"),
    }


def checkpoint_of(config: RunnableConfig) -> dict[str, Any]:
    """The checkpoint that a config names, and nothing else of the config."""
    named = config.get("configurable", {})
    found = {name: named[name] for name in _CHECKPOINT_NAMES if named.get(name) is not None}
    return {"checkpoint_ns": "", **found}


def checkpoint_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A checkpoint's metadata as far as a client may see it."""
    if metadata is None:
        return None
    shown = {name: value for name, value in metadata.items() if not _is_hidden(name)}
    public: dict[str, Any] = plain(shown)
    return public


def open_interrupts(snapshot: StateSnapshot) -> tuple[PendingInterrupt, ...]:
    """What the thread waits for an answer to, as a record keeps it. `task_id` is the root's task, by which clients group."""
    return tuple(_question(task, interrupt) for task in snapshot.tasks for interrupt in task.interrupts)


def status_of(snapshot: StateSnapshot) -> ThreadStatus:
    """What the thread's status is when nothing drives it: a thread with steps left is `interrupted`, as on LangGraph's server."""
    if any(task.error for task in snapshot.tasks):
        return "error"
    return "interrupted" if snapshot.next or snapshot.interrupts else "idle"


def _is_hidden(name: str) -> bool:
    return name.startswith(("__", PREFIX)) or name in _BOOKKEEPING or is_secret_name(name)


def _task(task: PregelTask) -> dict[str, Any]:
    state = task.state
    return {
        "id": task.id,
        "name": task.name,
        "path": plain(_lists(task.path)),
        "error": _error(task.error),
        "interrupts": [_interrupt(interrupt) for interrupt in task.interrupts],
        # Without `subgraphs` LangGraph only says where the subgraph's checkpoints are.
        "checkpoint": None if state is None or isinstance(state, StateSnapshot) else checkpoint_of(state),
        "state": thread_state(state) if isinstance(state, StateSnapshot) else None,
        "result": plain(task.result),
    }


def _lists(path: Iterable[Any]) -> list[Any]:
    return [_lists(part) if isinstance(part, tuple) else part for part in path]


def _error(error: Any) -> str | None:
    # A saver that may not restore exceptions gives the text it kept instead.
    if error is None or isinstance(error, str):
        return error
    return repr(error)


def _interrupt(interrupt: Interrupt[Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": interrupt.id, "value": plain(interrupt.value)}
    if isinstance(interrupt.response_schema, dict):
        shown["response_schema"] = plain(interrupt.response_schema)
    return shown


def _question(task: PregelTask, interrupt: Interrupt[Any]) -> PendingInterrupt:
    shown = _interrupt(interrupt)
    return PendingInterrupt(shown["id"], shown["value"], task_id=task.id, response_schema=shown.get("response_schema"))
