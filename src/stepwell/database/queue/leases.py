"""Who may write to a thread: claiming, holding, giving back. Functions of a connection, for use inside a transaction.

A lease lasts as long as its worker sends heartbeats. One heartbeat, in the table `workers`, covers all leases of a worker; nothing is
written per lease:

```
claim, hold ─> leased ─ heartbeat ─> leased ... ─ finish, hand_back, release ─> free
                  │ no heartbeat until `alive_until`, or the worker has signed off
                  └──> `recover` by any worker: the run waits again, a hold's writes are dropped, the fence is raised
```
`suspects` judges which run may have killed a worker.

The fence stops late writes of a worker that was given up: it only grows, and `fence.require` refuses the holder of an older one, in the
same transaction as the write. All times come from one clock, the database's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import NamedTuple
from uuid import uuid4

from stepwell.database.access import all_of, owned_by
from stepwell.database.queue import ending, suspects
from stepwell.database.queue.types import IS_PENDING, ClaimedRun
from stepwell.database.queue.unreadable_runs import UnreadableRun, set_aside
from stepwell.database.records import thread_state
from stepwell.database.rows import dumps, run_from_row
from stepwell.database.types import Lease, Run, RunEvent
from stepwell.errors import NotFoundError, ThreadBusyError
from stepwell.sql import Clause, Connection, Row

HOLDER = "holder-"
"""Prefix of the name under which a process holds threads for something other than a run."""

# Threads nobody drives, each with its oldest run that is due (`next_run`, maintained by triggers), oldest run first.
_FREE = f"""
SELECT r.* FROM threads AS t CROSS JOIN runs AS r
WHERE r.number = t.next_run AND t.next_run IS NOT NULL AND t.lease_run IS NULL AND {suspects.FREE} ORDER BY t.next_run LIMIT :limit
"""  # noqa: S608 - fixed text
# For when more runs wait than there is room for: `_TENANTS` are the waiting tenants, in order, starting after the one whose turn was last,
# found one after the other by the index; `_OF_TENANT` are the oldest runs of one of them.
_WAITING = "t.next_run IS NOT NULL AND t.lease_run IS NULL"
_TENANTS = f"""
WITH RECURSIVE tenants(tenant) AS (
  SELECT MIN(t.tenant) FROM threads AS t WHERE {_WAITING} AND {{first}}
  UNION ALL
  SELECT (SELECT MIN(t.tenant) FROM threads AS t WHERE {_WAITING} AND t.tenant > tenants.tenant) FROM tenants
  WHERE tenants.tenant IS NOT NULL
)
SELECT tenant AS turn FROM tenants WHERE tenant IS NOT NULL {{last}} LIMIT :limit
"""  # noqa: S608 - fixed text
_TENANTS_AFTER = _TENANTS.format(first="t.tenant > :turn", last="")
_TENANTS_BEFORE = _TENANTS.format(first="t.tenant <= :turn", last="AND tenant <= :turn")
_OF_TENANT = f"""
SELECT r.*, t.tenant AS turn FROM threads AS t CROSS JOIN runs AS r
WHERE r.number = t.next_run AND {_WAITING} AND t.tenant = :tenant AND {suspects.FREE}
  AND t.thread_id NOT IN (SELECT value FROM json_each(:taken))
ORDER BY t.next_run LIMIT :limit
"""  # noqa: S608 - fixed text
_COME_DUE = "UPDATE runs SET later = 0 WHERE status = 'pending' AND later = 1 AND due_at <= ?"
_NEXT_DUE = "SELECT MIN(due_at) FROM runs WHERE status = 'pending' AND later = 1"
# When runs that cannot be driven now may be driven, and whether there are suspects.
_LATER = f"""
SELECT ({_NEXT_DUE}) AS next_due, ({suspects.NEXT}) AS next_ready, EXISTS ({suspects.ON_TRIAL}) AS on_trial,
  EXISTS ({suspects.PENDING}) AS suspected
"""
# A condition on `runs`: waiting, and could be driven now.
_WAITS = f"{IS_PENDING} AND due_at <= :now"


# A condition on `threads AS t`: leased by `:worker`, or by a worker whose heartbeat expired by `:silent`.
_LEFT = """
t.lease_run IS NOT NULL AND (t.lease_holder = CAST(:worker AS TEXT) OR t.lease_holder IS NULL OR NOT EXISTS (
  SELECT 1 FROM workers AS w WHERE w.worker = t.lease_holder AND w.alive_until > :silent))
"""
# Includes running runs whose thread is free or leased for something else: nobody drives them.
_LEFT_RUNS = f"""
SELECT r.*, CASE WHEN t.lease_run = r.run_id THEN t.lease_holder END AS holder
FROM runs AS r LEFT JOIN threads AS t ON t.thread_id = r.thread_id
WHERE r.status = 'running' AND (t.lease_run IS NULL OR t.lease_run <> r.run_id OR {_LEFT}) ORDER BY r.number
"""  # noqa: S608 - fixed text
# The newest checkpoint among those of the root graph and all that this run has stored before.
_NEWEST_CHECKPOINT = """
SELECT MAX(checkpoint_id) AS newest FROM (
  SELECT MAX(checkpoint_id) AS checkpoint_id FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = ''
  UNION ALL SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = :thread AND run_id = :run) AS stored
"""


# Leases each of these threads for its next run.
_TAKE_ALL = """
UPDATE threads SET fence = fence + 1, lease_holder = :worker, status = 'busy', origin = COALESCE(origin, {random_text}),
  lease_run = (SELECT r.run_id FROM runs AS r WHERE r.number = threads.next_run)
WHERE thread_id IN (SELECT value FROM json_each(:threads))
RETURNING thread_id, lease_run, fence, owner, origin, (SELECT MAX(checkpoint_id) FROM (
    SELECT MAX(checkpoint_id) AS checkpoint_id FROM checkpoints AS c WHERE c.thread_id = threads.thread_id AND c.checkpoint_ns = ''
    UNION ALL SELECT MAX(checkpoint_id) FROM checkpoints AS c WHERE c.thread_id = threads.thread_id AND c.run_id = threads.lease_run
  ) AS stored) AS newest
"""
_BEGIN_ALL = """
UPDATE runs SET status = 'running', attempt = attempt + 1, started_at = COALESCE(started_at, :now), updated_at = :now
WHERE run_id IN (SELECT value FROM json_each(:runs)) RETURNING *
"""


class ClaimResult(NamedTuple):
    claims: list[ClaimedRun]
    next_due: float | None
    """When to look again: when the next run becomes due, or the next trial of suspects may begin or ends."""
    set_aside: list[UnreadableRun]
    """Runs that could not be read. They ended with that error."""
    given_up: list[Run]
    """Runs that killed too many workers. They ended with that error."""
    suspected: bool
    """Whether suspects are waiting. If so, the worker must be recorded as alive, so that its death would be noticed."""
    turn: str = ""
    """The tenant whose turn was last."""


def stay_alive(connection: Connection, worker: str, until: float, since: float) -> None:
    """Extend all leases of this worker, which started at `since`, at least to the time `until`."""
    connection.execute(
        "INSERT INTO workers (worker, alive_until, since) VALUES (?, ?, ?)"
        " ON CONFLICT (worker) DO UPDATE SET alive_until = max(workers.alive_until, excluded.alive_until)",
        (worker, until, since),
    )


def leave(connection: Connection, worker: str) -> None:
    """The worker has stopped: others may take over what it has not given back."""
    connection.execute("DELETE FROM workers WHERE worker = ?", (worker,))


def leased_to(connection: Connection, worker: str) -> dict[str, str | None]:
    """This worker's runs and holds, and how each is to be stopped, if at all."""
    rows = connection.execute(
        "SELECT t.lease_run, r.cancel_action FROM threads AS t LEFT JOIN runs AS r ON r.run_id = t.lease_run"
        " WHERE t.lease_run IS NOT NULL AND t.lease_holder = ?",
        (worker,),
    )
    return {row["lease_run"]: row["cancel_action"] for row in rows}


def claim(
    connection: Connection, worker: str, limit: int, now: float, turn: str = "", *, since: float | None = None
) -> ClaimResult:
    """Claim up to `limit` runs for `worker`, which started at `since`. If more could be driven, tenants take turns, starting after
    `turn`."""
    began = now if since is None else since
    asked = connection.execute_all([(_LATER, {"now": now, "since": began, "worker": worker}), (_FREE, {"limit": limit + 1})])
    later, free = asked[0].fetchone(), asked[1].fetchall()
    next_due = later["next_due"]
    if next_due is not None and next_due <= now:
        connection.execute(_COME_DUE, (now,))
        asked = connection.execute_all([(_NEXT_DUE, ()), (_FREE, {"limit": limit + 1})])
        next_due, free = asked[0].fetchone()[0], asked[1].fetchall()
    trial = suspects.Trial([], None)
    if later["suspected"] or later["on_trial"]:
        trial = suspects.take_group(connection, worker, began, limit, now)
    rows = [row for row in trial.rows if not suspects.is_convicted(row)]
    given_up = [_give_up(connection, row, now) for row in trial.rows if suspects.is_convicted(row)]
    room = limit - len(rows)
    if len(free) <= room:
        rows += free
    else:
        picked, turn = _take_turns(connection, room, turn, [row["thread_id"] for row in rows])
        rows += picked
    claims, unread = _begin(connection, rows, worker, now)
    look_again = later["next_ready"] if trial.ends is None else trial.ends
    soonest = min((when for when in (next_due, look_again) if when is not None), default=None)
    return ClaimResult(claims, soonest, unread, given_up, bool(later["suspected"]), turn)


def _take_turns(connection: Connection, room: int, turn: str, taken: list[str]) -> tuple[list[Row], str]:
    """The oldest run of each tenant in turn, without threads already taken, until there is no room; also returns the tenant whose turn was
    last."""
    names = {"turn": turn, "limit": room}
    after, before = connection.execute_all([(_TENANTS_AFTER, names), (_TENANTS_BEFORE, names)])
    tenants = [row["turn"] for row in (*after, *before)][:room]
    picked: list[Row] = []
    while tenants and len(picked) < room:
        share = {"limit": -(-(room - len(picked)) // len(tenants)), "taken": dumps(taken)}
        asked = connection.execute_all([(_OF_TENANT, {"tenant": tenant, **share}) for tenant in tenants])
        found = [each.fetchall() for each in asked]
        in_turn = [row for turns in zip_longest(*found) for row in turns if row is not None][: room - len(picked)]
        picked += in_turn
        taken += [row["thread_id"] for row in in_turn]
        tenants = [tenant for tenant, rows in zip(tenants, found, strict=True) if len(rows) == share["limit"]]
    return picked, picked[-1]["turn"] if picked else turn


def _begin(
    connection: Connection, rows: Sequence[Row], worker: str, now: float
) -> tuple[list[ClaimedRun], list[UnreadableRun]]:
    """Begin all these runs at once, because in Postgres each statement is a round trip. A run that can't be read must not stop the others
    from being claimed."""
    runs, unread = [], []
    for row in rows:
        try:
            runs.append(run_from_row(row))
        except Exception as error:
            unread.append(set_aside(connection, row, error, now))
    if not runs:
        return [], unread
    threads = {"worker": worker, "threads": dumps([run.thread_id for run in runs])}
    begin = {"now": now, "runs": dumps([run.run_id for run in runs])}
    take_all = _TAKE_ALL.format(random_text=connection.dialect.random_text)
    taken, begun = connection.execute_all([(take_all, threads), (_BEGIN_ALL, begin)])
    leases = {
        row["lease_run"]: Lease(
            row["thread_id"], row["lease_run"], row["fence"], row["owner"], worker, row["origin"], row["newest"]
        )
        for row in taken
    }
    claims = {row["run_id"]: ClaimedRun(run_from_row(row), leases[row["run_id"]]) for row in begun}
    return [claims[run.run_id] for run in runs], unread


def _take(connection: Connection, thread_id: str, run_id: str, worker: str) -> Lease:
    row = connection.execute(
        "UPDATE threads SET fence = fence + 1, lease_holder = ?, lease_run = ?, origin = COALESCE(origin, ?)"
        " WHERE thread_id = ? RETURNING fence, owner, origin",
        (worker, run_id, uuid4().hex, thread_id),
    ).fetchone()
    newest = connection.execute(_NEWEST_CHECKPOINT, {"thread": thread_id, "run": run_id}).fetchone()["newest"]
    return Lease(thread_id, run_id, row["fence"], row["owner"], worker, row["origin"], newest)


def hold(connection: Connection, owner: str | None, thread_id: str, holder: str, now: float, worker: str = "") -> Lease:
    """Lease a thread for something other than a run."""
    where = all_of(Clause("thread_id = ?", (thread_id,)), owned_by(connection.dialect, owner, by_id=True))
    row = connection.execute(f"SELECT lease_run FROM threads WHERE {where.sql}", where.bound).fetchone()  # noqa: S608 - clauses of ours
    if row is None:
        raise NotFoundError("thread", thread_id)
    pending = connection.execute(
        f"SELECT 1 FROM runs WHERE thread_id = :thread AND {_WAITS}",  # noqa: S608 - fixed text
        {"thread": thread_id, "now": now},
    ).fetchone()
    if row["lease_run"] is not None or pending:
        raise ThreadBusyError(f"Thread '{thread_id}' has a run under way. Wait for it to end, or cancel it, then try again.")
    return _take(connection, thread_id, holder, worker)


def release(connection: Connection, lease: Lease) -> None:
    """Give a thread back. Does nothing if the lease is lost."""
    connection.execute(
        "UPDATE threads SET lease_holder = NULL, lease_run = NULL"
        " WHERE thread_id = ? AND fence = ? AND lease_run = ? AND lease_holder = ?",
        (lease.thread_id, lease.fence, lease.run_id, lease.worker),
    )


def hand_back(connection: Connection, lease: Lease, now: float) -> list[RunEvent] | None:
    """Leave the run to a later attempt. If it is to be stopped, it ends now, and its last events are returned.

    The caller has checked that the lease still holds.
    """
    row = connection.execute(
        "UPDATE runs SET status = 'pending', updated_at = ? WHERE run_id = ? RETURNING cancel_action, cancel_reason",
        (now, lease.run_id),
    ).fetchone()
    release(connection, lease)
    if not row["cancel_action"]:
        return None
    return ending.end_pending(connection, lease.run_id, row["cancel_action"], row["cancel_reason"], now)


class Recovered(NamedTuple):
    runs: list[Run]
    set_aside: list[UnreadableRun]


def anything_left(connection: Connection, silent: float) -> bool:
    """Whether a worker whose heartbeat expired by `silent` has a lease."""
    names = {"silent": silent, "worker": None}
    return connection.execute(f"SELECT 1 FROM threads AS t WHERE {_LEFT} LIMIT 1", names).fetchone() is not None  # noqa: S608 - fixed


class Silence(NamedTuple):
    """When a worker counts as dead."""

    since: float
    """Workers whose heartbeat expired by this time are dead."""
    lease_s: float
    """How long a heartbeat is valid, at most."""
    known: Sequence[str] | None
    """The workers of the only process that uses the database: all others are certainly dead. `None`: there may be other processes."""


def recover(connection: Connection, worker: str | None, now: float, silence: Silence) -> Recovered:
    """Take back what nobody works on: leases of `worker`, which has just started, and of dead workers."""
    deaths = _bury(connection, worker, silence)
    names = {"silent": silence.since, "worker": worker}
    left = connection.execute(f"SELECT t.thread_id, t.lease_run FROM threads AS t WHERE {_LEFT}", names).fetchall()  # noqa: S608 - fixed
    rows = connection.execute(_LEFT_RUNS, names).fetchall()
    if silence.known is not None and deaths and not any(suspects.was_tried(row) for row in rows):
        suspects.forgive_waiting(connection)
    _take_away(connection, left)
    readable, unread = [], []
    for row in rows:
        try:
            run_from_row(row)
        except Exception as error:
            unread.append(set_aside(connection, row, error, now))
        else:
            readable.append(row)
    suspects.charge(connection, readable, deaths)
    return Recovered([_recover_one(connection, row, now, silence) for row in readable], unread)


def _bury(connection: Connection, worker: str | None, silence: Silence) -> dict[str, suspects.Death]:
    """Delete the dead workers, and return when each last sent a heartbeat. Holders are left out, since they drove nothing."""
    names = {"silent": silence.since, "worker": worker}
    gone = "DELETE FROM workers WHERE alive_until <= :silent OR worker = CAST(:worker AS TEXT) RETURNING *"
    rows = connection.execute(gone, names).fetchall()
    if silence.known is not None:
        strangers = "DELETE FROM workers WHERE worker NOT IN (SELECT value FROM json_each(?)) RETURNING *"
        rows += connection.execute(strangers, (dumps(list(silence.known)),)).fetchall()
    return {
        row["worker"]: suspects.Death(row["worker"], row["since"], row["alive_until"] - silence.lease_s)
        for row in rows
        if not row["worker"].startswith(HOLDER)
    }


def give_back(connection: Connection, worker: str, leased: Collection[str], now: float) -> Recovered:
    """Take back leases that `worker` never learnt of. None of these runs has begun, so none becomes a suspect."""
    left = connection.execute(
        "SELECT thread_id, lease_run FROM threads"
        " WHERE lease_run IS NOT NULL AND lease_holder = ? AND lease_run IN (SELECT value FROM json_each(?))",
        (worker, dumps(sorted(leased))),
    ).fetchall()
    _take_away(connection, left)
    runs = []
    for row in left:
        waiting = connection.execute(
            "UPDATE runs SET status = 'pending', updated_at = ? WHERE run_id = ? AND status = 'running' RETURNING *",
            (now, row["lease_run"]),
        ).fetchone()
        if waiting is None:  # a hold
            continue
        if waiting["cancel_action"]:
            ending.end_pending(connection, waiting["run_id"], waiting["cancel_action"], waiting["cancel_reason"], now)
        runs.append(run_from_row(waiting))
    return Recovered(runs, [])


def _take_away(connection: Connection, left: Sequence[Row]) -> None:
    """Also raises the fence: code that outlived its worker's lease must not write any more."""
    thread_state.forget_unsaved(connection, [row for row in left if row["lease_run"].startswith("hold:")])
    connection.executemany(
        "UPDATE threads SET fence = fence + 1, lease_holder = NULL, lease_run = NULL WHERE thread_id = ?",
        [(row["thread_id"],) for row in left],
    )


def _recover_one(connection: Connection, row: Row, now: float, silence: Silence) -> Run:
    connection.execute("UPDATE runs SET status = 'pending', updated_at = ? WHERE run_id = ?", (now, row["run_id"]))
    waiting = connection.execute("SELECT * FROM runs WHERE run_id = ?", (row["run_id"],)).fetchone()
    if row["cancel_action"]:
        ending.end_pending(connection, row["run_id"], row["cancel_action"], row["cancel_reason"], now)
    elif silence.known is not None and suspects.is_convicted(waiting):
        # If there are other processes, a silent worker may come back, so a run is then only given up after it has waited once more.
        return _give_up(connection, waiting, now)
    left = connection.execute("SELECT * FROM runs WHERE run_id = ?", (row["run_id"],)).fetchone()
    return run_from_row(left or row)


def _give_up(connection: Connection, row: Row, now: float) -> Run:
    ending.give_up(connection, row["run_id"], suspects.counted(row), now)
    return run_from_row(connection.execute("SELECT * FROM runs WHERE run_id = ?", (row["run_id"],)).fetchone())
