"""The tasks that a thread gave to subagents: what steps say about those that have ended, and checkpoints about the others.

A subagent's checkpoints lie in a namespace of their own, and their metadata names the call (`stepwell.state.transcripts`). The index of
checkpoints leads from one namespace to the next, so the length of a subagent's history does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from stepwell.database.checkpoints.packing import unpack_metadata
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.threads import owned_thread
from stepwell.database.rows import from_time
from stepwell.sql import Connection, Row
from stepwell.state.compact import NOT_A_RESULT
from stepwell.state.transcripts import CALL_ID, CONTINUES, NAME, depth_of

_PLACES = """
WITH RECURSIVE places (ns) AS (
  SELECT MIN(checkpoint_ns) FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns > ''
  UNION ALL
  SELECT (SELECT MIN(checkpoint_ns) FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns > places.ns)
  FROM places WHERE places.ns IS NOT NULL
)
SELECT c.checkpoint_ns, c.checkpoint_id, c.run_id, c.metadata, c.created_at AS updated_at,
  (SELECT MIN(f.checkpoint_id) FROM checkpoints AS f WHERE f.thread_id = :thread AND f.checkpoint_ns = places.ns) AS first_id,
  (SELECT f.created_at FROM checkpoints AS f WHERE f.thread_id = :thread AND f.checkpoint_ns = places.ns
   ORDER BY f.checkpoint_id LIMIT 1) AS started_at
FROM places CROSS JOIN checkpoints AS c
WHERE c.thread_id = :thread AND c.checkpoint_ns = places.ns AND c.checkpoint_id = (
  SELECT MAX(n.checkpoint_id) FROM checkpoints AS n WHERE n.thread_id = :thread AND n.checkpoint_ns = places.ns)
"""
_ENDED = """
SELECT call_id, name, agent, run_id, started_at, seconds, status, error FROM steps
WHERE thread_id = ? AND kind = 'agent' AND call_id IS NOT NULL ORDER BY number
"""
_USED = """
SELECT namespace, COUNT(*) AS calls, SUM(input_tokens) AS input, SUM(output_tokens) AS output, SUM(cost_usd) AS cost FROM steps
WHERE thread_id = ? AND kind = 'model' AND namespace <> '' GROUP BY namespace
"""
_WRITTEN = "SELECT channel FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND task_id = ?"
_ACTIVE = "SELECT run_id FROM runs WHERE thread_id = ? AND status IN ('pending', 'running')"

SubAgentStatus = Literal["running", "interrupted", "success", "error"]


class Result(NamedTuple):
    """Where the task of a graph that called a subagent has written what came of it."""

    namespace: str
    checkpoint_id: str
    task_id: str


@dataclass(frozen=True)
class SubAgentTask:
    """A call of a subagent. `interrupted`: it waits for an answer, or its run was stopped."""

    task_id: str
    name: str
    run_id: str
    status: SubAgentStatus
    started_at: datetime
    seconds: float | None = None
    """How long it worked; `None` until it has stopped for the first time."""
    caller: str | None = None
    """The subagent that called it; `None` for the agent itself."""
    error: str | None = None
    continues: str | None = None
    """The task that it continues."""
    namespace: str | None = None
    """Where its checkpoints are; `None` if retention has deleted them."""
    first_checkpoint_id: str | None = None
    checkpoint_id: str | None = None
    model_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    result: Result | None = None
    """Where its result is, if no step says how it ended: a killed process may not have recorded one."""


class SubAgentRecords(RecordsPart):
    """The part of the repository that is about subagents."""

    async def subagent_tasks(self, owner: str | None, thread_id: str) -> list[SubAgentTask]:
        """All tasks of the thread, newest first."""

        def work(connection: Connection) -> list[SubAgentTask]:
            owned_thread(connection, owner, thread_id)
            tasks = _ended(connection, thread_id)
            active = {row["run_id"] for row in connection.execute(_ACTIVE, (thread_id,))}
            used = {row["namespace"]: row for row in connection.execute(_USED, (thread_id,))}
            for place in _places(connection, thread_id):
                task = _merge(tasks.get(place.task_id), place, active, used.get(place.namespace))
                if task.status in ("running", "interrupted") and (result := _result(connection, thread_id, place)):
                    task = replace(task, status="success", result=result)
                tasks[place.task_id] = task
            return sorted(tasks.values(), key=lambda task: (task.started_at, task.task_id), reverse=True)

        return await self._database.read(work)


def _ended(connection: Connection, thread_id: str) -> dict[str, SubAgentTask]:
    """The tasks of which a step was recorded. A call that was interrupted has a step for each time it worked."""
    tasks: dict[str, SubAgentTask] = {}
    for row in connection.execute(_ENDED, (thread_id,)):
        known = tasks.get(row["call_id"])
        tasks[row["call_id"]] = SubAgentTask(
            task_id=row["call_id"],
            name=row["name"],
            run_id=row["run_id"],
            status=row["status"],
            started_at=known.started_at if known else from_time(row["started_at"]),
            seconds=row["seconds"] + ((known.seconds or 0) if known else 0),
            caller=row["agent"],
            error=row["error"],
        )
    return tasks


@dataclass(frozen=True)
class _Place:
    task_id: str
    namespace: str
    row: Row
    metadata: dict[str, Any]


def _places(connection: Connection, thread_id: str) -> Iterator[_Place]:
    """Where each call has its checkpoints. A graph inside of a subagent has the same metadata, but lies deeper; a call that was made again,
    on a branch of the thread, has several namespaces, of which the newest counts."""
    chosen: dict[str, _Place] = {}
    for row in connection.execute(_PLACES, {"thread": thread_id}).fetchall():
        metadata = unpack_metadata(row["metadata"])
        if isinstance(call_id := metadata.get(CALL_ID), str):
            place = _Place(call_id, row["checkpoint_ns"], row, metadata)
            known = chosen.get(call_id)
            if known is None or _order(place) > _order(known):
                chosen[call_id] = place
    yield from chosen.values()


def _result(connection: Connection, thread_id: str, place: _Place) -> Result | None:
    """What the task that made the call has written; None if it has written no result."""
    parts = [part for part in place.namespace.split("|") if not part.isdigit()]
    above, task_id = "|".join(parts[:-1]), parts[-1].partition(":")[2]
    checkpoint_id = (place.metadata.get("parents") or {}).get(above)
    if not isinstance(checkpoint_id, str):
        return None
    rows = connection.execute(_WRITTEN, (thread_id, above, checkpoint_id, task_id)).fetchall()
    written = any(row["channel"] not in NOT_A_RESULT for row in rows)
    return Result(above, checkpoint_id, task_id) if written else None


def _order(place: _Place) -> tuple[int, str]:
    return -depth_of(place.namespace), place.row["checkpoint_id"]


def _merge(ended: SubAgentTask | None, place: _Place, active: set[str], used: Row | None) -> SubAgentTask:
    run_id = place.row["run_id"]
    task = ended or SubAgentTask(
        task_id=place.task_id,
        name=str(place.metadata.get(NAME) or ""),
        run_id=run_id,
        status="interrupted",
        started_at=from_time(place.row["started_at"]),
    )
    if task.status == "interrupted" and run_id in active and (ended is None or run_id != ended.run_id):
        task = replace(task, status="running", run_id=run_id)
    return replace(
        task,
        continues=place.metadata.get(CONTINUES),
        namespace=place.namespace,
        first_checkpoint_id=place.row["first_id"],
        checkpoint_id=place.row["checkpoint_id"],
        model_calls=used["calls"] if used else 0,
        input_tokens=used["input"] if used else None,
        output_tokens=used["output"] if used else None,
        cost_usd=used["cost"] if used else None,
    )
