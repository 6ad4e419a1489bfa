"""Everything that must outlive the process, opened and closed together (`sqlite/persistence`, `postgres/persistence`).

A saver is bound to a lease: its writes are fenced and carry the run's id. A saver without a lease only reads. A store is bound to an
owner and cannot reach another owner's data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from stepwell.clock import Clock, SystemClock
from stepwell.database.access import all_of, owned_by
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.checkpoints.sizes import measure_thread
from stepwell.database.crons import CronTable
from stepwell.database.database import SqlDatabase
from stepwell.database.effect_journal import SqlEffects, must_keep_steps
from stepwell.database.events.log import EventLog
from stepwell.database.file_journal import SqlFileJournal, forget_lost
from stepwell.database.keys_and_sessions import AccessRecords
from stepwell.database.queue.run_queue import RunQueue
from stepwell.database.queue.types import ClaimedRun
from stepwell.database.records import interrupts
from stepwell.database.records.repository import Repository
from stepwell.database.shared_counts import SharedCounts
from stepwell.database.shared_spending import SqlSharedSpending
from stepwell.database.steering import SqlSteering
from stepwell.database.store.items import SqlStore, StoreRules
from stepwell.database.types import Lease, PendingInterrupt, Run
from stepwell.database.upkeep.maintenance import Maintenance
from stepwell.database.webhooks import WebhookOutbox
from stepwell.sql import Clause, Connection

_CHECKPOINTED = "SELECT 1 FROM checkpoints WHERE thread_id = ? AND run_id = ? AND checkpoint_ns = '' LIMIT 1"
# LangGraph stores an answer that belongs to no task yet under the all-zero task id.
_RESUMED = """
SELECT DISTINCT task_id FROM writes
WHERE thread_id = ? AND run_id = ? AND channel = '__resume__' AND task_id <> '00000000-0000-0000-0000-000000000000'
"""


@dataclass(frozen=True)
class RunTraces:
    """What earlier attempts at a run left behind."""

    checkpointed: bool
    """The root graph has a checkpoint of this run: continue from there, without the input."""
    resumed_tasks: frozenset[str]
    """Tasks that already received their answer in this run: don't send it twice."""


async def run_wrote(database: SqlDatabase, thread_id: str, run_id: str) -> RunTraces:
    """Look for the run's checkpoints and the answers its tasks received."""

    def work(connection: Connection) -> RunTraces:
        run = (thread_id, run_id)
        return RunTraces(
            checkpointed=connection.execute(_CHECKPOINTED, run).fetchone() is not None,
            resumed_tasks=frozenset(task_id for (task_id,) in connection.execute(_RESUMED, run)),
        )

    return await database.read(work)


class Persistence(ABC):
    """Records, queue, events, checkpoints and store over one database. A subclass opens it and calls `_assemble`."""

    database: SqlDatabase
    counts: SharedCounts
    """Counters for the limits that all servers share."""
    store_rules: StoreRules = StoreRules()
    """How items of the store are found and when they expire. Set it before the first store is made."""

    def __init__(self, clock: Clock | None, new_id: Callable[[], str], lease_s: float) -> None:
        self._clock = clock or SystemClock()
        self._new_id = new_id
        self._lease_s = lease_s

    @property
    def clock(self) -> Clock:
        return self._clock

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    @abstractmethod
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def _assemble(self, database: SqlDatabase, *, sole: bool) -> None:
        """`sole`: no other process has the database open."""
        self.database = database
        self.events = EventLog(database, self._clock)
        self.records = Repository(database, self._clock, new_id=self._new_id, erased=self.events.announce)
        self.access = AccessRecords(database, self._clock)
        self.queue = RunQueue(database, self.events, self._clock, self._new_id, lease_s=self._lease_s, sole=sole)
        self.maintenance = Maintenance(
            database, self.records, self.events, self._clock, new_id=self._new_id, lease_s=self._lease_s
        )
        self.webhooks = WebhookOutbox(database)
        self.crons = CronTable(database, self._clock)

    def saver(self, lease: Lease | None = None, steering: SqlSteering | None = None) -> BaseCheckpointSaver[Any]:
        return SqlSaver(self.database, lease, clock=self._clock, steering=steering)

    def steering(self, claim: ClaimedRun) -> SqlSteering:
        return SqlSteering(self.database, claim.lease, expected=claim.run.steered > 0)

    def shared_spending(self, run: Run) -> SqlSharedSpending:
        return SqlSharedSpending(self.database, run)

    def store(self, owner: str) -> BaseStore:
        return SqlStore(self.database, owner, self._clock, ttl=self.store_rules.ttl, index=self.store_rules.index)

    async def storage(self, thread_id: str) -> dict[str, Any]:
        """The space that a thread's checkpoints take, by kind and by channel."""
        return await self.database.read(lambda connection: measure_thread(connection, thread_id), patient=True)

    def effects(self, lease: Lease) -> SqlEffects:
        return SqlEffects(self.database, lease, self._clock)

    def files(self, thread_id: str, lease: Lease | None = None) -> SqlFileJournal:
        """The journal of a thread's file changes; without a lease it can only be read."""
        return SqlFileJournal(self.database, thread_id, lease, self._clock)

    async def forget_lost_files(self, thread_id: str) -> None:
        """After checkpoints were deleted: forget what only they could go back to."""
        await self.database.write(partial(forget_lost, thread_id=thread_id), frees=True)

    async def run_wrote(self, thread_id: str, run_id: str) -> RunTraces:
        """What earlier attempts of this run left in the thread's checkpoints."""
        return await run_wrote(self.database, thread_id, run_id)

    async def interrupt_tasks(self, thread_id: str) -> Mapping[str, str]:
        """Interrupt id -> the task that asked, without dropped interrupts."""

        def work(connection: Connection) -> dict[str, str]:
            rows = connection.execute(
                "SELECT interrupt_id, task_id FROM interrupts WHERE thread_id = ? AND state <> 'dropped'", (thread_id,)
            )
            return {row["interrupt_id"]: row["task_id"] for row in rows}

        return await self.database.read(work)

    async def keeps_steps(self, run: Run) -> bool:
        """Whether the run's steps stay when it is rolled back, because an effect began in them that the thread must still mention."""
        return await self.database.read(lambda connection: must_keep_steps(connection, run))

    async def open_interrupts(self, owner: str | None, thread_id: str) -> Sequence[PendingInterrupt]:
        """The open interrupts of the owner's thread, in the order they were first seen."""

        def work(connection: Connection) -> list[PendingInterrupt]:
            where = all_of(Clause("thread_id = ?", (thread_id,)), owned_by(connection.dialect, owner, by_id=True))
            mine = connection.execute(f"SELECT 1 FROM threads WHERE {where.sql}", where.bound).fetchone()  # noqa: S608 - clauses of ours
            return interrupts.open_interrupts(connection, thread_id) if mine else []

        return await self.database.read(work)

    async def check(self) -> None:
        """Raise `StorageUnavailableError` if writing is not possible now (readiness)."""
        await self.database.check()
