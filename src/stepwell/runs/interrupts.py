"""Why a graph has stopped without having ended: questions that wait, and breakpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langgraph.pregel import Pregel
from langgraph.types import Interrupt, StateSnapshot

from stepwell.runs import wire
from stepwell.runs.records import PendingInterrupt, RunRequest


def has_breakpoints(graph: Pregel[Any, Any, Any, Any], request: RunRequest) -> bool:
    """Whether the run may have stopped at a node without a question."""
    return bool(
        request.interrupt_before or request.interrupt_after or graph.interrupt_before_nodes or graph.interrupt_after_nodes
    )


def pending_interrupts(snapshot: StateSnapshot, seen: Mapping[str, PendingInterrupt]) -> tuple[PendingInterrupt, ...]:
    """The questions of a paused thread. Where the stream and the state both know one, whichever saw the innermost task is
    believed: inside a tool that is the stream, inside a subgraph that was not streamed it is the state."""
    found = {question.interrupt_id: question for question in _walk(snapshot, "")}
    told = {
        name: question for name, question in seen.items() if name not in found or _depth(question) + 1 >= _depth(found[name])
    }
    return tuple({**found, **told}.values())


def _depth(question: PendingInterrupt) -> int:
    """Parts of the namespace. The state's ends with the task that asks, the stream's with the graph it is in."""
    return question.namespace.count("|") + 1 if question.namespace else 0


def _walk(snapshot: StateSnapshot, namespace: str) -> Iterator[PendingInterrupt]:
    for task in snapshot.tasks:
        inner = f"{namespace}|{task.name}:{task.id}".lstrip("|")
        for interrupt in task.interrupts:
            yield _question(interrupt, inner, task.id)
        if isinstance(task.state, StateSnapshot):
            # After the parent's: the task that really asks is the innermost one.
            yield from _walk(task.state, inner)


def _question(interrupt: Interrupt[Any], namespace: str, task_id: str) -> PendingInterrupt:
    schema = interrupt.response_schema if isinstance(interrupt.response_schema, dict) else None
    return PendingInterrupt(interrupt.id, wire.plain(interrupt.value), namespace, task_id, schema)
