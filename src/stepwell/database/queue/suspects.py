"""Finds the run that kills its workers when several runs were running each time a worker died.

```
          stores a checkpoint, or its worker outlives the trial: all crashes are forgotten
     ┌─────────────────────────────────────────────────────────────────────────────────────┐
     v                                                                                     │
   FREE ── worker dies ──> FREE, 1 crash ── worker dies ──> SUSPECT                        │
   driven like any          like any                          in one group with all that   │
                                                              became suspects with it      │
                                                                 │     ^                   │
                          its worker has lived for `wait_s`, and │     │                   │
                          has no other group on trial            v     │                   │
                                                              ON TRIAL ┼───────────────────┘
                                                                 │     │
   worker dies with several suspects ────────────────────────────┼────>┤ the group is halved
   worker dies with this suspect alone ──────────────────────────┤     │
     had the worker lived at least four times as long before it  │     │
     took the run as it lived with it?   no ─────────────────────┼────>┤ waits twice as long
                                         yes: this death counts ─┼────>┘ the same
                                         the fifth that counts   └──> GIVEN UP
```
Free runs are driven beside suspects, so only suspects wait for a trial. Halving finds one bad run among n after about log2(n) deaths.

Three things are no evidence against a run; a crash logged for them is removed, or none is logged:
- A worker that signs off has not died.
- A worker that was only silent (frozen, cut off from the database, blocked by a step) sends a heartbeat again: `forgive`.
- The only process of an installation dies while every suspect waits: something else kills it, so each suspect's last crash is forgiven.

A death only counts if the worker had lived long enough without the run. The reason: if something outside kills workers at random, a run
that is running a fifth of the time is present at one death in five, and at five in a row once in three thousand times. A run that kills its
worker is present each time.

The crash log is JSON in the run's row: `crashes`, `wait_s` and `lived_s` are derived from it. Functions of a connection, for use inside
a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple
from uuid import uuid4

from stepwell.database.queue.types import IS_PENDING, MAX_COUNTED_CRASHES
from stepwell.database.rows import dumps, loads
from stepwell.sql import Connection, Row

_SUSPECT_AFTER = 2
_CALM = 4.0
"""A death counts if the worker had lived at least this many times as long before it took the run as with it."""
_WAIT_S = 1.0
_LONGEST_WAIT_S = 300.0
_LONGEST_DOUBLING = 10
_TRIAL = 1.5
_TRIAL_S = 3.0
"""A trial lasts one and a half times as long as workers have lived with the run before, plus this many seconds."""

_WAITS_UNTIL = "(max(r.updated_at, :since) + r.wait_s)"
_TRIAL_ENDS = f"(r.updated_at + {_TRIAL} * r.lived_s + {_TRIAL_S})"
_SUSPECT = f"r.crashes > {_SUSPECT_AFTER - 1}"  # written as in the index `runs_suspect`

FREE = f"r.crashes < {_SUSPECT_AFTER}"
"""Condition on `runs AS r`: not a suspect."""
NEXT = f"SELECT MIN({_WAITS_UNTIL}) FROM runs AS r WHERE r.status = 'pending' AND {_SUSPECT} AND {_WAITS_UNTIL} > :now"  # noqa: S608
"""When the next suspect will have waited long enough for a worker that started at `:since`."""
PENDING = f"SELECT 1 FROM runs AS r WHERE r.status = 'pending' AND {_SUSPECT}"  # noqa: S608 - only numbers of ours
"""Whether a suspect is waiting."""
_OF_WORKER = f"""
FROM runs AS r CROSS JOIN threads AS t
WHERE r.status = 'running' AND {_SUSPECT} AND t.thread_id = r.thread_id AND t.lease_run = r.run_id AND t.lease_holder = :worker
"""
ON_TRIAL = f"SELECT 1 {_OF_WORKER}"
"""Whether `:worker` drives a suspect."""
_TRIED = f"""
SELECT r.run_id, r.crash_mark, {_TRIAL_ENDS} AS trial_ends,
  (SELECT MAX(c.checkpoint_id) FROM checkpoints AS c WHERE c.thread_id = r.thread_id AND c.run_id = r.run_id) AS newest {_OF_WORKER}
"""  # noqa: S608 - only numbers of ours
# The clock may have been set back since a suspect's time was stored.
_READY = f"""
FROM runs AS r CROSS JOIN threads AS t
WHERE t.thread_id = r.thread_id AND r.status = 'pending' AND {_SUSPECT} AND ({_WAITS_UNTIL} <= :now OR r.updated_at > :now)
  AND t.next_run = r.number AND t.lease_run IS NULL
"""
# Suspects that were not involved in the last death come first: they are probably harmless, and should not wait for the others.
_NEXT_GROUP = f"SELECT r.suspect_group {_READY} ORDER BY r.crashes, r.number LIMIT 1"
_MEMBERS = (
    f"SELECT r.*, {_TRIAL_ENDS} - r.updated_at AS trial_s {_READY} AND r.suspect_group = :group ORDER BY r.number LIMIT :limit"
)
_NEWEST = "SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND run_id = ?"
_KEEP = """
UPDATE runs SET crashes = ?, crash_log = ?, crash_mark = ?, suspect_group = ?, wait_s = ?, lived_s = ? WHERE run_id = ?
"""
_ACQUIT = "UPDATE runs SET crashes = 0, crash_log = NULL, suspect_group = NULL, wait_s = 0.0, lived_s = 0.0 WHERE run_id = ?"
_OPEN = "status IN ('pending', 'running')"


@dataclass(frozen=True)
class Crash:
    """The death, or silence, of a worker while it drove a run."""

    worker: str
    at: float
    """The time of its last heartbeat."""
    lived_s: float
    """How long the worker is known to have lived with the run."""
    alone: bool
    """The run was the worker's only suspect."""
    counts: bool


class Death(NamedTuple):
    """The death of a worker."""

    worker: str
    since: float
    heard_at: float


class Trial(NamedTuple):
    """The suspects that a worker may take."""

    rows: list[Row]
    ends: float | None
    """When the trial on this worker ends, which may only be starting; `None` if there is none."""


def crash_log(row: Row) -> list[Crash]:
    return [Crash(**crash) for crash in loads(row["crash_log"]) or ()]


def counted(row: Row) -> list[Crash]:
    """The crashes that count against a run."""
    return [crash for crash in crash_log(row) if crash.counts]


def is_convicted(row: Row) -> bool:
    return len(counted(row)) >= MAX_COUNTED_CRASHES


def take_group(connection: Connection, worker: str, since: float, limit: int, now: float) -> Trial:
    """Acquit the suspects on `worker` whose trial is over or that have stored a checkpoint. Returns the next group of suspects if none is
    on trial there."""
    tried = connection.execute(_TRIED, {"worker": worker}).fetchall()
    over = [row["run_id"] for row in tried if row["trial_ends"] <= now or row["newest"] != row["crash_mark"]]
    if over:
        connection.executemany(_ACQUIT, [(run_id,) for run_id in over])
    if ends := [row["trial_ends"] for row in tried if row["run_id"] not in over]:
        return Trial([], max(ends))
    names = {"now": now, "since": since}
    group = connection.execute(_NEXT_GROUP, names).fetchone()
    if group is None or not limit:
        return Trial([], None)
    rows = connection.execute(_MEMBERS, {**names, "group": group[0], "limit": limit}).fetchall()
    return Trial(rows, now + max(row["trial_s"] for row in rows))


def charge(connection: Connection, rows: Iterable[Row], deaths: Mapping[str, Death]) -> None:
    """Log the deaths of workers with the runs that may have caused them. `rows` are runs nobody drives any more; `holder` is the
    worker that had the run. A holder not in `deaths` has signed off."""
    left: dict[str, list[Row]] = {}
    for row in rows:
        if row["holder"] in deaths:
            left.setdefault(row["holder"], []).append(row)
    for worker, runs in left.items():
        _charge_together(connection, runs, deaths[worker])


def _charge_together(connection: Connection, rows: Sequence[Row], death: Death) -> None:
    marks = {row["run_id"]: connection.execute(_NEWEST, (row["thread_id"], row["run_id"])).fetchone()[0] for row in rows}
    moved = {row["run_id"] for row in rows if marks[row["run_id"]] != row["crash_mark"]}
    tried = [row["run_id"] for row in rows if row["crashes"] >= _SUSPECT_AFTER and row["run_id"] not in moved]
    halves, newly = (uuid4().hex, uuid4().hex), uuid4().hex
    for row in rows:
        run_id, alone = row["run_id"], tried == [row["run_id"]]
        # If a run has stored a checkpoint, its current step began some time after the run was taken.
        lived_s = 0.0 if run_id in moved else max(death.heard_at - row["updated_at"], 0.0)
        counts = alone and lived_s * _CALM <= row["updated_at"] - death.since
        crash = Crash(death.worker, max(death.heard_at, row["updated_at"]), lived_s, alone, counts)
        log = [crash] if run_id in moved else [*crash_log(row), crash]
        group = row["suspect_group"] if alone else halves[tried.index(run_id) * 2 >= len(tried)] if run_id in tried else newly
        _keep(connection, run_id, log, marks[run_id], group)


def forgive(connection: Connection, worker: str) -> None:
    """`worker` was declared dead, but has sent a heartbeat again."""
    named = f"SELECT * FROM runs WHERE {_OPEN} AND crashes > 0 AND crash_log LIKE ? ORDER BY number"  # noqa: S608 - fixed text
    for row in connection.execute(named, (f"%{dumps(worker)}%",)).fetchall():
        log = [crash for crash in crash_log(row) if crash.worker != worker]
        _keep(connection, row["run_id"], log, row["crash_mark"], row["suspect_group"])


def forgive_waiting(connection: Connection) -> None:
    """The only process died while no suspect was driven, so none of the waiting ones caused it."""
    waiting = f"SELECT * FROM runs WHERE {IS_PENDING} AND crashes > 0 ORDER BY number"  # noqa: S608 - fixed text
    for row in connection.execute(waiting).fetchall():
        _keep(connection, row["run_id"], crash_log(row)[:-1], row["crash_mark"], row["suspect_group"])


def was_tried(row: Row) -> bool:
    """Whether a run was driven as a suspect, and not as a free run."""
    return bool(row["crashes"] >= _SUSPECT_AFTER)


def _keep(connection: Connection, run_id: str, log: Sequence[Crash], mark: str | None, group: str | None) -> None:
    suspected = len(log) >= _SUSPECT_AFTER
    doublings = min(sum(crash.alone for crash in log), _LONGEST_DOUBLING)
    wait_s = min(_WAIT_S * 2**doublings, _LONGEST_WAIT_S) if suspected else 0.0
    lived_s = max((crash.lived_s for crash in log), default=0.0)
    text = dumps([asdict(crash) for crash in log]) if log else None
    connection.execute(_KEEP, (len(log), text, mark, group if suspected else None, wait_s, lived_s, run_id))
