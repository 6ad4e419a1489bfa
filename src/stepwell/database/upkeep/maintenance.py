"""Database maintenance for `runs/upkeep`. Each step is one short transaction.

A second process may use it on the file of a running server: SQLite lets one writer in at a time, and the transaction that changes a thread
checks again whether the thread is idle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from stepwell.clock import Clock
from stepwell.database.database import SqlDatabase
from stepwell.database.events.log import EventLog
from stepwell.database.queue.types import LEASE_S
from stepwell.database.records import erasing
from stepwell.database.records.repository import Repository
from stepwell.database.rows import from_time, loads, to_time
from stepwell.database.store.statements import sweep_expired
from stepwell.database.types import TtlStrategy
from stepwell.database.upkeep import expiry, trimming
from stepwell.database.upkeep.compaction import Graph, compact_at_rest
from stepwell.database.upkeep.trimming import AT_REST, is_at_rest
from stepwell.sql import Connection
from stepwell.state.compact import CompactReport


@dataclass(frozen=True)
class Backlog:
    """Runs that have not ended. `oldest_s`: how long the oldest run that could be driven now has been waiting."""

    pending: int
    running: int
    oldest_s: float
    unreadable: int = 0
    """Runs set aside because their row can't be read. They have ended."""
    workers: int = 0
    """Live processes that drive runs."""
    lease_age_s: float = 0.0
    """The age of the oldest heartbeat among workers that have a thread."""


@dataclass(frozen=True)
class Figures:
    """What is known about the storage without a query. Counters are those of this process."""

    events_written: int
    waiting_writes: int
    size_bytes: int


@dataclass(frozen=True)
class LongThread:
    """A thread with more checkpoints than wanted."""

    thread_id: str
    owner: str
    graph_id: str | None
    checkpoints: int


_AT_ONCE = 100

_BACKLOG = """
SELECT COUNT(*) FILTER (WHERE status = 'pending' AND due_at <= :now) AS pending, COUNT(*) FILTER (WHERE status = 'running') AS running,
  MIN(MAX(due_at, created_at)) FILTER (WHERE status = 'pending' AND due_at <= :now) AS oldest,
  (SELECT COUNT(*) FROM unreadable_runs) AS unreadable,
  (SELECT COUNT(*) FROM processes WHERE capacity > 0 AND alive_until > :now) AS workers,
  (SELECT MIN(alive_until) FROM workers WHERE worker IN (SELECT lease_holder FROM threads WHERE lease_run IS NOT NULL)) AS alive_until
FROM runs WHERE status IN ('pending', 'running')
"""
_OLD = f"""
SELECT thread_id FROM threads WHERE thread_id > ? AND updated_at < ? AND {AT_REST} ORDER BY thread_id LIMIT ?
"""  # noqa: S608 - fixed text
_LONG = f"""
SELECT * FROM (
  SELECT thread_id, owner, metadata, (SELECT COUNT(*) FROM checkpoints
    WHERE checkpoints.thread_id = threads.thread_id AND checkpoint_ns = '') AS checkpoints
  FROM threads WHERE thread_id > ? AND {AT_REST}) AS counted
WHERE checkpoints > ? ORDER BY thread_id LIMIT ?
"""  # noqa: S608 - fixed text


class Maintenance:
    """Maintenance operations on a database. `runs/upkeep/retention` decides what to delete."""

    def __init__(
        self,
        database: SqlDatabase,
        records: Repository,
        events: EventLog,
        clock: Clock,
        *,
        new_id: Callable[[], str],
        lease_s: float = LEASE_S,
    ) -> None:
        self._database = database
        self._records = records
        self._events = events
        self._clock = clock
        self._new_id = new_id
        self._lease_s = lease_s

    def leads(self) -> bool:
        """Whether this process is the one that maintains the database. Of all processes that have it open, one at a time does."""
        return self._database.leads()

    async def backlog(self) -> Backlog:
        now = to_time(self._clock.now())
        row = await self._database.read(lambda connection: connection.execute(_BACKLOG, {"now": now}).fetchone())
        oldest_s = 0.0 if row["oldest"] is None else max(now - row["oldest"], 0.0)
        lease_age_s = 0.0 if row["alive_until"] is None else max(now - (row["alive_until"] - self._lease_s), 0.0)
        # A process with a file to itself is not listed in `processes`.
        workers = row["workers"] if self._database.dialect.name == "postgres" else 1
        return Backlog(row["pending"], row["running"], oldest_s, row["unreadable"], workers, lease_age_s)

    def figures(self) -> Figures:
        return Figures(self._events.written, self._database.waiting, self._database.size_bytes())

    async def sweep(self) -> int:
        """Delete what has expired. Returns how many records were deleted."""
        # First finish what a dead process left half done.
        await erasing.finish_erasing(self._database, await self._database.read(erasing.list_unfinished), self._new_id)
        gone = await sweep_expired(self._database, self._clock)
        gone += await trimming.forget_expired_sessions(self._database, self._now())
        gone += await trimming.forget_request_keys(self._database, self._now())
        while erased := await self._records.delete_expired_threads(_AT_ONCE):
            gone += len(erased)
        return gone

    async def old_threads(self, before: datetime, *, after: str = "", limit: int = 100) -> list[str]:
        """Idle threads that were not touched since `before`, in the order of their ids, after the id `after`."""
        wanted = (after, to_time(before), limit)
        return await self._database.read(lambda connection: [row[0] for row in connection.execute(_OLD, wanted)])

    async def erase(self, thread_id: str, before: datetime) -> bool:
        """Erase such an old thread completely, unless it has been touched meanwhile."""

        def work(connection: Connection) -> bool:
            if not is_at_rest(connection, thread_id, untouched_since=to_time(before)):
                return False
            erasing.begin_erasing(connection, thread_id)
            return True

        gone = await self._database.write(work, frees=True)
        if gone:
            self._events.announce(thread_id)
            await erasing.finish_erasing(self._database, [thread_id], self._new_id)
        return gone

    async def long_threads(self, keep_last: int, *, after: str = "", limit: int = 100) -> list[LongThread]:
        """Idle threads with more than `keep_last` checkpoints, in the order of their ids, after the id `after`."""
        wanted = (after, keep_last, limit)
        rows = await self._database.read(lambda connection: connection.execute(_LONG, wanted).fetchall())
        return [
            LongThread(row["thread_id"], row["owner"], loads(row["metadata"]).get("graph_id"), row["checkpoints"])
            for row in rows
        ]

    async def compact(
        self, thread_id: str, keep_last: int, *, graph: Graph | None, serde: SerializerProtocol | None
    ) -> CompactReport | None:
        """Shrink a thread's history (see `stepwell.state.compact`). Does nothing and returns `None` if the thread is no longer idle.

        `ConfigurationError` if that would lose something: a value whose class or channel only an absent graph knows.
        """
        return await compact_at_rest(self._database, self._clock, thread_id, keep_last, graph=graph, serde=serde)

    async def expired_by_own_ttl(self) -> list[expiry.Expired]:
        """Threads whose own time to live is over. Call again until there are none. Asks for nothing else if no thread has one."""
        now = self._now()
        if not await self._database.read(lambda connection: expiry.has_own_ttls_due(connection, now)):
            return []
        return await self._database.write(lambda connection: expiry.own_ttls_due(connection, now))

    async def rule_since(self) -> datetime:
        """Since when the server's rule for threads holds. If nobody has asked before, since now."""
        now = self._now()
        since = await self._database.read(expiry.find_rule_since)
        if since is None:
            since = await self._database.write(lambda connection: expiry.rule_since(connection, now))
        return from_time(since)

    async def expired_by_rule(
        self, strategy: TtlStrategy, minutes: float, *, after: str = "", limit: int = 100
    ) -> list[expiry.Expired]:
        """Threads that expire by the server's rule, in the order of their ids, after the id `after`."""
        since = to_time(await self.rule_since())
        bounds: dict[str, Any] = {"since": since, "before": self._now() - minutes * 60, "after": after, "limit": limit}
        return await self._database.read(
            lambda connection: expiry.expired_by_rule(connection, strategy, **bounds), patient=True
        )

    async def erase_expired(self, expired: expiry.Expired) -> bool:
        """Erase a thread that has expired, unless it was used meanwhile or is needed now."""
        gone = await self._database.write(lambda connection: expiry.begin_erasing_expired(connection, expired), frees=True)
        if gone:
            self._events.announce(expired.thread_id)
            await erasing.finish_erasing(self._database, [expired.thread_id], self._new_id)
        return gone

    async def trim_events(self, before: datetime, *, dry_run: bool = False) -> int:
        """Delete events from before that time, except those of each thread's newest run. Returns how many."""
        return await trimming.trim_events(self._database, to_time(before), dry_run=dry_run)

    async def forget_settled(self, before: datetime, *, dry_run: bool = False) -> int:
        """Delete records from before that time that nothing needs any more: settled webhooks, and effects whose checkpoint is gone."""
        return await trimming.forget_settled(self._database, to_time(before), dry_run=dry_run)

    async def give_back_space(self) -> int:
        """Return free space inside the storage to the machine, in small steps. Returns the number of bytes."""
        return await self._database.give_back_space()

    def _now(self) -> float:
        return to_time(self._clock.now())


def maintenance_of(database: SqlDatabase, clock: Clock, new_id: Callable[[], str]) -> Maintenance:
    """Maintenance of a database without a running server."""
    events = EventLog(database, clock)
    return Maintenance(database, Repository(database, clock, new_id=new_id), events, clock, new_id=new_id)
