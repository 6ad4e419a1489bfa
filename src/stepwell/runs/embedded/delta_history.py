"""What an incremental channel needs to be rebuilt: its last stored value, and what was written since.

LangGraph's default asks for one ancestor after the other. Here it is two statements, however long the way back is: one walks up
the parents and stops where every channel has found its value, one collects the writes in between.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson
from langgraph.checkpoint.base import DeltaChannelHistory
from langgraph.checkpoint.serde.base import SerializerProtocol

# `CROSS JOIN` keeps the walk outside: one look-up by key for each step, whatever the planner believes about the tables.
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
SELECT chain.depth, c.checkpoint_id, c.type, c.checkpoint FROM chain CROSS JOIN checkpoints AS c
WHERE chain.depth > 0
  AND c.thread_id = :thread AND c.checkpoint_ns = :namespace AND c.checkpoint_id = chain.checkpoint_id
"""
)
# Oldest first, and within a checkpoint in LangGraph's `writes_sort_key` order.
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


def channel_history(
    connection: sqlite3.Connection,
    serde: SerializerProtocol,
    place: tuple[str, str, str | None],
    channels: Sequence[str],
) -> dict[str, DeltaChannelHistory]:
    """For each channel what a checkpoint (thread, namespace, id or latest) inherits. What is written at it is not part of that."""
    thread_id, namespace, checkpoint_id = place
    target = checkpoint_id or connection.execute(_LATEST, (thread_id, namespace)).fetchone()[0]
    where = {"thread": thread_id, "namespace": namespace, "target": target, "channels": orjson.dumps(list(channels)).decode()}
    seeds, depths = _walk(connection, serde, where, channels)
    history: dict[str, DeltaChannelHistory] = {name: {"writes": []} for name in channels}
    for name, seed in seeds.items():
        history[name]["seed"] = seed
    deepest = max(depths.values(), default=0)
    if deepest == 0:
        return history
    for depth, task_id, channel, type_, value in connection.execute(_WRITES, {**where, "deepest": deepest}):
        if depth <= depths[channel]:
            history[channel]["writes"].append((task_id, channel, serde.loads_typed((type_, value))))
    return history


def _walk(
    connection: sqlite3.Connection, serde: SerializerProtocol, where: dict[str, Any], channels: Sequence[str]
) -> tuple[dict[str, Any], dict[str, int]]:
    """The stored value of each channel that has one, and for each how many steps up its writes reach."""
    seeds: dict[str, Any] = {}
    depths = dict.fromkeys(channels, 0)
    walked = {where["target"]}
    ancestors = connection.execute(_ANCESTORS, {**where, "deepest": _NO_BOUND})
    for depth, checkpoint_id, type_, checkpoint in ancestors:
        # A checkpoint stored again below its own descendant makes the chain a ring.
        if checkpoint_id in walked:
            break
        walked.add(checkpoint_id)
        values = serde.loads_typed((type_, checkpoint))["channel_values"]
        for name in depths.keys() - seeds.keys():
            depths[name] = depth
            if name in values:
                seeds[name] = values[name]
        if len(seeds) == len(depths):
            break
    ancestors.close()
    return seeds, depths
