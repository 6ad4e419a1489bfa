"""A thread's interrupts and their answers. Each answer is accepted once, by compare-and-swap.

```
            ask                       take_answers
(nothing) ──────> pending ────────────────────────> answered (by which run, with which answer)
                     │  ^                              │
          settle     │  └──────────────────────────────┘ settle: asked again, or the answering run was rolled back, or it
                     v                                   did not succeed and no task has received the answer
                  dropped   the thread continued without it
```

Functions of a connection, for use inside a transaction of the queue.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from stepwell.answers.client_tools import is_device_request
from stepwell.database.records.types import DeviceClaim
from stepwell.database.rows import dumps, from_time, loads
from stepwell.database.types import BareAnswer, PendingInterrupt, Run
from stepwell.errors import AnswerShapeError, InterruptAnsweredError, InterruptClaimedError, ResumeError
from stepwell.sql import Connection, Row

# LangGraph stores a task's answers with the task, and passes them to it whenever it runs again. If an answer is stored for a task of which
# no interrupt is known here, it was given to a task inside a tool, which may be this interrupt's task.
_TAKEN = """
EXISTS (SELECT 1 FROM writes AS w WHERE w.thread_id = interrupts.thread_id AND w.channel = '__resume__'
  AND (w.task_id = interrupts.task_id OR (w.run_id = interrupts.answered_by
    AND w.task_id NOT IN (SELECT o.task_id FROM interrupts AS o WHERE o.thread_id = w.thread_id))))
"""
_WAITING = """
(state = 'answered' AND EXISTS (SELECT 1 FROM runs WHERE run_id = answered_by AND status = 'pending' AND attempt = 0))
"""
_OPEN_AGAIN = "UPDATE interrupts SET state = 'pending', answer_hash = NULL, answered_by = NULL"
CLAIM_ID = "claim_id"
"""Key under which a device's answer names its claim. It is not passed on to the graph."""


@dataclass(frozen=True)
class Rejoin:
    """The run that was already given every one of these answers."""

    run_id: str


@dataclass(frozen=True)
class TakenAnswers:
    """The new answers, and the run that asked."""

    answers: Mapping[str, Any]
    asked_by: str


@dataclass(frozen=True)
class AnswerSituation:
    """The circumstances in which answers arrive."""

    now: float
    sent_at: float = float("inf")
    """When the answers arrived; they may have waited since."""
    busy: bool = False
    """A run is running or waiting."""
    elsewhere: bool = False
    """The checkpoint that came with the answers is not the one that asks."""
    checked: Mapping[str, AnswerShapeError | None] | None = None
    """As in `Admission`."""


def ask(connection: Connection, thread_id: str, run_id: str, interrupts: Sequence[PendingInterrupt], now: float) -> None:
    """Open these interrupts for answers. An interrupt that is already known keeps its state, and only gets its task id if that is known
    now."""
    for interrupt in interrupts:
        connection.execute(
            "INSERT INTO interrupts (thread_id, interrupt_id, ordinal, state, value, namespace, task_id, response_schema, asked_by,"
            " asker, created_at, owner) SELECT ?, ?, COALESCE(MAX(ordinal), 0) + 1, 'pending', ?, ?, ?, ?, ?, ?, ?,"
            " (SELECT owner FROM threads WHERE thread_id = ?) FROM interrupts WHERE thread_id = ?"
            " ON CONFLICT (thread_id, interrupt_id) DO UPDATE SET task_id = excluded.task_id WHERE excluded.task_id <> ''",
            (
                thread_id,
                interrupt.interrupt_id,
                dumps(interrupt.value),
                interrupt.namespace,
                interrupt.task_id,
                None if interrupt.response_schema is None else dumps(interrupt.response_schema),
                run_id,
                interrupt.asker,
                now,
                thread_id,
                thread_id,
            ),
        )


def settle(
    connection: Connection,
    thread_id: str,
    run_id: str,
    interrupts: Sequence[PendingInterrupt] | None,
    *,
    now: float = 0.0,
    succeeded: bool = True,
) -> None:
    """A run has ended with these interrupts open; those of them whose answer waits in a queued run stay answered. All other interrupts are
    dropped, even if their answer is waiting: the run that brings the answer will report that.

    After a run that failed, an answer that a task has received stays with it, and the others can be given again. `None`: the open
    interrupts are not known, so existing ones keep their state.
    """
    if not succeeded:
        connection.execute(
            f"{_OPEN_AGAIN} WHERE thread_id = ? AND answered_by = ? AND state = 'answered' AND NOT {_TAKEN}",
            (thread_id, run_id),
        )
    if interrupts is None:
        return
    ask(connection, thread_id, run_id, interrupts, now)
    still_asked = [interrupt.interrupt_id for interrupt in interrupts]
    if still_asked:  # SQLite would read the whole table for an empty list
        _ask_again(connection, thread_id, run_id, still_asked, succeeded=succeeded)
    connection.execute(
        "UPDATE interrupts SET state = 'dropped' WHERE thread_id = ? AND interrupt_id NOT IN (SELECT value FROM json_each(?))"  # noqa: S608 - fixed text
        f" AND (state = 'pending' OR {_WAITING})",
        (thread_id, dumps(still_asked)),
    )


def _ask_again(connection: Connection, thread_id: str, run_id: str, still_asked: Sequence[str], *, succeeded: bool) -> None:
    """Reopen interrupts that were answered or dropped, unless their answer waits in a run, or a task has received it."""
    marks = ",".join("?" * len(still_asked))
    connection.execute(
        f"{_OPEN_AGAIN}, asked_by = ? WHERE thread_id = ? AND interrupt_id IN ({marks}) AND state <> 'pending'"  # noqa: S608 - only marks
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = answered_by AND status = 'pending')"
        f" AND (? = 1 OR state = 'dropped' OR NOT {_TAKEN})",
        (run_id, thread_id, *still_asked, succeeded),
    )


def abandon(connection: Connection, run: Run) -> None:
    """Settle the interrupts of a running run that ends when nobody can ask LangGraph which interrupts are open."""
    settle(connection, run.thread_id, run.run_id, None, succeeded=False)
    if not run.request.resume:
        # If the run's message has reached a checkpoint, the thread has passed the interrupts that were open before.
        connection.execute(
            f"UPDATE interrupts SET state = 'dropped' WHERE thread_id = :thread AND (state = 'pending' OR {_WAITING})"  # noqa: S608
            " AND asked_by <> :run AND EXISTS"
            " (SELECT 1 FROM checkpoints WHERE thread_id = :thread AND run_id = :run AND checkpoint_ns = '')",
            {"thread": run.thread_id, "run": run.run_id},
        )


def take_back(connection: Connection, thread_id: str, run_id: str) -> None:
    """A run is rolled back: the interrupts it answered are open again, those it asked are deleted."""
    connection.execute("DELETE FROM interrupts WHERE thread_id = ? AND asked_by = ?", (thread_id, run_id))
    connection.execute(f"{_OPEN_AGAIN} WHERE thread_id = ? AND answered_by = ? AND state = 'answered'", (thread_id, run_id))


def open_interrupts(connection: Connection, thread_id: str) -> list[PendingInterrupt]:
    """The thread's open interrupts, in the order they were first seen."""
    rows = connection.execute(
        "SELECT * FROM interrupts WHERE thread_id = ? AND state = 'pending' ORDER BY ordinal", (thread_id,)
    )
    return [question_from_row(row) for row in rows]


def question_from_row(row: Row) -> PendingInterrupt:
    return PendingInterrupt(
        row["interrupt_id"],
        loads(row["value"]),
        row["namespace"],
        row["task_id"],
        loads(row["response_schema"]),
        row["asker"],
    )


def take_answers(
    connection: Connection,
    thread_id: str,
    answers: Mapping[str, Any] | BareAnswer,
    run_id: str,
    situation: AnswerSituation,
) -> TakenAnswers | Rejoin:
    """Match answers with open interrupts and accept them for `run_id`."""
    if isinstance(answers, BareAnswer):
        found = _name_the_interrupt(connection, thread_id, answers, situation)
        if isinstance(found, Rejoin):
            return found
        answers = found
    rows = [_find_row(connection, thread_id, interrupt_id) for interrupt_id in answers]
    fresh: dict[str, Any] = {}
    for row, sent in zip(rows, answers.values(), strict=True):
        answer, claim_id = _split_answer(row, sent)
        if row["state"] == "pending":
            _require_claim(row, claim_id, situation.now)
            fresh[row["interrupt_id"]] = answer
        elif row["state"] == "dropped" or row["answer_hash"] != _hash(answer):
            raise _settled_error(row)
    if not fresh:
        return Rejoin(rows[0]["answered_by"])
    if situation.elsewhere:
        raise ResumeError(
            "The answer's checkpoint is not the one that asks. Send it without a checkpoint, or with the thread's newest.",
            tuple(fresh),
        )
    _require_checked(fresh, situation.checked)
    for interrupt_id, answer in fresh.items():
        connection.execute(
            "UPDATE interrupts SET state = 'answered', answer_hash = ?, answered_by = ?, claim_id = NULL, claim_device = NULL,"
            " claim_expires_at = NULL WHERE thread_id = ? AND interrupt_id = ?",
            (_hash(answer), run_id, thread_id, interrupt_id),
        )
    return TakenAnswers(fresh, next(row["asked_by"] for row in rows if row["interrupt_id"] in fresh))


def find_unshown(connection: Connection, thread_id: str, asked_by: str | None, interrupt_ids: Sequence[str]) -> list[str]:
    """Which of the given open interrupts, or of those that the run `asked_by` asks, have not been shown to anyone."""
    rows = connection.execute(
        "SELECT interrupt_id, asked_by FROM interrupts WHERE thread_id = ? AND state = 'pending' AND shown_at IS NULL",
        (thread_id,),
    )
    return [row["interrupt_id"] for row in rows if row["asked_by"] == asked_by or row["interrupt_id"] in interrupt_ids]


def note_shown(connection: Connection, thread_id: str, interrupt_ids: Sequence[str], now: float) -> None:
    connection.executemany(
        "UPDATE interrupts SET shown_at = ? WHERE thread_id = ? AND interrupt_id = ? AND shown_at IS NULL",
        [(now, thread_id, interrupt_id) for interrupt_id in interrupt_ids],
    )


def is_executed_by_a_device(row: Row) -> bool:
    """Whether a device carries out what the interrupt asks, so that it can be claimed; otherwise a person answers it."""
    return is_device_request(loads(row["value"]))


def claim_in(row: Row, now: float) -> DeviceClaim | None:
    """The valid claim on an interrupt, if any."""
    if row["claim_id"] is None or row["claim_expires_at"] <= now:
        return None
    return DeviceClaim(row["claim_device"], from_time(row["claim_expires_at"]))


def claimed_error(interrupt_id: str, claim: DeviceClaim) -> InterruptClaimedError:
    until = claim.expires_at.isoformat(timespec="seconds")
    return InterruptClaimedError(
        f"The interrupt '{interrupt_id}' is being carried out by another device, '{claim.device_id}', whose claim lasts until {until}. "
        "Wait for it, or try again then.",
        (interrupt_id,),
        device_id=claim.device_id,
        expires_at=claim.expires_at,
    )


def _split_answer(row: Row, answer: Any) -> tuple[Any, str | None]:
    """A device's answer without its claim, and the claim's id. They are split because equal results are the same answer, whichever device
    sends them."""
    if not isinstance(answer, Mapping) or CLAIM_ID not in answer or not is_executed_by_a_device(row):
        return answer, None
    return {key: value for key, value in answer.items() if key != CLAIM_ID}, answer[CLAIM_ID]


def _require_claim(row: Row, claim_id: str | None, now: float) -> None:
    """While a claim is valid, only its holder may answer."""
    if (claim := claim_in(row, now)) and row["claim_id"] != claim_id:
        raise claimed_error(row["interrupt_id"], claim)


def _require_checked(fresh: Mapping[str, Any], checked: Mapping[str, AnswerShapeError | None] | None) -> None:
    """Refuse answers that did not pass their check, or were not checked: the check came before this transaction, and another interrupt may
    have come since."""
    if checked is None:
        return
    for interrupt_id in fresh:
        if interrupt_id not in checked:
            fact = "was asked while the answer was on its way. Read it, and send the answer again."
            raise ResumeError(f"The question '{interrupt_id}' {fact}", (interrupt_id,))
        if fault := checked[interrupt_id]:
            raise fault


def _name_the_interrupt(
    connection: Connection, thread_id: str, bare: BareAnswer, situation: AnswerSituation
) -> Mapping[str, Any] | Rejoin:
    """The answer with the id of the interrupt it is meant for; if it repeats the thread's last answer, the run that received that."""
    waiting = tuple(pending.interrupt_id for pending in open_interrupts(connection, thread_id))
    if fact := _ambiguity(connection, thread_id, waiting, bare, situation):
        raise ResumeError(
            f"The resume does not say which question it answers, and {fact}. "
            f'Send {{"resume": {{"<interrupt id>": answer}}}} with one of: {", ".join(waiting) or "none is open"}.',
            waiting,
        )
    if waiting:
        return {waiting[0]: bare.answer}
    last = connection.execute(
        "SELECT i.* FROM interrupts i JOIN runs r ON r.run_id = i.answered_by WHERE i.thread_id = ? AND i.state = 'answered'"
        " AND r.number = (SELECT MAX(number) FROM runs WHERE thread_id = i.thread_id)",
        (thread_id,),
    ).fetchone()
    if last is None:
        raise ResumeError("Nothing to resume: no question is open on this thread. Send an input instead.")
    if last["answer_hash"] != _hash(_split_answer(last, bare.answer)[0]):
        raise _settled_error(last)
    return Rejoin(last["answered_by"])


def _ambiguity(
    connection: Connection, thread_id: str, waiting: Sequence[str], bare: BareAnswer, situation: AnswerSituation
) -> str | None:
    """Why a bare answer might not be meant for what is open now, if so. If nothing is open, it can only be a repeat."""
    if bare.refused:
        return "this server accepts no answer without an id"
    if not waiting:
        return None
    if situation.busy:
        return "a run is under way"
    if len(waiting) > 1:
        return f"{len(waiting)} questions are open"
    if situation.elsewhere:
        return "its checkpoint is not the one that asks"
    if _may_be_repeated(connection, thread_id, waiting[0], situation.sent_at):
        return "the open question was asked right after another one of the same checkpoint, and nobody had seen it when this was sent"
    return None


def _may_be_repeated(connection: Connection, thread_id: str, interrupt_id: str, sent_at: float) -> bool:
    """Whether the bare answer may be a repeat of the previous one: the run that asks has received an answer and is still at the same
    checkpoint, which a repeat would name too, and the sender can't have seen the new question."""
    row = connection.execute(
        "SELECT i.shown_at FROM interrupts AS i JOIN runs AS r ON r.run_id = i.asked_by"
        " WHERE i.thread_id = ? AND i.interrupt_id = ? AND r.resumes IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM checkpoints AS c WHERE c.thread_id = i.thread_id AND c.run_id = r.run_id AND c.checkpoint_ns = '')",
        (thread_id, interrupt_id),
    ).fetchone()
    return row is not None and (row["shown_at"] is None or sent_at < row["shown_at"])


def _find_row(connection: Connection, thread_id: str, interrupt_id: str) -> Row:
    row: Row | None = connection.execute(
        "SELECT * FROM interrupts WHERE thread_id = ? AND interrupt_id = ?", (thread_id, interrupt_id)
    ).fetchone()
    if row is None:
        waiting = tuple(pending.interrupt_id for pending in open_interrupts(connection, thread_id))
        raise ResumeError(
            f"No question '{interrupt_id}' on this thread. Open questions: {', '.join(waiting) or 'none'}.", waiting
        )
    return row


def _settled_error(row: Row) -> InterruptAnsweredError:
    interrupt_id = row["interrupt_id"]
    fact = "is no longer asked: the thread went on without it" if row["state"] == "dropped" else "has another answer already"
    return InterruptAnsweredError(
        f"The question '{interrupt_id}' {fact}. Read the thread's state for what is open now.", (interrupt_id,)
    )


def _hash(answer: Any) -> str:
    return hashlib.sha256(orjson.dumps(answer, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)).hexdigest()
