"""Why a graph has stopped without having ended: questions that wait, and breakpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langgraph.pregel import Pregel
from langgraph.types import Interrupt, StateSnapshot

from stepwell.runs import wire
from stepwell.runs.records import PendingInterrupt, RunRequest


def breakpoints_of(graph: Pregel[Any, Any, Any, Any], request: RunRequest) -> bool:
    """Whether the run may have stopped at a node without a question."""
    return bool(
        request.interrupt_before or request.interrupt_after or graph.interrupt_before_nodes or graph.interrupt_after_nodes
    )


def pending_questions(snapshot: StateSnapshot, seen: Mapping[str, PendingInterrupt]) -> tuple[PendingInterrupt, ...]:
    """The questions of a paused thread. What the stream said of one is kept: inside a tool only it knows where the question stands."""
    found = {question.interrupt_id: question for question in _walk(snapshot, "")}
    return tuple({**found, **seen}.values())


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
