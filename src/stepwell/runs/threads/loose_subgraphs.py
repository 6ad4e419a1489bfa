"""The state of a subgraph that LangGraph itself cannot find because a tool called it; usually it is a subagent.

LangGraph finds subgraphs that are nodes, or that are referred to in a node's function. A subgraph inside a tool still has checkpoints
under the tool's namespace, so we read those as they are stored: values, interrupts and errors, but no `next` and no task names, which
only the graph knows.

Incremental channels must be rebuilt from their writes, and only the graph knows how. As in retention (`stepwell.state.compact`),
the channels `messages`, `files` and `summary` are assumed to be those of a deep agent. Other incremental channels are listed in the
metadata under `incomplete_values`, rather than silently left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.protocol import PregelProtocol
from langgraph.types import Interrupt, PregelTask, StateSnapshot

from stepwell.state import channels

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
    values, incomplete = await _values(saver, saved)
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


async def _values(saver: BaseCheckpointSaver[Any], saved: CheckpointTuple) -> tuple[dict[str, Any], list[str]]:
    """The values, and the names of those that cannot be rebuilt."""
    stored = saved.checkpoint["channel_values"]
    values = {name: _whole(value) for name, value in stored.items() if not name.startswith(("__", "branch:", "join:"))}
    missing = channels.left_to_ancestors(saved.checkpoint, saved.metadata)
    known = missing & _deep_agent_channels().keys()
    written = await saver.aget_delta_channel_history(config=saved.config, channels=sorted(known))
    for name, history in written.items():
        seed = [history["seed"]] if "seed" in history else []
        values[name] = channels.rebuild(_deep_agent_channels()[name], seed, [write[2] for write in history["writes"]])
    return values, sorted(missing - known)


@cache
def _deep_agent_channels() -> Mapping[str, BaseChannel[Any, Any, Any]]:
    from stepwell.state.schema import DeepAgentState  # only when needed: it imports LangChain's agents

    return {name: channel for name, channel in StateGraph(DeepAgentState).channels.items() if channels.is_incremental(channel)}


def _whole(value: Any) -> Any:
    return value.value if isinstance(value, type(channels.snapshot(None))) else value


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
