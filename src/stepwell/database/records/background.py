"""Background tasks as they are now, and what happens to them when a thread is deleted. `queue/background` starts them and wakes their
parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepwell.database import shared_spending
from stepwell.database.records.thread_state import read_values
from stepwell.database.rows import dumps, from_time, loads
from stepwell.database.types import BackgroundTask
from stepwell.sql import Connection, Row
from stepwell.tools.background import TaskStatus

STATUSES: dict[str, TaskStatus] = {
    "pending": "pending",
    "running": "running",
    "success": "success",
    "error": "error",
    "timeout": "error",
    "interrupted": "cancelled",
}
_TASKS = """
SELECT b.*, r.status AS run_status, r.error AS run_error, t.interrupts AS interrupts
FROM background_tasks AS b LEFT JOIN runs AS r ON r.run_id = b.run_id JOIN threads AS t ON t.thread_id = b.task_id
"""


def find(
    connection: Connection, owner: str | None, task_ids: Sequence[str], *, results: bool, parent: str | None = None
) -> dict[str, BackgroundTask]:
    """Tasks with these ids, of the owner or of the thread `parent`, which the caller may see. `results`: with answers."""
    rows = connection.execute(
        f"{_TASKS} WHERE b.task_id IN (SELECT value FROM json_each(:ids))"  # noqa: S608 - fixed text
        " AND (CAST(:owner AS TEXT) IS NULL OR b.owner = :owner OR b.parent_thread_id = CAST(:parent AS TEXT))",
        {"ids": dumps(list(task_ids)), "owner": owner, "parent": parent},
    ).fetchall()
    return {row["task_id"]: _task(connection, row, results=results) for row in rows}


def of_parent(connection: Connection, thread_id: str) -> list[BackgroundTask]:
    """The tasks that a thread has started, oldest first. The caller has checked the thread's owner."""
    rows = connection.execute(
        f"{_TASKS} WHERE b.parent_thread_id = ? ORDER BY b.created_at, b.task_id", (thread_id,)
    ).fetchall()
    return [_task(connection, row, results=False) for row in rows]


def count_open(connection: Connection, thread_id: str) -> int:
    """How many of the tasks that a thread has started are under way: pending, running or waiting."""
    row = connection.execute(
        "SELECT COUNT(*) AS open FROM background_tasks AS b JOIN runs AS r ON r.run_id = b.run_id"
        " JOIN threads AS t ON t.thread_id = b.task_id WHERE b.parent_thread_id = ?"
        " AND (r.status IN ('pending', 'running') OR (r.status = 'success' AND t.interrupts <> '[]'))",
        (thread_id,),
    ).fetchone()
    return int(row["open"])


def forget_tasks(connection: Connection, thread_id: str) -> None:
    """A thread is deleted: what it knew about tasks goes with it. The threads of its tasks are erased by housekeeping."""
    connection.execute(
        "UPDATE threads SET expires_at = 0 WHERE thread_id IN (SELECT task_id FROM background_tasks WHERE parent_thread_id = ?)",
        (thread_id,),
    )
    shared_spending.forget(connection, thread_id)
    connection.execute("DELETE FROM background_tasks WHERE parent_thread_id = ? OR task_id = ?", (thread_id, thread_id))
    connection.execute("DELETE FROM background_wakes WHERE parent_thread_id = ? OR task_id = ?", (thread_id, thread_id))


def _task(connection: Connection, row: Row, *, results: bool) -> BackgroundTask:
    status = STATUSES.get(row["run_status"] or "interrupted", "cancelled")
    asked = loads(row["interrupts"]) if status == "success" else []
    error = loads(row["run_error"]) if status == "error" else None
    if asked:
        status = "waiting"
    return BackgroundTask(
        task_id=row["task_id"],
        parent_thread_id=row["parent_thread_id"],
        owner=row["owner"],
        agent_name=row["agent_name"],
        description=row["description"],
        run_id=row["run_id"],
        status=status,
        error=None if error is None else str(error.get("message") or error.get("error") or ""),
        question=dumps(asked[0].get("value"))[:4000] if asked else None,
        result=read_answer(connection, row["task_id"]) if results and status == "success" else None,
        spent=read_spent(connection, row["run_id"]) if results else {},
        created_at=from_time(row["created_at"]),
        updated_at=from_time(row["updated_at"]),
    )


def read_answer(connection: Connection, thread_id: str) -> str | None:
    """The last answer in a thread: its structured one, or the text of its last message that has any."""
    values = loads(read_values(connection, thread_id) or b"null")
    if not isinstance(values, Mapping):
        return None
    if (structured := values.get("structured_response")) is not None:
        return dumps(structured)
    messages = values.get("messages")
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, Mapping) and message.get("type") == "ai" and (text := _text(message.get("content"))):
            return text
    return None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    return "".join(
        block.get("text") or "" for block in blocks if isinstance(block, Mapping) and block.get("type") == "text"
    ).strip()


def read_spent(connection: Connection, run_id: str) -> dict[str, float]:
    """What a run has spent so far, as far as its attempts have ended: tokens, usd, calls."""
    row = connection.execute(
        "SELECT SUM(calls) AS calls, SUM(input_tokens + output_tokens) AS tokens, SUM(cost_usd) AS usd FROM usage WHERE run_id = ?",
        (run_id,),
    ).fetchone()
    return (
        {"tokens": int(row["tokens"] or 0), "usd": float(row["usd"] or 0.0), "calls": int(row["calls"])} if row["calls"] else {}
    )
