"""Messages for a run that works, as functions of a connection, for use inside a transaction.

```
send ─> waiting ── give ──> given ── take, with the step that has them ──> taken
          │  ^                │
          │  └────────────────┤ the step was never stored: the next attempt gets them again
          └─ withdraw         └─ the run ended: enqueued, as the input of one more run
```
A run that pauses for an answer keeps its messages waiting: the run that goes on with the thread takes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from stepwell.database.access import all_of, owned_by
from stepwell.database.rows import dumps, from_time, loads, request_to_text
from stepwell.database.types import Lease, Run
from stepwell.errors import MessageTakenError, NoActiveRunError, NotFoundError, RunPausedError
from stepwell.sql import Clause, Connection
from stepwell.state.steering import MAX_WAITING, SteeringMessage, other_content, queue_full

SteeringState = Literal["waiting", "given", "taken", "enqueued"]

_LEFT = "state IN ('waiting', 'given')"
_OF_RUN = f"SELECT * FROM steering WHERE thread_id = ? AND run_id = ? AND {_LEFT} ORDER BY number"  # noqa: S608 - fixed text
# The request is that of the run which ended, with the messages as its input; so are the owner and the tenant, whose share it uses.
_ENQUEUE = """
INSERT INTO runs (run_id, thread_id, owner, assistant_id, status, request, metadata, multitask_strategy, due_at, later,
  created_at, updated_at, tenant)
SELECT ?, thread_id, owner, assistant_id, 'pending', ?, ?, 'enqueue', 0.0, 0, ?, ?, tenant FROM runs WHERE run_id = ?
"""


@dataclass(frozen=True)
class SentMessage:
    """A message that was sent to a run."""

    message: SteeringMessage
    run_id: str
    """The run that gets the message, or has it."""
    state: SteeringState
    created_at: datetime
    position: int = 0
    """Its place among the messages that wait for the run; 0 if it does not wait."""


def send(
    connection: Connection, owner: str | None, thread_id: str, run_id: str, messages: Sequence[SteeringMessage], now: float
) -> list[SentMessage]:
    """Let messages wait for a run; all of them or none. A message that was sent before is not sent again."""
    mine = owned_by(connection.dialect, owner, "runs", by_id=True)
    where = all_of(Clause("run_id = ? AND thread_id = ?", (run_id, thread_id)), mine)
    run = connection.execute(f"SELECT status FROM runs WHERE {where.sql}", where.bound).fetchone()  # noqa: S608 - clauses of ours
    if run is None:
        raise NotFoundError("run", run_id)
    wanted: dict[str, SteeringMessage] = {}
    for message in messages:
        if wanted.setdefault(message.id, message).content != message.content:
            raise other_content(message.id)
    new = [message for message in wanted.values() if not _is_known(connection, thread_id, message)]
    if new:
        _require_active(connection, thread_id, run_id, run["status"])
        waiting, newest = connection.execute(
            f"SELECT COUNT(CASE WHEN run_id = ? AND {_LEFT} THEN 1 END), COALESCE(MAX(number), 0) FROM steering WHERE thread_id = ?",  # noqa: S608
            (run_id, thread_id),
        ).fetchone()
        if waiting + len(new) > MAX_WAITING:
            raise queue_full()
        connection.executemany(
            "INSERT INTO steering (thread_id, message_id, run_id, number, state, content, digest, created_at)"
            " VALUES (?, ?, ?, ?, 'waiting', ?, ?, ?)",
            [
                (thread_id, message.id, run_id, number, dumps(message.content), _digest(message), now)
                for number, message in enumerate(new, newest + 1)
            ],
        )
        connection.execute("UPDATE runs SET steered = steered + ? WHERE run_id = ?", (len(new), run_id))
    sent = {each.message.id: each for each in list_sent(connection, thread_id)}
    # The content of a message that is taken already is in the thread.
    return [replace(sent[message.id], message=message) for message in messages]


def _require_active(connection: Connection, thread_id: str, run_id: str, status: str) -> None:
    if status in ("pending", "running"):
        return
    asks = connection.execute(
        "SELECT 1 FROM interrupts WHERE thread_id = ? AND asked_by = ? AND state = 'pending'", (thread_id, run_id)
    ).fetchone()
    if asks is not None:
        raise RunPausedError(
            f"Run '{run_id}' waits for an answer and reads nothing else. Answer its question, or start a run with the message, "
            "which goes on without the answer."
        )
    raise NoActiveRunError(f"Run '{run_id}' has ended. Start a run with the message.")


def _is_known(connection: Connection, thread_id: str, message: SteeringMessage) -> bool:
    row = connection.execute(
        "SELECT digest FROM steering WHERE thread_id = ? AND message_id = ?", (thread_id, message.id)
    ).fetchone()
    if row is not None and row["digest"] != _digest(message):
        raise other_content(message.id)
    return row is not None


def _digest(message: SteeringMessage) -> str:
    return hashlib.sha256(dumps(message.content).encode()).hexdigest()


def list_sent(connection: Connection, thread_id: str, *, left_only: bool = False) -> list[SentMessage]:
    """The thread's messages that were sent to its runs, in their order."""
    rows = connection.execute(
        f"SELECT * FROM steering WHERE thread_id = ? {f'AND {_LEFT}' if left_only else ''} ORDER BY number",  # noqa: S608 - fixed text
        (thread_id,),
    )
    places: dict[str, int] = {}
    sent = []
    for row in rows:
        waits = row["state"] in ("waiting", "given")
        if waits:
            places[row["run_id"]] = places.get(row["run_id"], 0) + 1
        message = SteeringMessage(row["message_id"], loads(row["content"]) or "")
        place = places[row["run_id"]] if waits else 0
        sent.append(SentMessage(message, row["run_id"], row["state"], from_time(row["created_at"]), place))
    return sent


def withdraw(connection: Connection, thread_id: str, message_id: str) -> None:
    """Delete a message that waits. The caller has checked the thread's owner."""
    row = connection.execute(
        "SELECT state FROM steering WHERE thread_id = ? AND message_id = ?", (thread_id, message_id)
    ).fetchone()
    if row is None:
        raise NotFoundError("message", message_id, "It was never sent to a run of this thread, or was withdrawn.")
    if row["state"] == "enqueued":
        raise MessageTakenError(
            f"The message '{message_id}' is the input of another run now, because its run ended first. Cancel that run."
        )
    if row["state"] != "waiting":
        raise MessageTakenError(f"The agent has read the message '{message_id}' already. Send another one that corrects it.")
    connection.execute("DELETE FROM steering WHERE thread_id = ? AND message_id = ?", (thread_id, message_id))


def give(connection: Connection, lease: Lease) -> list[SteeringMessage]:
    """The messages for the next model call of the run that holds the lease. From now on they cannot be withdrawn."""
    rows = connection.execute(_OF_RUN, (lease.thread_id, lease.run_id)).fetchall()
    if rows:
        connection.execute(
            "UPDATE steering SET state = 'given' WHERE thread_id = ? AND run_id = ? AND state = 'waiting'",
            (lease.thread_id, lease.run_id),
        )
    return [SteeringMessage(row["message_id"], loads(row["content"])) for row in rows]


def take(connection: Connection, thread_id: str, message_ids: Collection[str]) -> None:
    """Note that these messages are in the thread, in the transaction that stores them there."""
    connection.executemany(
        "UPDATE steering SET state = 'taken', content = NULL WHERE thread_id = ? AND message_id = ?",
        [(thread_id, message_id) for message_id in message_ids],
    )


def leave(connection: Connection, run: Run, now: float, *, paused: bool = False) -> None:
    """A run ends: what it has not taken becomes the input of a new run. If it paused, the messages wait for the run that goes on. Called
    before the thread is freed, with the run as it is stored."""
    if not run.steered:
        return
    rows = connection.execute(_OF_RUN, (run.thread_id, run.run_id)).fetchall()
    if not rows:
        return
    if paused:
        _hold(connection, run, len(rows))
        return
    run_id = str(uuid4())
    left = [SteeringMessage(row["message_id"], loads(row["content"])) for row in rows]
    request = replace(run.request, input=input_of(left), command=None, resume=None, checkpoint=None)
    if request.background:  # a person wrote to the task, and reads its answer; the parent was told about the run that ended
        request = replace(request, background={**request.background, "notify_parent": False})
        connection.execute(
            "UPDATE background_tasks SET run_id = ?, updated_at = ? WHERE task_id = ?", (run_id, now, run.thread_id)
        )
    metadata = dumps({**run.metadata, "steered_run_id": run.run_id})
    connection.execute(_ENQUEUE, (run_id, request_to_text(request), metadata, now, now, run.run_id))
    connection.execute(
        f"UPDATE steering SET state = 'enqueued', run_id = ?, content = NULL WHERE thread_id = ? AND run_id = ? AND {_LEFT}",  # noqa: S608
        (run_id, run.thread_id, run.run_id),
    )


def input_of(messages: Sequence[SteeringMessage]) -> dict[str, Any]:
    """The messages as the input of a run of their own."""
    return {"messages": [{"type": "human", "id": message.id, "content": message.content} for message in messages]}


def _hold(connection: Connection, run: Run, count: int) -> None:
    """Keep messages for the thread's next run: one that waits already and is due, or the one that brings the answer. A run that tells of a
    background task is held until the answer is there."""
    row = connection.execute(
        "SELECT run_id FROM runs WHERE thread_id = ? AND run_id <> ? AND status = 'pending' AND later = 0"
        " AND run_id NOT IN (SELECT wake_run FROM background_wakes WHERE parent_thread_id = ?) ORDER BY number LIMIT 1",
        (run.thread_id, run.run_id, run.thread_id),
    ).fetchone()
    connection.execute(
        f"UPDATE steering SET state = 'waiting', run_id = ? WHERE thread_id = ? AND run_id = ? AND {_LEFT}",  # noqa: S608 - fixed text
        (row["run_id"] if row else run.run_id, run.thread_id, run.run_id),
    )
    if row:
        connection.execute("UPDATE runs SET steered = steered + ? WHERE run_id = ?", (count, row["run_id"]))
    else:
        connection.execute("UPDATE threads SET held_messages = ? WHERE thread_id = ?", (count, run.thread_id))


def take_over(connection: Connection, thread_id: str, run_id: str) -> None:
    """A run was admitted on a thread with `held_messages`: it gets them."""
    moved = connection.execute(
        "UPDATE steering SET run_id = ? WHERE thread_id = ? AND state = 'waiting'"
        " AND run_id NOT IN (SELECT run_id FROM runs WHERE thread_id = ? AND status IN ('pending', 'running'))",
        (run_id, thread_id, thread_id),
    ).rowcount
    connection.execute("UPDATE runs SET steered = steered + ? WHERE run_id = ?", (moved, run_id))
    connection.execute("UPDATE threads SET held_messages = 0 WHERE thread_id = ?", (thread_id,))


def forget(connection: Connection, run: Run) -> None:
    """The run is rolled back: what it took is gone with it."""
    if run.steered:
        connection.execute("DELETE FROM steering WHERE thread_id = ? AND run_id = ?", (run.thread_id, run.run_id))
