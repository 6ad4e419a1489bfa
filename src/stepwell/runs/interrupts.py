"""Why a graph has stopped before its end: interrupts that wait for an answer, and breakpoints.

Pure: LangGraph's `StateSnapshot` goes in, `PendingInterrupt`s come out. An interrupt inside a subgraph appears in the snapshot twice: at
the subgraph's own task and at the root's task that runs the subgraph. The two functions differ in which one they use:

| | task and namespace |
|---|---|
| `pending_interrupts`, after a run | the innermost known task, by which an answer finds it |
| `root_interrupts`, after an update of the state | the root's task and no namespace, as clients group them |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langgraph.pregel import Pregel
from langgraph.types import Interrupt, StateSnapshot

from stepwell.database.types import PendingInterrupt, RunRequest
from stepwell.state import wire


def has_breakpoints(graph: Pregel[Any, Any, Any, Any], request: RunRequest) -> bool:
    """Whether the run may have stopped at a node without an interrupt."""
    return bool(
        request.interrupt_before or request.interrupt_after or graph.interrupt_before_nodes or graph.interrupt_after_nodes
    )


def pending_interrupts(snapshot: StateSnapshot, seen: Mapping[str, PendingInterrupt]) -> tuple[PendingInterrupt, ...]:
    """What a paused thread waits for. `seen` comes from the stream. If both the stream and the state have an interrupt, the one that names
    the innermost task is used. For an interrupt inside a tool that is the stream's, for one inside a subgraph that was not streamed it is
    the state's."""
    found = {pending.interrupt_id: pending for pending in _walk(snapshot, "")}
    told = {name: pending for name, pending in seen.items() if name not in found or _depth(pending) + 1 >= _depth(found[name])}
    return tuple({**found, **told}.values())


def root_interrupts(snapshot: StateSnapshot) -> tuple[PendingInterrupt, ...]:
    """What the thread waits for, each with the root's task that it interrupted."""
    return tuple(_pending(interrupt, "", task.id) for task in snapshot.tasks for interrupt in task.interrupts)


def _depth(pending: PendingInterrupt) -> int:
    """The number of parts in the namespace. In the state, a namespace ends with the interrupted task; in the stream, with the graph that
    contains the task."""
    return pending.namespace.count("|") + 1 if pending.namespace else 0


def _walk(snapshot: StateSnapshot, namespace: str) -> Iterator[PendingInterrupt]:
    for task in snapshot.tasks:
        inner = f"{namespace}|{task.name}:{task.id}".lstrip("|")
        for interrupt in task.interrupts:
            yield _pending(interrupt, inner, task.id)
        if isinstance(task.state, StateSnapshot):
            # Added after the parent's interrupts, so that the innermost task, where the graph really stopped, replaces the parent's.
            yield from _walk(task.state, inner)


def _pending(interrupt: Interrupt[Any], namespace: str, task_id: str) -> PendingInterrupt:
    schema = wire.plain(interrupt.response_schema) if isinstance(interrupt.response_schema, dict) else None
    return PendingInterrupt(interrupt.id, wire.plain(interrupt.value), namespace, task_id, schema)
