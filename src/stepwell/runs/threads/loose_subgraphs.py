"""The state of a subgraph that LangGraph itself cannot find because a tool called it; usually it is a subagent.

LangGraph finds subgraphs that are nodes, or that are referred to in a node's function. A subgraph inside a tool still has checkpoints
under the tool's namespace, so we read those as they are stored: values, interrupts and errors, but no `next` and no task names, which
only the graph knows.

Incremental channels that only the graph can rebuild (`stepwell.state.stored_values`) are listed in the metadata under
`incomplete_values`, rather than silently left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.pregel import Pregel
from langgraph.pregel.protocol import PregelProtocol
from langgraph.types import Interrupt, PregelTask, StateSnapshot

from stepwell.backends.steps import arun_steps
from stepwell.state.stored_values import areading_from, stored_values

_ERROR = "__error__"
_INTERRUPT = "__interrupt__"


def subgraph_at(graph: Pregel[Any, Any, Any, Any], namespace: str) -> PregelProtocol[Any, Any, Any, Any] | None:
    """The graph that LangGraph finds under a namespace; at the root, the graph itself."""
    if not namespace:
        return graph
    # A namespace is `node:task|node:task|2`: the ids and counters belong to one run, the names to the graph.
    path = "|".join(part.split(":")[0] for part in namespace.split("|") if not part.isdigit())
    return next((found for _, found in graph.get_subgraphs(namespace=path, recurse=True)), None)


def is_known(graph: Pregel[Any, Any, Any, Any], namespace: str) -> bool:
    """Whether LangGraph can read this namespace by itself."""
    return subgraph_at(graph, namespace) is not None


async def loose_snapshot(saver: BaseCheckpointSaver[Any], saved: CheckpointTuple) -> StateSnapshot:
    """What a checkpoint shows without the graph that wrote it."""
    values, incomplete = await arun_steps(stored_values(saved), areading_from(saver))
    tasks = _tasks(saved.pending_writes or [])
    metadata: Any = {**saved.metadata, **({"incomplete_values": incomplete} if incomplete else {})}
    return StateSnapshot(
        values=values,
        next=(),
        config=_with_map(saved.config, saved),
        metadata=metadata,
        created_at=saved.checkpoint["ts"],
        parent_config=saved.parent_config and _with_map(saved.parent_config, saved),
        tasks=tasks,
        interrupts=tuple(interrupt for task in tasks for interrupt in task.interrupts),
    )


def _with_map(config: RunnableConfig, saved: CheckpointTuple) -> RunnableConfig:
    """The config with the ids of the checkpoints above this one, which a client needs to return to this one."""
    named = config["configurable"]
    above = saved.metadata.get("parents") or {}
    if not above:
        return config
    return {"configurable": {**named, "checkpoint_map": {**above, named["checkpoint_ns"]: named["checkpoint_id"]}}}


def _tasks(writes: Sequence[tuple[str, str, Any]]) -> tuple[PregelTask, ...]:
    """The tasks that asked a question or failed. Their names are not stored, but a resume only needs their ids."""
    asked: dict[str, tuple[Interrupt[Any], ...]] = {}
    failed: dict[str, Any] = {}
    for task_id, channel, value in writes:
        if channel == _INTERRUPT:
            asked[task_id] = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        elif channel == _ERROR:
            failed[task_id] = value
    return tuple(PregelTask(task, "", (), failed.get(task), asked.get(task, ())) for task in {**asked, **failed})
