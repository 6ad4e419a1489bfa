"""The journal of effects in the database, written under a lease, and what happens to it when a run or thread is removed.

```
begin ──> begun ──finish──> done
            │ └──settle───> done | not_done      a person has checked (`records/effects`)
            └──release──> (deleted)              the tool asked a question first
a run is rolled back ──> the row stays; `taken_back` if the thread no longer mentions it
a thread is copied ────> the copy looks under its origin, so both share one row
a thread is deleted ───> the row stays, reduced to key, tool, time and outcome
```

Work runs in the order it was submitted, and a checkpoint is submitted before its step's tools are called. So nothing journaled here is ever
on disk without the checkpoint that its key comes from. All of this work is in the lane of the run's lease: if an outcome could not be
stored, nothing after it is stored either, and the run is driven again from before the call, no matter which code caught the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from stepwell.clock import Clock
from stepwell.database.database import SqlDatabase
from stepwell.database.fence import fenced, in_order, require
from stepwell.database.rows import to_time
from stepwell.database.types import Lease, Run
from stepwell.sql import Connection, Row
from stepwell.tools.effect_journal import Begun, Done, NotedCall, OtherArguments, Settled, Standing, Unknown

_KNOWN = "SELECT * FROM effects WHERE origin = :origin AND key IN (:key, :former)"
_BEGIN = """
INSERT INTO effects (origin, key, run_id, state, created_at, thread_id, tool, arguments)
VALUES (:origin, :key, :run, 'begun', :now, :thread, :tool, :arguments)
"""
# Leaves only key, tool, time and outcome. If arguments have few possible values, even their fingerprint would reveal them.
_STRIP = """
UPDATE effects SET thread_id = NULL, run_id = '', arguments = '', result = NULL, note = NULL, settled_by = NULL
WHERE (origin, key) IN (SELECT origin, key FROM effects WHERE thread_id = ? LIMIT ?)
"""


class SqlEffects:
    """Effects of the run that holds `lease`. All calls are refused once the lease is lost."""

    def __init__(self, database: SqlDatabase, lease: Lease, clock: Clock) -> None:
        self._database = database
        self._lease = lease
        self._clock = clock

    @property
    def origin(self) -> str:
        return self._lease.origin or self._lease.thread_id

    def begin(self, key: str, call: NotedCall | None = None) -> Future[Standing]:
        lease, call, now = self._lease, call or NotedCall(""), to_time(self._clock.now())
        names = {
            "origin": self.origin,
            "thread": lease.thread_id,
            "run": lease.run_id,
            "key": key,
            "former": call.former_key,
            "tool": call.tool,
            "arguments": call.arguments,
            "now": now,
        }

        def work(connection: Connection) -> Standing:
            require(connection, lease)
            known = connection.execute(_KNOWN, names).fetchone()
            if known is None:
                connection.execute(_BEGIN, names)
                return Begun()
            differs = known["arguments"] and call.arguments and known["arguments"] != call.arguments
            return OtherArguments() if differs else _standing(known)

        return self._database.submit(in_order(lease, work))

    def finish(self, key: str, result: bytes) -> Future[None]:
        return self._change(key, "UPDATE effects SET state = 'done', result = ? WHERE origin = ? AND key = ?", result)

    def release(self, key: str) -> Future[None]:
        return self._change(key, "DELETE FROM effects WHERE origin = ? AND key = ? AND state = 'begun'")

    def look(self, keys: Sequence[str]) -> Future[Mapping[str, Standing]]:
        origin = self.origin

        def work(connection: Connection) -> Mapping[str, Standing]:
            found = (connection.execute(_KNOWN, {"origin": origin, "key": key, "former": None}).fetchone() for key in keys)
            return {row["key"]: _standing(row) for row in found if row is not None}

        return self._database.submit(work)

    def barrier(self) -> Future[None]:
        """Completes when all work submitted before it is committed, since work is committed in order. It is refused without the lease,
        because an external effect follows a barrier, and a worker that lost its lease must not cause any."""
        return self._database.submit(fenced(self._lease, lambda connection: None))

    def _change(self, key: str, statement: str, *values: bytes) -> Future[None]:
        origin = self.origin

        def work(connection: Connection) -> None:
            connection.execute(statement, (*values, origin, key))

        return self._database.submit(fenced(self._lease, work))


def must_keep_steps(connection: Connection, run: Run) -> bool:
    """Whether a rollback must keep the run's steps: an effect began in them, and the run only continued what was already in the thread
    (with an answer, or without input). Deleting the steps would leave the call in the thread as if it had never begun, and its interrupt
    open. If the run had its own input, the call is deleted too."""
    if run.request.input is not None:
        return False
    row = connection.execute("SELECT 1 FROM effects WHERE thread_id = ? AND run_id = ?", (run.thread_id, run.run_id)).fetchone()
    return row is not None


def take_back(connection: Connection, run: Run) -> None:
    """The run is rolled back with everything it wrote. No thread mentions its effects any more, so mark them for the operator."""
    connection.execute("UPDATE effects SET taken_back = 1 WHERE thread_id = ? AND run_id = ?", (run.thread_id, run.run_id))


def strip(connection: Connection, thread_id: str, limit: int) -> int:
    """The thread is deleted: of each of its effects keep only key, tool, time and outcome. Changes at most `limit` rows and returns how
    many."""
    return connection.execute(_STRIP, (thread_id, limit)).rowcount


def _standing(row: Row) -> Standing:
    if row["state"] == "begun":
        return Unknown()
    if row["settled_at"] is not None and row["result"] is None:
        return Settled(row["state"] == "done", row["note"] or "")
    return Done(None if row["result"] is None else bytes(row["result"]))
