"""The journal of effects in the embedded database, written under a lease.

Work runs in the order it was handed in, and a checkpoint is handed in before its step's tools are called: what is journaled here
is never on disk without the checkpoint that its key comes from.
"""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future

from stepwell.clock import Clock
from stepwell.runs.embedded.database import Database
from stepwell.runs.embedded.fence import fenced, in_order, require
from stepwell.runs.embedded.rows import to_time
from stepwell.runs.records import Lease
from stepwell.tools.effect_journal import Begun, Done, Standing, Unknown


class EmbeddedEffects:
    """What the run that holds `lease` does to the world. Everything is refused when the lease is lost."""

    def __init__(self, database: Database, lease: Lease, clock: Clock) -> None:
        self._database = database
        self._lease = lease
        self._clock = clock

    def begin(self, key: str) -> Future[Standing]:
        lease, now = self._lease, to_time(self._clock.now())

        def work(connection: sqlite3.Connection) -> Standing:
            require(connection, lease)
            known = connection.execute(
                "SELECT state, result FROM effects WHERE thread_id = ? AND key = ?", (lease.thread_id, key)
            ).fetchone()
            if known is not None:
                return Done(bytes(known["result"])) if known["state"] == "done" else Unknown()
            connection.execute(
                "INSERT INTO effects (thread_id, key, run_id, state, created_at) VALUES (?, ?, ?, 'begun', ?)",
                (lease.thread_id, key, lease.run_id, now),
            )
            return Begun()

        return self._database.submit(in_order(lease, work))

    def finish(self, key: str, result: bytes) -> Future[None]:
        return self._change(key, "UPDATE effects SET state = 'done', result = ? WHERE thread_id = ? AND key = ?", result)

    def release(self, key: str) -> Future[None]:
        return self._change(key, "DELETE FROM effects WHERE thread_id = ? AND key = ? AND state = 'begun'")

    def barrier(self) -> Future[None]:
        """Work is committed in order, so when this is done, so is everything before it. Refused too without the lease: what comes
        after a barrier is an effect outside, and whoever was overtaken must have none."""
        return self._database.submit(fenced(self._lease, lambda connection: None))

    def _change(self, key: str, statement: str, *values: bytes) -> Future[None]:
        lease = self._lease

        def work(connection: sqlite3.Connection) -> None:
            require(connection, lease)
            connection.execute(statement, (*values, lease.thread_id, key))

        return self._database.submit(work)
