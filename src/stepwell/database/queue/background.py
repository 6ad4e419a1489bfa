"""Background tasks in the queue: starting one, looking at it, and waking its parent. Functions of a connection, for use inside a
transaction.

```
start ──> a thread and a pending run for the task, and a row in `background_tasks`      (in the parent's lane, under its lease)
end ────> in the transaction of the run's ending: a row in `background_wakes` and a pending run on the parent's thread
          the parent waits for a person's answer? Then that run is held (`HELD`) until the thread has no open question.
```
Rules to keep:
- A task's id follows from the call that starts it, so a call that is repeated after a crash finds the task and starts none.
- The limit of a parent's tasks is checked in the transaction that starts one, in the parent's lane, so calls of one step cannot exceed it.
- One run of a task wakes the parent at most once: the id of the waking run follows from the run that ended. A run that pauses for an
  answer, or is cancelled, wakes nobody.
- Whatever starts a run on a task's thread (the parent, an answer, a person), the task's own graph drives it (`admission._as_task`).
- A task keeps the parent's configuration, context and mode, whoever starts its runs, and so does a run that wakes the parent. Secrets in
  them are not stored with the task: a person who goes on with it gives them again.
- A message to a task is never lost: if its run is replaced before the message is in the thread, the next run has it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stepwell.database.checkpoints.packing import unpack_metadata
from stepwell.database.queue import admission as admissions
from stepwell.database.queue.types import IS_PENDING, Admission, Admitted
from stepwell.database.records import interrupts
from stepwell.database.records.background import STATUSES, count_open, read_answer, read_spent
from stepwell.database.rows import dumps, from_time, loads, request_from_text, request_to_text
from stepwell.database.types import CancelAction, Json, Run, RunRequest, RunStatus
from stepwell.permission_modes import PERMISSION_MODE
from stepwell.sql import Connection
from stepwell.tools.background import SPENT_BEFORE, AsyncTask, TaskReport, background_graph_id, wake_message, wake_run_id

HELD = 253_402_214_400.0
"""The due time of a run that waits until its thread has no open question: the last day that a date can have."""
_REWIND = "rewind"
"""The name in the metadata of a run that takes turns back. Such a run has no mode."""
_RUNS_LOOKED_AT = 10

_CONFIGURATION = frozenset({"config", "context", "parent_config", "parent_context"})


def start(connection: Connection, wanted: Admission, description: str, now: float, max_tasks: int | None = None) -> int | None:
    """Start a task, unless it was started before. `wanted.run.request.background` says what it is. If `max_tasks` of the parent are under
    way, nothing is started, and their number is returned."""
    run, task = wanted.run, wanted.run.request.background
    assert task is not None  # noqa: S101 - the caller has made it
    if connection.execute("SELECT 1 FROM background_tasks WHERE task_id = ?", (run.thread_id,)).fetchone():
        return None
    if max_tasks is not None and (busy := count_open(connection, task["parent_thread_id"])) >= max_tasks:
        return busy
    admissions.admit(connection, wanted, now)
    connection.execute(
        "INSERT INTO background_tasks (task_id, parent_thread_id, owner, agent_name, description, run_id, task, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run.thread_id,
            task["parent_thread_id"],
            run.owner,
            task["agent_name"],
            description,
            run.run_id,
            dumps(_with_configuration(task, run.request.without_secrets())),
            now,
            now,
        ),
    )
    return None


def _with_configuration(task: Json, request: RunRequest) -> Json:
    """What is stored of a task: also the configuration for runs that the parent does not start, and for those that tell the parent."""
    configurable = {name: value for name, value in (request.config.get("configurable") or {}).items() if name != SPENT_BEFORE}
    config = {**request.config, "configurable": configurable}
    return {"parent_config": config, "parent_context": request.context, **task, "config": config, "context": request.context}


def has_run(connection: Connection, run_id: str) -> bool:
    """Whether a message was sent before, with the same call."""
    return connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchone() is not None


def description_of(connection: Connection, task_id: str) -> Json:
    """What each run of a task that the parent starts has to know. Such a run brings the parent's configuration."""
    row = connection.execute("SELECT task FROM background_tasks WHERE task_id = ?", (task_id,)).fetchone()
    return {name: value for name, value in loads(row["task"]).items() if name not in _CONFIGURATION}


def cancel(connection: Connection, task_id: str, now: float) -> list[tuple[str, CancelAction]]:
    """End a task that waits for an answer: nobody can answer it any more. Returns the task's runs that must be stopped. The caller has
    checked whose task it is."""
    interrupts.settle(connection, task_id, "", ())
    asked = connection.execute(
        "UPDATE threads SET interrupts = '[]', status = CASE status WHEN 'interrupted' THEN 'idle' ELSE status END, updated_at = ?"
        " WHERE thread_id = ? AND interrupts <> '[]' RETURNING thread_id",
        (now, task_id),
    ).fetchone()
    if asked is not None:  # the run that asked has ended, as a run that pauses does
        connection.execute(
            "UPDATE runs SET status = 'interrupted', cancel_action = 'interrupt', updated_at = ? WHERE status = 'success'"
            " AND run_id = (SELECT run_id FROM background_tasks WHERE task_id = ?)",
            (now, task_id),
        )
    rows = connection.execute(
        "SELECT run_id FROM runs WHERE thread_id = ? AND status IN ('pending', 'running') ORDER BY number", (task_id,)
    )
    return [(row["run_id"], "interrupt") for row in rows]


def wake_parent(
    connection: Connection, run: Run, status: RunStatus, error: Json | None, now: float, *, paused: bool
) -> Admitted | None:
    """A run of a task has ended: start the run that tells the parent, if it is to be told."""
    task = run.request.background
    if task is None or not task.get("notify_parent") or paused or status == "interrupted":
        return None
    parent_id = task["parent_thread_id"]
    # The row is changed first, so that whatever else happens to the parent's thread at this time happens before or after.
    parent = connection.execute(
        "UPDATE threads SET updated_at = ? WHERE thread_id = ? AND (owner = ? OR EXISTS ("
        "SELECT 1 FROM background_tasks WHERE task_id = ? AND parent_thread_id = threads.thread_id)) RETURNING interrupts, tenant",
        (now, parent_id, run.owner, run.thread_id),
    ).fetchone()
    if parent is None:
        return None  # the parent was deleted
    report = TaskReport(
        STATUSES[status],
        run.thread_id,
        run.run_id,
        result=read_answer(connection, run.thread_id) if status == "success" else None,
        error=None if error is None else str(error.get("message") or error.get("error") or ""),
        spent=read_spent(connection, run.run_id),
    )
    request = _request_of_parent(connection, run, task)
    wake = _wake_run(run, request, task, report, now, held=parent["interrupts"] != "[]")
    connection.execute(
        "INSERT INTO background_wakes (run_id, wake_run, task_id, parent_thread_id) VALUES (?, ?, ?, ?)",
        (run.run_id, wake.run_id, run.thread_id, parent_id),
    )
    names = {"graph_id": wake.request.graph_id, "assistant_id": wake.request.assistant_id}
    admitted, _ = admissions.admit(
        connection, Admission(wake, thread_metadata=names, tenant=parent["tenant"], trusted=True), now
    )
    return admitted


def go_back(connection: Connection, run: Run) -> None:
    """A run of a task was rolled back: the task is again as the newest run before it left it."""
    connection.execute(
        "UPDATE background_tasks SET run_id = COALESCE((SELECT run_id FROM runs WHERE thread_id = ? ORDER BY number DESC LIMIT 1), run_id)"
        " WHERE task_id = ? AND run_id = ?",
        (run.thread_id, run.thread_id, run.run_id),
    )


def hand_on(connection: Connection, run: Run) -> None:
    """A run of a task was stopped. If a newer run has replaced it before its input was in the thread, that run gets the input too, and
    tells the parent if this one would have."""
    newer = connection.execute(
        f"SELECT run_id, request FROM runs WHERE thread_id = ? AND {IS_PENDING} AND attempt = 0"  # noqa: S608 - fixed text
        " AND multitask_strategy = 'interrupt' AND number > (SELECT number FROM runs WHERE run_id = ?) ORDER BY number LIMIT 1",
        (run.thread_id, run.run_id),
    ).fetchone()
    if newer is None or _has_begun(connection, run):
        return
    request = request_from_text(newer["request"])
    given, more = run.request.input, request.input
    if not isinstance(given, Mapping) or not isinstance(more, Mapping):
        return
    messages = [*_messages(given), *_messages(more)]
    told = {**(request.background or {})}
    told["notify_parent"] = told.get("notify_parent") or (run.request.background or {}).get("notify_parent")
    request = replace(request, input={**given, **more, "messages": messages}, background=told)
    connection.execute("UPDATE runs SET request = ? WHERE run_id = ?", (request_to_text(request), newer["run_id"]))


def _has_begun(connection: Connection, run: Run) -> bool:
    """Whether the run's input is in the thread. LangGraph's first checkpoint only notes it, and the next run's input replaces it there."""
    rows = connection.execute(
        "SELECT metadata FROM checkpoints WHERE thread_id = ? AND run_id = ? AND checkpoint_ns = ''",
        (run.thread_id, run.run_id),
    )
    return any(unpack_metadata(row["metadata"]).get("source") != "input" for row in rows)


def _messages(given: Mapping[str, Any]) -> list[Any]:
    messages = given.get("messages") or []
    return list(messages) if isinstance(messages, list) else [messages]


def hold_wakes(connection: Connection, thread_id: str) -> bool:
    """The thread waits for a person: hold the runs that would tell it about tasks. Returns whether there were any."""
    held = connection.execute(
        f"UPDATE runs SET due_at = ?, later = 1 WHERE thread_id = ? AND {IS_PENDING}"  # noqa: S608 - fixed text
        " AND attempt = 0 AND later = 0 AND run_id IN (SELECT wake_run FROM background_wakes WHERE parent_thread_id = ?)",
        (HELD, thread_id, thread_id),
    )
    return held.rowcount > 0


def _request_of_parent(connection: Connection, run: Run, task: Json) -> RunRequest:
    """The request that the parent goes on with. A task has the parent's configuration, with secrets that the parent's ended runs no longer
    have; another graph has its own. The mode is the one that the parent has now."""
    rows = connection.execute(
        "SELECT request, metadata FROM runs WHERE thread_id = ? AND owner = ? ORDER BY number DESC LIMIT ?",
        (task["parent_thread_id"], run.owner, _RUNS_LOOKED_AT),
    ).fetchall()
    requests = (request_from_text(row["request"]) for row in rows if _REWIND not in loads(row["metadata"]))
    newest = next((request for request in requests if request.graph_id == task["parent_graph_id"]), None)
    if newest is None:
        config, context = task.get("parent_config") or run.request.config, task.get("parent_context", run.request.context)
        return replace(run.request, config=config, context=context)
    if run.request.graph_id != background_graph_id(task["agent_name"], task["parent_graph_id"]):
        return replace(run.request, config=newest.config, context=newest.context)
    configurable = _in_mode_of(newest.config.get("configurable"), run.request.config.get("configurable") or {})
    context = run.request.context and _in_mode_of(newest.context, run.request.context)
    return replace(run.request, config={**run.request.config, "configurable": configurable}, context=context)


def _in_mode_of(newest: Json | None, values: Json) -> Json:
    """These values, with the mode among the parent's newest ones. A configuration has the mode in both of its forms."""
    others = {name: value for name, value in values.items() if name != PERMISSION_MODE}
    mode = (newest or {}).get(PERMISSION_MODE)
    return others if mode is None else {**others, PERMISSION_MODE: mode}


def _wake_run(run: Run, base: RunRequest, task: Json, report: TaskReport, now: float, *, held: bool) -> Run:
    configurable = {name: value for name, value in (base.config.get("configurable") or {}).items() if name != SPENT_BEFORE}
    known = AsyncTask(
        task_id=run.thread_id,
        agent_name=task["agent_name"],
        thread_id=run.thread_id,
        run_id=run.run_id,
        status=report.status,
        created_at=_shown(task["created_at"]),
        last_checked_at=_shown(now),
        last_updated_at=_shown(now),
    )
    request = replace(
        base,
        graph_id=task["parent_graph_id"],
        assistant_id=task["parent_assistant_id"],
        input={"messages": [wake_message(known, report)], "async_tasks": {run.thread_id: known}},
        command=None,
        resume=None,
        checkpoint=None,
        config={**base.config, "configurable": configurable},
        webhook=task.get("parent_webhook"),
        background=None,
    )
    return Run(
        run_id=wake_run_id(run.run_id),
        thread_id=task["parent_thread_id"],
        owner=run.owner,
        request=request,
        status="pending",
        created_at=from_time(now),
        updated_at=from_time(now),
        metadata={"graph_id": request.graph_id, "assistant_id": request.assistant_id, "background_task": run.thread_id},
        due_at=from_time(HELD) if held else None,
    )


def _shown(seconds: float) -> str:
    return from_time(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")
