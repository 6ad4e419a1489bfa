"""Admitting a run: its thread, the answers it brings, and the runs in its way. All of this is one transaction, as functions of a
connection. `branching` decides where in the thread's past a run begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from stepwell.database import sent_messages
from stepwell.database.access import EVERYTHING, owned_by
from stepwell.database.queue.branching import is_elsewhere, settle_checkpoint
from stepwell.database.queue.types import Admission, Admitted
from stepwell.database.records import interrupts
from stepwell.database.records.erasing import erasing_error
from stepwell.database.rows import dumps, loads, request_from_text, request_to_text, run_from_row, to_time
from stepwell.database.types import STEER, CancelAction, Json, Run, RunRequest, ThreadStatus
from stepwell.errors import LimitReachedError, NotFoundError, ThreadBusyError
from stepwell.sql import Change, Connection, Row

_UNLISTED = 2
"""`threads.temporary` of a background task's thread: it is not listed, but stays."""


def admit(connection: Connection, admission: Admission, now: float) -> tuple[Admitted, list[tuple[str, CancelAction]]]:
    """Admit a run. Also returns the runs that must be stopped for it (they are marked, not stopped yet)."""
    admission, thread = _find_thread(connection, admission)
    inflight = _inflight(connection, admission.run.thread_id, now) if _looks_around(admission) else []
    run = settle_checkpoint(connection, admission.run, [row["run_id"] for row in inflight])
    admission = replace(admission, run=run)
    if admission.answers is not None:
        return _admit_answers(connection, admission, thread, inflight, now), []
    if run.multitask_strategy == STEER:
        if inflight and admission.steering:
            sent_messages.send(connection, None, run.thread_id, inflight[0]["run_id"], admission.steering, now)
            return Admitted(run_from_row(inflight[0]), rejoined=True, steered=True), []
        run = replace(run, multitask_strategy="enqueue")
    _require_room(connection, admission)
    to_stop = _apply_strategy(run, inflight)
    _insert(connection, admission, thread, run, now)
    return Admitted(run), to_stop


class _Found(NamedTuple):
    """The thread of a run that comes in, as it was before."""

    metadata: Mapping[str, Any]
    status: ThreadStatus
    held_messages: int
    is_new: bool = False
    """The thread is to be made together with the run."""


def _find_thread(connection: Connection, admission: Admission) -> tuple[Admission, _Found]:
    """Returns the admission, with the task that its thread belongs to, if it is the thread of a background task; and the thread."""
    run = admission.run
    mine = EVERYTHING if admission.trusted else owned_by(connection.dialect, admission.caller or run.owner, "t")
    row = connection.execute(
        f"SELECT CASE WHEN {mine.sql} THEN 1 ELSE 0 END AS mine, b.task, t.metadata, t.status, t.held_messages,"  # noqa: S608 - clauses of ours
        " t.thread_id, e.thread_id AS erasing FROM (SELECT CAST(? AS TEXT) AS thread_id) AS wanted"
        " LEFT JOIN threads AS t ON t.thread_id = wanted.thread_id LEFT JOIN background_tasks AS b ON b.task_id = wanted.thread_id"
        " LEFT JOIN erasing AS e ON e.thread_id = wanted.thread_id",
        (*mine.bound, run.thread_id),
    ).fetchone()
    if row["thread_id"] is not None and row["mine"]:
        found = _Found(loads(row["metadata"]), row["status"], row["held_messages"])
        return (admission if row["task"] is None else _as_task(admission, loads(row["task"]))), found
    if row["thread_id"] is not None or not admission.create_thread:
        taken = "Choose another id for a thread of your own."
        raise NotFoundError(
            "thread", run.thread_id, taken if admission.create_thread else 'Create it first, or send "if_not_exists": "create".'
        )
    if row["erasing"] is not None:
        raise erasing_error(run.thread_id)
    return admission, _Found(run.metadata, "idle", 0, is_new=True)


def _as_task(admission: Admission, task: Json) -> Admission:
    """Whoever starts a run on a task's thread, the task's graph drives it. If it answers a question, the parent is told how it ended; if
    a person writes to the subagent, the person reads the answer. Both have the parent's configuration, except what they give."""
    run = admission.run
    request = replace(run.request, graph_id=task["graph_id"])
    if request.background is None:
        request = _configured(request, task, admission.given)
        known = {name: value for name, value in task.items() if name not in ("config", "context")}
        known["notify_parent"] = task["notify_parent"] and admission.answers is not None
        request = replace(request, background=known)
    names = {"graph_id": task["graph_id"], "assistant_id": run.request.assistant_id}
    changed = replace(run, request=request, metadata={**run.metadata, **names})
    return replace(admission, run=changed, thread_metadata={**(admission.thread_metadata or {}), **names})


def _configured(request: RunRequest, task: Json, given: frozenset[str]) -> RunRequest:
    """The request with the task's configuration and context. What the request itself gives comes first, its assistant's last."""

    def merge(ours: Json, stored: Json) -> dict[str, Any]:
        return {**ours, **{name: value for name, value in stored.items() if name not in given or name not in ours}}

    stored, ours = task.get("config") or {}, request.config
    configurable = merge(ours.get("configurable") or {}, stored.get("configurable") or {})
    context = merge(request.context or {}, task.get("context") or {})
    return replace(request, config={**stored, **ours, "configurable": configurable}, context=context or None)


def _looks_around(admission: Admission) -> bool:
    """Whether it matters which runs are ahead. It does not for a run that just queues up, and there may be thousands ahead."""
    run = admission.run
    return admission.answers is not None or run.multitask_strategy != "enqueue" or bool(run.request.checkpoint)


def _inflight(connection: Connection, thread_id: str, now: float) -> list[Row]:
    """Runs that are running or waiting to be driven now; a run scheduled for later is not in the way."""
    rows = connection.execute(
        "SELECT * FROM runs WHERE thread_id = ? AND status IN ('pending', 'running') AND (status = 'running' OR due_at <= ?)"
        " ORDER BY number",
        (thread_id, now),
    )
    return rows.fetchall()


def _admit_answers(connection: Connection, admission: Admission, thread: _Found, inflight: list[Row], now: float) -> Admitted:
    """Answers wait for the current run, whatever the strategy for concurrent runs, and answers that wait at the same time become one
    run."""
    run = admission.run
    assert admission.answers is not None  # noqa: S101 - the caller has looked
    # A run that was handed back may have passed its answers to the graph already, so answers added to it now would be lost.
    untouched = (row for row in inflight if row["status"] == "pending" and row["attempt"] == 0)
    waiting = next((row for row in untouched if loads(row["request"])["resume"]), None)
    taker = waiting["run_id"] if waiting else run.run_id
    situation = interrupts.AnswerSituation(
        now,
        sent_at=to_time(run.created_at),
        busy=bool(inflight),
        elsewhere=is_elsewhere(connection, run),
        checked=admission.checked,
    )
    taken = interrupts.take_answers(connection, run.thread_id, admission.answers, taker, situation)
    if isinstance(taken, interrupts.Rejoin):
        row = connection.execute("SELECT * FROM runs WHERE run_id = ?", (taken.run_id,)).fetchone()
        if row is None:
            raise NotFoundError("run", taken.run_id, "The run that took this answer was deleted.")
        return Admitted(run_from_row(row), rejoined=True)
    if waiting:
        return Admitted(_add_answers(connection, waiting, taken.answers, now))
    _require_room(connection, admission)
    resuming = replace(run, request=replace(run.request, resume=taken.answers), resumes=taken.asked_by)
    _insert(connection, admission, thread, resuming, now)
    return Admitted(resuming)


def _add_answers(connection: Connection, waiting: Row, answers: Mapping[str, Any], now: float) -> Run:
    request = request_from_text(waiting["request"])
    request = replace(request, resume={**(request.resume or {}), **answers})
    connection.execute(
        "UPDATE runs SET request = ?, updated_at = ? WHERE run_id = ?", (request_to_text(request), now, waiting["run_id"])
    )
    return replace(run_from_row(waiting), request=request)


def _apply_strategy(run: Run, inflight: list[Row]) -> list[tuple[str, CancelAction]]:
    if not inflight or run.multitask_strategy == "enqueue":
        return []
    if run.multitask_strategy == "reject":
        raise ThreadBusyError(
            f"Thread '{run.thread_id}' has a run under way ('{inflight[0]['run_id']}'). Wait for it, cancel it, "
            "or send another multitask_strategy: enqueue, interrupt or rollback."
        )
    action: CancelAction = "rollback" if run.multitask_strategy == "rollback" else "interrupt"
    # The newest first: what a run that never began was told is put before what the newer ones were told (`background.hand_on`).
    return [(row["run_id"], action) for row in reversed(inflight)]


def _require_room(connection: Connection, admission: Admission) -> None:
    _require_share(connection, admission)
    if admission.max_active is None:
        return
    active = connection.execute(
        "SELECT COUNT(*) FROM runs WHERE owner = ? AND status IN ('pending', 'running')", (admission.run.owner,)
    ).fetchone()[0]
    if active >= admission.max_active:
        raise LimitReachedError(
            f"You have {active} runs under way, which is as many as this server allows. Wait for one to end, or cancel one."
        )


def _require_share(connection: Connection, admission: Admission) -> None:
    if admission.max_of_tenant is None:
        return
    active = connection.execute(
        "SELECT COUNT(*) FROM runs WHERE tenant = ? AND status IN ('pending', 'running')", (admission.tenant,)
    ).fetchone()[0]
    if active >= admission.max_of_tenant:
        raise LimitReachedError(
            f"This workspace has {active} runs under way, which is its share of this server. Wait for one to end, or cancel one."
        )


def _insert(connection: Connection, admission: Admission, thread: _Found, run: Run, now: float) -> None:
    # A run without a scheduled time gets the earliest possible due time, so that a clock that is set back can't delay it or let a later run
    # overtake it.
    due_at = to_time(run.due_at) if run.due_at else 0.0
    new_run = (
        "INSERT INTO runs (run_id, thread_id, owner, assistant_id, status, request, metadata, multitask_strategy, due_at, later,"
        " resumes, created_at, updated_at, tenant) VALUES (?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run.run_id,
            run.thread_id,
            run.owner,
            run.request.assistant_id,
            request_to_text(run.request),
            dumps(run.metadata),
            run.multitask_strategy,
            due_at,
            due_at > now,
            run.resumes,
            now,
            now,
            admission.tenant,
        ),
    )
    metadata = dumps({**_title(admission), **thread.metadata, **(admission.thread_metadata or {})})
    status = "busy" if due_at <= now else thread.status
    connection.change_all([_thread_change(admission, run, metadata, status, now, is_new=thread.is_new), new_run])
    if run.request.background:
        connection.execute(
            "UPDATE background_tasks SET run_id = ?, updated_at = ? WHERE task_id = ?", (run.run_id, now, run.thread_id)
        )
    if thread.held_messages:
        sent_messages.take_over(connection, run.thread_id, run.run_id)


def _thread_change(admission: Admission, run: Run, metadata: str, status: ThreadStatus, now: float, *, is_new: bool) -> Change:
    if not is_new:
        return (
            "UPDATE threads SET metadata = ?, status = ?, updated_at = ?, tenant = ? WHERE thread_id = ?",
            (metadata, status, now, admission.tenant, run.thread_id),
        )
    temporary = _UNLISTED if run.request.background else admission.temporary_thread
    return (
        "INSERT INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at, temporary, tenant)"
        " VALUES (?, ?, ?, ?, '{}', ?, ?, ?, ?)",
        (run.thread_id, run.owner, status, metadata, now, now, temporary, admission.tenant),
    )


def _title(admission: Admission) -> dict[str, str]:
    unlisted = admission.temporary_thread and not admission.run.request.keep_if_asked
    return {} if admission.title is None or unlisted else {"title": admission.title}
