"""What the end of a run changes: its row, its thread, its interrupts, its last events, its usage. All of this is one transaction, as
functions of a connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from stepwell.database import effect_journal, fence, sent_messages
from stepwell.database.checkpoints import statements
from stepwell.database.documents.rows import document_insertions, forget_unneeded
from stepwell.database.events.rows import event_insertions, insert_events, number_events
from stepwell.database.queue.background import go_back, hand_on, hold_wakes, wake_parent
from stepwell.database.queue.suspects import Crash
from stepwell.database.queue.types import HELD_UP_S, IS_PENDING
from stepwell.database.records import interrupts
from stepwell.database.records.steps import step_insertions
from stepwell.database.records.thread_state import read_values, text_columns, value_changes
from stepwell.database.records.usage import keep_usage
from stepwell.database.rows import dumps, from_time, interrupts_to_text, loads, request_to_text, run_from_row
from stepwell.database.types import (
    CancelAction,
    Document,
    Json,
    Lease,
    NewEvent,
    PendingInterrupt,
    Run,
    RunEvent,
    RunOutcome,
    RunStatus,
)
from stepwell.database.webhooks import insert_webhook
from stepwell.sql import Change, Connection, Row
from stepwell.state import wire

_WAITS = f"{IS_PENDING} AND due_at <= ?"
TEMPORARY_THREAD_S = 60.0
"""How long the thread of a stateless run stays after the run's end, for readers that lag a little behind."""


def end_event(run_id: str, status: RunStatus, *, paused: bool = False) -> NewEvent:
    """The event that marks in the log that a run emits nothing more. `paused`: the graph waits for an answer or at a breakpoint."""
    return NewEvent("end", wire.encode({"run_id": run_id, "status": status, **({"paused": True} if paused else {})}))


# What a run finds when it ends: itself, the number of its thread's newest event and step, and whether there is more to look after.
_STANDING = f"""
r.*, t.last_seq AS last_seq, (SELECT MAX(s.number) FROM steps AS s WHERE s.thread_id = t.thread_id) AS newest_step,
EXISTS (SELECT 1 FROM interrupts AS i WHERE i.thread_id = t.thread_id) AS has_asked,
EXISTS (SELECT 1 FROM replaced_writes AS w WHERE w.thread_id = t.thread_id AND w.replaced_by = r.run_id) AS has_replaced,
EXISTS (SELECT 1 FROM runs AS o WHERE o.thread_id = t.thread_id AND o.run_id <> r.run_id AND {_WAITS}) AS has_more
"""  # noqa: S608 - fixed text


def finish(connection: Connection, lease: Lease, outcome: RunOutcome, now: float) -> tuple[Run, list[RunEvent]]:
    """End a run that was driven, and return its final record, or its last one if it was rolled back. `LeaseLostError` if the lease is
    lost."""
    standing = fence.require_run(connection, lease, _STANDING, now)
    run = run_from_row(standing)
    keep_usage(connection, lease, outcome.usage, now, run.request.counts_for)
    paused = outcome.status == "success" and outcome.thread_status == "interrupted"
    sent_messages.leave(connection, run, now, paused=paused)
    if outcome.rolled_back:
        _roll_back(connection, lease, run, outcome, now)
        forget_unneeded(connection, lease.thread_id)
        return run, _tell_gone(connection, run, now)
    if outcome.nothing_ran:
        statements.delete_runs(connection, lease.thread_id, [lease.run_id])
    elif standing["has_replaced"]:
        statements.forget_replaced(connection, run.thread_id, run.run_id)
    said = [*outcome.events, end_event(run.run_id, outcome.status, paused=paused)]
    events = number_events(run.thread_id, run.run_id, said, standing["last_seq"] + 1)
    connection.change_all(
        [
            *step_insertions(lease, outcome.steps, standing["newest_step"] or 0),
            *_thread_changes(connection, lease, outcome, now, len(events), standing if not run.steered else None),
            *_run_changes(run, outcome.status, outcome.error, outcome.result, now),
            *event_insertions([(event, new.stored, now) for event, new in zip(events, said, strict=True)]),
        ]
    )
    _tell_of_end(connection, run, outcome.status, outcome.error, now, paused=paused)
    return _ended(run, outcome.status, outcome.error, now), events


def end_pending(connection: Connection, run_id: str, action: CancelAction, reason: str | None, now: float) -> list[RunEvent]:
    """End a run that has no driver because it was cancelled before it began, or before it was recovered."""
    run = _run(connection, run_id)
    sent_messages.leave(connection, run, now)
    keeps_steps = action != "rollback" or effect_journal.must_keep_steps(connection, run)
    if run.attempt == 0:
        interrupts.take_back(connection, run.thread_id, run_id)
    elif keeps_steps:
        interrupts.abandon(connection, run)
    if action == "rollback":
        _forget(connection, run, keeps_steps=keeps_steps)
        _free_thread(connection, run.thread_id, run_id, now, interrupted=keeps_steps)
        forget_unneeded(connection, run.thread_id)
        return _tell_gone(connection, run, now)
    connection.execute("UPDATE runs SET cancel_action = ?, cancel_reason = ? WHERE run_id = ?", (action, reason, run_id))
    events = _end_run(connection, run, "interrupted", None, (), now)
    _free_thread(connection, run.thread_id, run_id, now, interrupted=run.attempt > 0)
    return events


def give_up(connection: Connection, run_id: str, crashes: Sequence[Crash], now: float) -> list[RunEvent]:
    """Stop retrying a run that keeps killing its workers. `crashes` are those that count against it."""
    held_up = (
        f"A worker whose event loop a step blocks for {HELD_UP_S:g} s, and that sends no heartbeat after that, counts as dead. "
    )
    told = "; ".join(f"{crash.worker} at {from_time(crash.at):%Y-%m-%d %H:%M:%S} UTC" for crash in crashes)
    error = {
        "error": "RunAbandonedError",
        "message": f"The process that drove this run died {len(crashes)} times soon after it began the same step, and no other run "
        f"explains it, so the run is not tried again. The workers, and their last heartbeats: {told}. "
        f"{held_up if connection.dialect.name == 'postgres' else ''}"
        "The thread keeps all finished steps. Look at what that step does (memory, native code, os._exit) before sending it again.",
    }
    run = _run(connection, run_id)
    sent_messages.leave(connection, run, now)
    events = _end_run(connection, run, "error", error, (NewEvent("error", wire.encode(error)),), now)
    interrupts.abandon(connection, run)
    waiting = interrupts_to_text(interrupts.open_interrupts(connection, run.thread_id))
    connection.execute(
        "UPDATE threads SET status = ?, interrupts = ?, error = ?, updated_at = ? WHERE thread_id = ?",
        (
            "busy" if _has_more(connection, run.thread_id, run_id, now) else "error",
            waiting,
            dumps(error),
            now,
            run.thread_id,
        ),
    )
    return events


def end_unread(connection: Connection, thread_id: str, run_id: str, said: NewEvent, now: float) -> list[RunEvent]:
    """Free the thread of a run that ended because its row can't be read. Answers that the run brought can be given again."""
    interrupts.settle(connection, thread_id, run_id, None, succeeded=False)
    events = insert_events(connection, thread_id, run_id, [said, end_event(run_id, "error")], now)
    _free_thread(connection, thread_id, run_id, now)
    return events


def _run(connection: Connection, run_id: str) -> Run:
    return run_from_row(connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone())


def _end_run(
    connection: Connection, run: Run, status: RunStatus, error: Json | None, events: Sequence[NewEvent], now: float
) -> list[RunEvent]:
    """End a run that nobody drives."""
    connection.change_all([*_run_changes(run, status, error, None, now)])
    statements.forget_replaced(connection, run.thread_id, run.run_id)
    _tell_of_end(connection, run, status, error, now)
    return insert_events(connection, run.thread_id, run.run_id, [*events, end_event(run.run_id, status)], now)


def _run_changes(
    run: Run, status: RunStatus, error: Json | None, result: bytes | Document | None, now: float
) -> Iterator[Change]:
    if isinstance(result, Document):
        yield from document_insertions([(run.thread_id, result)])
    yield (
        "UPDATE runs SET status = ?, error = ?, request = ?, result = ?, result_document = ?, updated_at = ?, finished_at = ?"
        " WHERE run_id = ?",
        (
            status,
            None if error is None else dumps(error),
            # Secrets in the request were only needed to drive the run.
            request_to_text(run.request.without_secrets()),
            *text_columns(result),
            now,
            now,
            run.run_id,
        ),
    )


def _ended(run: Run, status: RunStatus, error: Json | None, now: float) -> Run:
    """The run as `_run_changes` stores it."""
    return replace(run, status=status, error=error, request=run.request.without_secrets(), updated_at=from_time(now))


def _tell_of_end(
    connection: Connection, run: Run, status: RunStatus, error: Json | None, now: float, *, paused: bool = False
) -> None:
    """What follows from the end of a run for others: its webhook, its thread's end, its parent."""
    insert_webhook(connection, run, _webhook_body(connection, run, status, error, now))
    if run.request.keep_if_asked and paused:
        connection.execute("UPDATE threads SET temporary = 0 WHERE thread_id = ?", (run.thread_id,))
    elif run.request.delete_thread_after:
        connection.execute("UPDATE threads SET expires_at = ? WHERE thread_id = ?", (now + TEMPORARY_THREAD_S, run.thread_id))
    if run.request.background:
        wake_parent(connection, run, status, error, now, paused=paused)
        if status == "interrupted":
            hand_on(connection, run)


def _webhook_body(connection: Connection, run: Run, status: RunStatus, error: Json | None, now: float) -> bytes:
    """The webhook's message: the run as it ended, with the thread's values."""
    if run.request.webhook is None:
        return b""
    told = {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "assistant_id": run.request.assistant_id,
        "status": status,
        "metadata": run.metadata,
        "created_at": run.created_at.isoformat(),
        "updated_at": from_time(now).isoformat(),
        "error": error,
    }
    # The values are already JSON.
    return wire.encode(told)[:-1] + b',"values":' + (read_values(connection, run.thread_id) or b"null") + b"}"


def _thread_changes(
    connection: Connection, lease: Lease, outcome: RunOutcome, now: float, events: int, standing: Row | None
) -> Iterator[Change]:
    """How the thread changes at the end of its run, with so many more events. `standing` is what was found before, if that still holds."""
    if outcome.titles:
        _change_title(connection, lease.thread_id, outcome.titles)
    waiting: list[PendingInterrupt] = []
    if standing is None or standing["has_asked"] or outcome.interrupts:
        succeeded = outcome.status == "success"
        interrupts.settle(connection, lease.thread_id, lease.run_id, outcome.interrupts, now=now, succeeded=succeeded)
        waiting = interrupts.open_interrupts(connection, lease.thread_id)
    more = _has_more(connection, lease.thread_id, lease.run_id, now) if standing is None else standing["has_more"]
    if more and waiting and hold_wakes(connection, lease.thread_id):
        more = _has_more(connection, lease.thread_id, lease.run_id, now)
    # A run that never began does not change what the thread waits for: the error belongs to the run alone.
    as_before = outcome.nothing_ran and bool(waiting)
    yield from value_changes(lease.thread_id, outcome.values)
    yield (
        "UPDATE threads SET status = ?, interrupts = ?, error = ?, updated_at = ?,"
        " state_updated_at = ?, lease_holder = NULL, lease_run = NULL, last_seq = last_seq + ? WHERE thread_id = ?",
        (
            "busy" if more else "interrupted" if as_before else outcome.thread_status,
            interrupts_to_text(waiting),
            None if outcome.error is None or as_before else dumps(outcome.error),
            now,
            now,
            events,
            lease.thread_id,
        ),
    )


def _change_title(connection: Connection, thread_id: str, titles: Mapping[str, str | None]) -> None:
    row = connection.execute("SELECT metadata FROM threads WHERE thread_id = ?", (thread_id,)).fetchone()
    metadata = loads(row["metadata"])
    old = metadata.get("title")
    if old not in titles:
        return
    del metadata["title"]
    if new := titles[old]:
        metadata["title"] = new
    connection.execute("UPDATE threads SET metadata = ? WHERE thread_id = ?", (dumps(metadata), thread_id))


def _free_thread(connection: Connection, thread_id: str, run_id: str, now: float, *, interrupted: bool = False) -> None:
    """Return the thread to the status in which the last finished run left it, unless another run or hold has it now."""
    waiting = interrupts.open_interrupts(connection, thread_id)
    row = connection.execute("SELECT error, lease_run FROM threads WHERE thread_id = ?", (thread_id,)).fetchone()
    if row is None or row["lease_run"] not in (None, run_id):
        return
    at_rest = "interrupted" if waiting or interrupted else "error" if row["error"] else "idle"
    if waiting:
        hold_wakes(connection, thread_id)
    connection.execute(
        "UPDATE threads SET status = ?, interrupts = ?, updated_at = ?, lease_holder = NULL, lease_run = NULL WHERE thread_id = ?",
        ("busy" if _has_more(connection, thread_id, "", now) else at_rest, interrupts_to_text(waiting), now, thread_id),
    )


def _has_more(connection: Connection, thread_id: str, but: str, now: float) -> bool:
    row = connection.execute(
        f"SELECT 1 FROM runs AS o WHERE thread_id = ? AND run_id <> ? AND {_WAITS}",  # noqa: S608 - fixed text
        (thread_id, but, now),
    ).fetchone()
    return row is not None


def _roll_back(connection: Connection, lease: Lease, run: Run, outcome: RunOutcome, now: float) -> None:
    """End a driven run as if it had never existed. If an effect requires its steps to be kept (`must_keep_steps`), leave its thread as a
    stopped run would."""
    keeps_steps = effect_journal.must_keep_steps(connection, run)
    if keeps_steps:
        connection.change_all([*_thread_changes(connection, lease, outcome, now, 0, None)])
    _forget(connection, run, keeps_steps=keeps_steps)
    if not keeps_steps:
        _free_thread(connection, lease.thread_id, lease.run_id, now)


def _forget(connection: Connection, run: Run, *, keeps_steps: bool) -> None:
    """Delete the run with its events, interrupts and writes. Its effects on the outside world have happened, so the journal of effects
    stays. With `keeps_steps`, its checkpoints and the answers it received stay too."""
    if keeps_steps:
        statements.forget_replaced(connection, run.thread_id, run.run_id)
    else:
        interrupts.take_back(connection, run.thread_id, run.run_id)
        statements.delete_runs(connection, run.thread_id, [run.run_id])
        effect_journal.take_back(connection, run)
        sent_messages.forget(connection, run)
    connection.execute("DELETE FROM events WHERE thread_id = ? AND run_id = ?", (run.thread_id, run.run_id))
    connection.execute("DELETE FROM steps WHERE run_id = ?", (run.run_id,))
    connection.execute("DELETE FROM runs WHERE run_id = ?", (run.run_id,))
    if run.request.background:
        go_back(connection, run)


def _tell_gone(connection: Connection, run: Run, now: float) -> list[RunEvent]:
    """Add the end event of a run that was rolled back, all that is left of it: followers of the thread were told that the run began, and
    wait for its end."""
    return insert_events(connection, run.thread_id, run.run_id, [end_event(run.run_id, "interrupted")], now)
