"""Whether a run continues where its thread is, or starts a branch in the thread's past. Functions of a connection, for use inside a
transaction.

Clients send the newest checkpoint they know with every message. If that is the thread's newest one, or was the newest when the current runs
began, the client means to continue: taken literally, a message sent during a run would start a branch beside that run's answer, and the
reader would lose the answer. Only with an older checkpoint does the client mean to go back.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from stepwell.database.rows import dumps
from stepwell.database.types import Run
from stepwell.errors import NotFoundError
from stepwell.sql import Connection


def settle_checkpoint(connection: Connection, run: Run, under_way: Collection[str]) -> Run:
    """The run, which keeps its checkpoint only if that goes back. A checkpoint that is not in the thread is refused, because LangGraph
    would start from scratch."""
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
    """Whether a run, after `settle_checkpoint`, names a checkpoint other than its graph's newest, which is where a thread without a running
    run asks its questions."""
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
