"""Retention: shrinks a thread's stored history to its last checkpoints, without losing anything that can still be read.

```
before   c1 ─ c2 ─ c3 ─ c4 ─ c5 ─ c6        each stores what changed; subagents' checkpoints belong to the task that made them
after                    c4*─ c5 ─ c6        keep_last=3; c4* now stores the whole value of every incremental channel
```

The kept checkpoints load as before: the same values, metadata, parent ids, pending writes and interrupts. We delete older checkpoints and
their writes, and the namespaces of subagents that have finished. A branch that loses its beginning is handled in the same way: every
kept checkpoint that loses its parent gets whole values.

A subagent, or any graph that runs inside a task of another, stores its checkpoints under a namespace: `tools:<task id>`, and deeper ones
with further parts after `|`. Their metadata names the thread's checkpoint that the task belongs to. We keep such a namespace,
with everything below it, as long as the task may continue, that is, if the task's checkpoint is kept and the task has no result yet. A
namespace without a task id in its first part belongs to a graph with its own memory (`checkpointer=True`), which every later call
continues, so we never touch it.

The checkpoints themselves say which channels are incremental; only the graph knows how to combine their writes. Without `graph` we
assume that `messages`, `files` and `summary` are a deep agent's, and refuse any other incremental channel.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from stepwell.backends.steps import Steps
from stepwell.errors import ConfigurationError
from stepwell.state import channels
from stepwell.state.history import (
    Delete,
    KeepsHistory,
    Key,
    ListKeys,
    ListWriters,
    Load,
    Loaded,
    Measure,
    ReadWrites,
    Request,
    Rewrite,
    Row,
    Stored,
    ThreadHistory,
)
from stepwell.state.memory_history import MemoryHistory

ROOT = ""
"""The namespace of the thread's own checkpoints."""
SUPPORTED = "InMemorySaver, SqliteSaver, AsyncSqliteSaver, and savers with a method thread_history(thread_id)"

_PART_END = "|"
_ID_START = ":"
NOT_A_RESULT = frozenset({"__interrupt__", "__error__", "__scheduled__", "__resume__", "__error_source_node__"})
"""LangGraph's marks on a task that paused, failed, was scheduled or got an answer; any other write is the task's result."""

Channels: TypeAlias = Mapping[str, BaseChannel[Any, Any, Any]]
Graph: TypeAlias = Pregel[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class CompactReport:
    """How much a thread stored before and after compaction."""

    thread_id: str
    before: Stored
    after: Stored


def compact(
    saver: BaseCheckpointSaver[Any], thread_id: str, *, keep_last: int = 1, graph: Graph | None = None
) -> CompactReport:
    """Shrink a thread's history to its last checkpoints.

    Args:
        saver: Where the thread is stored.
        thread_id: Which thread. If it does not exist, nothing happens.
        keep_last: How many checkpoints to keep; each step of an agent makes one.
        graph: The graph that wrote the thread. Needed if its state has incremental channels other than a deep agent's own.

    Raises:
        ConfigurationError: If the saver cannot be compacted, or an incremental channel is unknown. Nothing has changed.
    """
    steps = _compaction(str(thread_id), _check_keep(keep_last), _channels_of(graph))
    return history_of(saver, str(thread_id), graph).run(steps)


async def acompact(
    saver: BaseCheckpointSaver[Any], thread_id: str, *, keep_last: int = 1, graph: Graph | None = None
) -> CompactReport:
    """`compact` for async code."""
    steps = _compaction(str(thread_id), _check_keep(keep_last), _channels_of(graph))
    return await history_of(saver, str(thread_id), graph).arun(steps)


def _check_keep(keep_last: int) -> int:
    if keep_last < 1:
        raise ConfigurationError(f"keep_last={keep_last} would keep nothing. Keep 1 or more, or use the saver's delete_thread.")
    return keep_last


def _channels_of(graph: Graph | None) -> Channels:
    if graph is None:
        return _deep_agent_channels()
    return {name: channel for name, channel in graph.channels.items() if isinstance(channel, BaseChannel)}


@cache
def _deep_agent_channels() -> Channels:
    from stepwell.state.schema import DeepAgentState  # only when needed: it loads LangChain's agents

    known = StateGraph(DeepAgentState).channels
    return {name: channel for name, channel in known.items() if channels.is_incremental(channel)}


def _compaction(thread_id: str, keep_last: int, known: Channels) -> Steps[Request, CompactReport]:
    before: Stored = yield Measure()
    rows: list[Row] = yield ListKeys()
    kept = _last(rows, keep_last)
    if not kept:
        return CompactReport(thread_id, before, before)
    parents = {row.key.checkpoint_id: row.parent_id for row in rows if row.key.namespace == ROOT and row.has_checkpoint}
    for checkpoint_id in kept:
        if parents[checkpoint_id] not in kept:
            yield from _make_whole(checkpoint_id, parents, known)
    namespaces = yield from surviving_namespaces(rows, kept)
    goes = [key for key, _, _ in rows if not (key.namespace in namespaces or _stays(key, kept))]
    yield Delete(goes)
    after: Stored = yield Measure()
    return CompactReport(thread_id, before, after)


def _last(rows: Iterable[Row], keep_last: int) -> list[str]:
    """The ids of the thread's newest checkpoints. Ids sort by time; savers find the latest in the same way."""
    ids = sorted(row.key.checkpoint_id for row in rows if row.key.namespace == ROOT and row.has_checkpoint)
    return ids[-keep_last:]


def _stays(key: Key, kept: Sequence[str]) -> bool:
    # A key newer than the newest checkpoint has only writes so far: a run is about to store the rest.
    return key.namespace == ROOT and (key.checkpoint_id in kept or key.checkpoint_id > kept[-1])


def _make_whole(checkpoint_id: str, parents: Mapping[str, str | None], known: Channels) -> Steps[Request, None]:
    """Store in a checkpoint the values that so far came from the ancestors that it loses."""
    loaded: Loaded = yield Load(Key(ROOT, checkpoint_id))
    missing = channels.left_to_ancestors(loaded.checkpoint, loaded.metadata)
    if unknown := sorted(missing - known.keys()):
        raise ConfigurationError(
            f"The thread stores {', '.join(unknown)} incrementally, and only its graph knows how to put the parts together. "
            "Pass it: compact(..., graph=agent)."
        )
    if missing:
        values = yield from _values_from_ancestors(missing, parents[checkpoint_id], parents, known)
        yield Rewrite(Key(ROOT, checkpoint_id), values)


def _values_from_ancestors(
    missing: set[str], parent_id: str | None, parents: Mapping[str, str | None], known: Channels
) -> Steps[Request, dict[str, Any]]:
    """Go back until each channel's last stored value is found, and apply the later writes to it."""
    seeds: dict[str, list[Any]] = {name: [] for name in missing}
    newest_first: dict[str, list[list[Any]]] = {name: [] for name in missing}
    open_channels = set(missing)
    walked: set[str] = set()
    while open_channels and parent_id is not None and parent_id in parents and parent_id not in walked:
        walked.add(parent_id)
        key = Key(ROOT, parent_id)
        ancestor: Loaded = yield Load(key)
        for name in sorted(open_channels):
            newest_first[name].append((yield ReadWrites(key, name)))
            if name in ancestor.checkpoint["channel_values"]:
                seeds[name].append(ancestor.checkpoint["channel_values"][name])
                open_channels.discard(name)
        parent_id = parents[parent_id]
    return {
        name: channels.snapshot(
            channels.rebuild(known[name], seeds[name], [write for step in reversed(newest_first[name]) for write in step])
        )
        for name in missing
    }


def surviving_namespaces(rows: Iterable[Row], kept: Collection[str]) -> Steps[Request, set[str]]:
    """The nested namespaces to keep if these checkpoints of the thread are kept."""
    samples: dict[str, Key] = {}
    namespaces: dict[str, set[str]] = {}
    for row in rows:
        if row.key.namespace:
            task = row.key.namespace.split(_PART_END, 1)[0]
            namespaces.setdefault(task, set()).add(row.key.namespace)
            if row.has_checkpoint:
                samples[task] = row.key
    surviving: set[str] = set()
    for task, names in namespaces.items():
        if _ID_START not in task or (task in samples and (yield from _is_pending(task, samples[task], kept))):
            surviving |= names
    return surviving


def _is_pending(task: str, sample: Key, kept: Collection[str]) -> Steps[Request, bool]:
    """Whether a task may still continue. `sample` is one of the checkpoints in its namespace."""
    loaded: Loaded = yield Load(sample)
    owner = (loaded.metadata.get("parents") or {}).get("")
    if owner is None or owner not in kept:
        return False
    task_id = task.rsplit(_ID_START, 1)[1]
    writers: list[tuple[str, str]] = yield ListWriters(Key("", owner))
    return not any(writer == task_id and channel not in NOT_A_RESULT for writer, channel in writers)


def history_of(saver: BaseCheckpointSaver[Any], thread_id: str, graph: Pregel[Any, Any, Any, Any] | None) -> ThreadHistory:
    """A thread's history in this saver: the saver's own (`thread_history`), or one of our adapters."""
    if isinstance(saver, KeepsHistory):
        return saver.thread_history(thread_id)
    # A graph may use a copy of the saver whose serializer knows the types of its state.
    owner = getattr(graph, "checkpointer", None)
    serde = owner.serde if isinstance(owner, BaseCheckpointSaver) else saver.serde
    if isinstance(saver, InMemorySaver):
        return MemoryHistory(saver, thread_id, serde)
    # Such a saver exists only if its module is already imported, so we need not import it.
    if (module := sys.modules.get("langgraph.checkpoint.sqlite")) and isinstance(saver, module.SqliteSaver):
        from stepwell.state.sqlite_history import SyncSqliteHistory

        return SyncSqliteHistory(saver, thread_id, serde)
    if (module := sys.modules.get("langgraph.checkpoint.sqlite.aio")) and isinstance(saver, module.AsyncSqliteSaver):
        from stepwell.state.sqlite_history import AsyncSqliteHistory

        return AsyncSqliteHistory(saver, thread_id, serde)
    raise ConfigurationError(
        f"A {type(saver).__name__} cannot be compacted. Supported are: {SUPPORTED}. "
        "For others, give the saver a thread_history as stepwell.state.history describes."
    )
