"""What is needed to rebuild an incremental channel: its last stored value, and the writes since.

LangGraph's default reads one ancestor after the other. Here two statements are enough, however long the history is: one walks up the
parents until every channel has found its value, the other collects the writes in between. On a long way, the metadata of a checkpoint says
how far back each value is; then only the ids in between are read. The result is a `Lineage`. It can also rebuild the channels of every
ancestor on the way, so listing ten checkpoints reads their common past only once. Given the graph's channels, it puts that past together
once too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from langgraph.checkpoint.base import DeltaChannelHistory
from langgraph.checkpoint.serde.base import SerializerProtocol

from stepwell.database.checkpoints.packing import unpack_metadata
from stepwell.database.checkpoints.serializer import stored_channels
from stepwell.sql import Connection
from stepwell.state.channels import rebuild, shares_values, snapshot, steps_since_snapshot

# `CROSS JOIN` makes the walk the outer loop: one look-up by key per step, whatever the query planner estimates.
_CHAIN = """
WITH RECURSIVE chain(depth, checkpoint_id, parent_id) AS (
  SELECT 0, checkpoint_id, parent_checkpoint_id FROM checkpoints
  WHERE thread_id = :thread AND checkpoint_ns = :namespace AND checkpoint_id = :target
  UNION ALL
  SELECT chain.depth + 1, c.checkpoint_id, c.parent_checkpoint_id FROM chain CROSS JOIN checkpoints AS c
  WHERE chain.depth < :deepest
    AND c.thread_id = :thread AND c.checkpoint_ns = :namespace AND c.checkpoint_id = chain.parent_id
)
"""
_ANCESTORS = (
    _CHAIN
    + """
SELECT c.checkpoint_id, c.type, c.checkpoint, c.metadata FROM chain CROSS JOIN checkpoints AS c
WHERE chain.depth > 0
  AND c.thread_id = :thread AND c.checkpoint_ns = :namespace AND c.checkpoint_id = chain.checkpoint_id
"""
)
_IDS = f"{_CHAIN} SELECT checkpoint_id FROM chain WHERE depth > 0 ORDER BY depth"  # noqa: S608  fixed text
_STORED = (
    "SELECT type, checkpoint FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = :namespace AND checkpoint_id = :id"
)
# The oldest checkpoint's writes come first; within a checkpoint, writes are in LangGraph's `writes_sort_key` order.
_WRITES = (
    _CHAIN  # noqa: S608  fixed text
    + """
SELECT chain.depth, w.task_id, w.channel, w.type, w.value FROM chain CROSS JOIN writes AS w
WHERE chain.depth > 0
  AND w.thread_id = :thread AND w.checkpoint_ns = :namespace AND w.checkpoint_id = chain.checkpoint_id
  AND w.channel IN (SELECT value FROM json_each(:channels))
ORDER BY chain.depth DESC, w.task_path, w.task_id, w.idx
"""
)
_LATEST = "SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?"
_NO_BOUND = 2**62
_FIRST_PORTION, _LARGEST_PORTION = 16, 256


@dataclass
class _Ancestor:
    """A checkpoint on the way back: the values stored with it and the writes made at it, both by channel."""

    checkpoint_id: str
    values: Mapping[str, Any]
    writes: dict[str, list[tuple[str, str, Any]]] = field(default_factory=dict)


class Lineage:
    """A checkpoint's ancestors, nearest first. `reach` holds, per channel, the index of the ancestor that stores its value, or the number
    of ancestors if none does. Nothing further back was read."""

    def __init__(self, checkpoint_id: str, ancestors: list[_Ancestor], reach: Mapping[str, int]) -> None:
        self._ancestors = ancestors
        self._reach = reach
        # Checkpoint -> the index of its nearest ancestor: 0 for the checkpoint itself, 1 for its first ancestor, and so on.
        self._behind = {checkpoint_id: 0} | {each.checkpoint_id: place for place, each in enumerate(ancestors, 1)}
        # Channel -> the index of an ancestor, and the channel's value after the writes of that one and all before it.
        self._folded: dict[str, tuple[int, Any]] = {}

    def history(self, checkpoint_id: str, channels: Sequence[str]) -> dict[str, DeltaChannelHistory] | None:
        """What one of these checkpoints inherits on these channels; `None` if not enough was read to tell."""
        start = self._behind.get(checkpoint_id)
        if start is None or any(start > self._reach.get(name, -1) for name in channels):
            return None
        return {name: self._channel(name, start) for name in channels}

    def fold(self, checkpoint_id: str, channels: Mapping[str, Any]) -> None:
        """Put together what this checkpoint inherits, so that its descendants need only the writes since. A value is then shared by
        several states, so only channels whose reducers never change a value in place take part."""
        start = self._behind.get(checkpoint_id, 0)
        for name, channel in channels.items():
            if start and start <= self._reach.get(name, -1) and shares_values(channel):
                past = self._channel(name, start)
                seed = [past["seed"]] if "seed" in past else []
                self._folded[name] = (start, snapshot(rebuild(channel, seed, [value for _, _, value in past["writes"]])))

    def _channel(self, name: str, start: int) -> DeltaChannelHistory:
        known, value = self._folded.get(name, (-1, None))
        if start <= known:
            since = self._ancestors[start:known]
            return {"writes": [write for each in reversed(since) for write in each.writes.get(name, ())], "seed": value}
        way = self._ancestors[start : self._reach[name] + 1]
        history: DeltaChannelHistory = {"writes": [write for each in reversed(way) for write in each.writes.get(name, ())]}
        if way and name in way[-1].values:
            history["seed"] = way[-1].values[name]
        return history


def read_lineage(
    connection: Connection,
    serde: SerializerProtocol,
    place: tuple[str, str, str | None],
    channels: Sequence[str],
) -> tuple[str, Lineage]:
    """The id and the ancestors of the checkpoint at `place`: a thread, a namespace, and an id (`None` means the latest)."""
    thread_id, namespace, checkpoint_id = place
    target = checkpoint_id or connection.execute(_LATEST, (thread_id, namespace)).fetchone()[0]
    where = {"thread": thread_id, "namespace": namespace, "target": target, "channels": orjson.dumps(list(channels)).decode()}
    ancestors = _walk(connection, serde, where, channels)
    reach = {
        name: next((place for place, each in enumerate(ancestors) if name in each.values), len(ancestors)) for name in channels
    }
    if ancestors:
        for depth, task_id, channel, type_, value in connection.execute(_WRITES, {**where, "deepest": len(ancestors)}):
            if depth <= reach[channel] + 1:
                written = (task_id, channel, serde.loads_typed((type_, value)))
                ancestors[depth - 1].writes.setdefault(channel, []).append(written)
    return target, Lineage(target, ancestors, reach)


def _walk(connection: Connection, serde: SerializerProtocol, where: dict[str, Any], channels: Sequence[str]) -> list[_Ancestor]:
    """The ancestors up to the one where every channel has found a stored value; all ancestors if there is no such one."""
    missing, walked = set(channels), {where["target"]}
    found: list[_Ancestor] = []
    for checkpoint_id, type_, checkpoint, metadata in _ancestors(connection, where):
        # A checkpoint stored again below its own descendant makes the chain a ring.
        if checkpoint_id in walked:
            break
        walked.add(checkpoint_id)
        values: Mapping[str, Any] = {}
        # Most ancestors hold none of the missing values and need not be deserialised.
        held = stored_channels((type_, checkpoint))
        if held is None or not missing.isdisjoint(held):
            values = _stored_values(serde, (type_, checkpoint), missing)
        found.append(_Ancestor(checkpoint_id, values))
        missing -= values.keys()
        if not missing:
            break
        if len(found) == _FIRST_PORTION:
            back = steps_since_snapshot(unpack_metadata(metadata), missing)
            if back and (rest := _jump(connection, serde, {**where, "target": checkpoint_id}, back)):
                return found + rest
    return found


def _jump(
    connection: Connection, serde: SerializerProtocol, where: dict[str, Any], back: Mapping[str, int]
) -> list[_Ancestor] | None:
    """The ancestors of a checkpoint as `_walk` would find them, if each channel is stored as many steps back as `back` says; otherwise
    `None`. LangGraph's count is wrong where `compact` has deleted checkpoints."""
    deepest = max(back.values())
    ids = [found for (found,) in connection.execute(_IDS, {**where, "deepest": deepest})]
    # A channel that was never stored is counted since the thread's first checkpoint, that one included.
    if not ids or deepest > len(ids) + 1 or min(back.values()) < 1 or len({where["target"], *ids}) <= len(ids):
        return None
    ancestors = [_Ancestor(each, {}) for each in ids]
    for place in {min(steps, len(ids)) for steps in back.values()}:
        expected = {name for name, steps in back.items() if min(steps, len(ids)) == place}
        stored = connection.execute(_STORED, {**where, "id": ids[place - 1]}).fetchone()
        values = ancestors[place - 1].values = _stored_values(serde, (stored[0], stored[1]), expected)
        if any(back[name] == place for name in expected - values.keys()):
            return None
    return ancestors


def _stored_values(serde: SerializerProtocol, checkpoint: tuple[str, bytes], names: set[str]) -> dict[str, Any]:
    values = serde.loads_typed(checkpoint)["channel_values"]
    return {name: values[name] for name in names & values.keys()}


def _ancestors(connection: Connection, where: dict[str, Any]) -> Iterator[Any]:
    """The ancestors, nearest first, and only as many as the caller consumes. SQLite finds each row on demand. Postgres finds all rows
    before it returns the first, so we query it in portions."""
    if connection.dialect.name == "sqlite":
        yield from connection.execute(_ANCESTORS, {**where, "deepest": _NO_BOUND})
        return
    portion = _FIRST_PORTION
    while True:
        rows = connection.execute(f"{_ANCESTORS} ORDER BY chain.depth", {**where, "deepest": portion}).fetchall()
        yield from rows
        if len(rows) < portion:
            return
        where, portion = {**where, "target": rows[-1][0]}, min(2 * portion, _LARGEST_PORTION)
