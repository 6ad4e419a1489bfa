"""Whether a run goes on where its thread is, or begins a branch in the thread's past. Functions of a connection, for use inside a
transaction.

Clients name the newest checkpoint they know with every message. Naming the thread's newest one, or one that was newest when the runs under
way began, means to go on: taken literally, a message sent during a run would begin a branch beside that run's answer, and the answer
would be lost to the reader. Only an older one means to go back.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from stepwell.database.rows import dumps
from stepwell.database.types import Run
from stepwell.errors import NotFoundError
from stepwell.sql import Connection


def settle_checkpoint(connection: Connection, run: Run, under_way: Collection[str]) -> Run:
    """The run, with its checkpoint only if that goes back. One that is not in the thread is refused: LangGraph would begin anew."""
    asked = run.request.checkpoint or {}
    checkpoint_id, namespace = asked.get("checkpoint_id"), asked.get("checkpoint_ns") or ""
    if not checkpoint_id:
        return replace(run, request=replace(run.request, checkpoint=None))
    written_by = connection.execute(
        "SELECT run_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
        (run.thread_id, namespace, checkpoint_id),
    ).fetchone()
    if written_by is None:
        raise NotFoundError("checkpoint", checkpoint_id, "List the thread's checkpoints with its history.")
    if namespace:
        return run
    goes_on = written_by["run_id"] in under_way or checkpoint_id == _newest_before(connection, run.thread_id, under_way)
    return replace(run, request=replace(run.request, checkpoint=None)) if goes_on else run


def is_elsewhere(connection: Connection, run: Run) -> bool:
    """Whether a run whose checkpoint was settled comes with one that is not the newest of its graph, where a thread at rest asks."""
    asked = run.request.checkpoint
    if asked is None:
        return False
    row = connection.execute(
        "SELECT MAX(checkpoint_id) AS newest FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?",
        (run.thread_id, asked.get("checkpoint_ns") or ""),
    ).fetchone()
    return bool(row["newest"] != asked["checkpoint_id"])


def _newest_before(connection: Connection, thread_id: str, under_way: Collection[str]) -> str | None:
    row = connection.execute(
        "SELECT MAX(checkpoint_id) AS newest FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
        " AND run_id NOT IN (SELECT value FROM json_each(?))",
        (thread_id, dumps(list(under_way))),
    ).fetchone()
    newest: str | None = row["newest"]
    return newest
