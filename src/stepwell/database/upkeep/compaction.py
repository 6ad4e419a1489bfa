"""Shrinks the history of an idle thread (`AT_REST`), without making writers wait.

```
plan      a reader works out, on a snapshot, which checkpoints become complete and which are deleted; this may take long
rewrite   the writer stores the complete ones, in one transaction, if the thread has not been touched since
delete    the others are deleted a slice at a time, newest first, so that every remaining one has all of its ancestors
```

The thread is not locked in between, so a process that dies leaves no lock behind. It only leaves a history that is longer than wanted, and
the next compaction continues. The thread's fence shows whether anything happened in between: every claim and every hold raises it.

Rule to keep: what is rewritten must have been read *faithfully*. The serializer leaves unknown classes as plain data; writing that back
would lose the class forever. So everything read here must produce the same bytes when written again, or nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.pregel import Pregel

from stepwell.backends.steps import Steps, run_steps
from stepwell.clock import Clock
from stepwell.database.checkpoints.history import DatabaseHistory
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.checkpoints.serializer import strict_serializer
from stepwell.database.database import SqlDatabase
from stepwell.database.file_journal import forget_lost
from stepwell.database.queue import leases
from stepwell.database.records.erasing import SLICE_BYTES, SLICE_ROWS
from stepwell.database.rows import to_time
from stepwell.database.types import Lease
from stepwell.database.upkeep.trimming import is_at_rest
from stepwell.errors import ConfigurationError
from stepwell.sql import Connection
from stepwell.state.compact import CompactReport, acompact
from stepwell.state.history import Delete, Key, Measure, Request, Stored, ThreadHistory
from stepwell.state.history_sql import SqlStatement, executor

T = TypeVar("T")
Graph = Pregel[Any, Any, Any, Any]
_HOLDER = "hold:retention"
_SIZE = """
SELECT COALESCE((SELECT length(checkpoint) FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = :ns AND checkpoint_id = :id), 0)
  + (SELECT COALESCE(SUM(length(value)), 0) FROM writes WHERE thread_id = :thread AND checkpoint_ns = :ns AND checkpoint_id = :id)
"""


class _NotAtRestError(Exception):
    """The thread is no longer idle."""


async def compact_at_rest(
    database: SqlDatabase,
    clock: Clock,
    thread_id: str,
    keep_last: int,
    *,
    graph: Graph | None = None,
    serde: SerializerProtocol | None = None,
) -> CompactReport | None:
    """Shrink the thread's history, or return `None` if the thread is not idle."""
    saver = _SaverAtRest(database, clock, FaithfulSerializer(serde or strict_serializer()))
    try:
        report = await acompact(saver, thread_id, keep_last=keep_last, graph=graph)
    except _NotAtRestError:
        return None
    return replace(report, after=await saver.history_at_rest(thread_id).measure())


class FaithfulSerializer(SerializerProtocol):
    """Refuses to read what it could not write back unchanged."""

    def __init__(self, inner: SerializerProtocol) -> None:
        self._inner = inner

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        return self._inner.dumps_typed(value)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        value = self._inner.loads_typed(data)
        if self._inner.dumps_typed(value) != (data[0], bytes(data[1])):
            raise ConfigurationError(
                "The thread contains values of classes that only its graph knows, and they would be lost. "
                "Serve its graph, or pass the langgraph.json that names it with --graphs."
            )
        return value


class _SaverAtRest(SqlSaver):
    def __init__(self, database: SqlDatabase, clock: Clock, serde: SerializerProtocol) -> None:
        super().__init__(database, clock=clock)
        self._faithful = serde

    def thread_history(self, thread_id: str) -> ThreadHistory:
        return self.history_at_rest(thread_id)

    def history_at_rest(self, thread_id: str) -> _HistoryAtRest:
        return _HistoryAtRest(self._database, thread_id, self._faithful, to_time(self._clock.now()))


@dataclass
class _Plan(Generic[T]):
    fence: int
    """The thread's fence when it was read."""
    rewrites: list[SqlStatement] = field(default_factory=list)
    goes: list[Key] = field(default_factory=list)
    outcome: T | None = None


class _HistoryAtRest(DatabaseHistory):
    def __init__(self, database: SqlDatabase, thread_id: str, serde: SerializerProtocol, now: float) -> None:
        super().__init__(database, Lease(thread_id, _HOLDER, 0, ""), serde)
        self._now = now

    async def arun(self, steps: Steps[Request, T]) -> T:
        plan = await self._database.read(lambda connection: self._plan(connection, steps))
        if plan.goes or plan.rewrites:
            fence = await self._database.write(lambda connection: self._rewrite_whole(connection, plan), frees=True)
            await self._delete(plan.goes, fence)
            await self._database.write(partial(forget_lost, thread_id=self._thread_id), frees=True)
        return plan.outcome  # type: ignore[return-value]  # set by `_plan`

    async def measure(self) -> Stored:
        def work(connection: Connection) -> Stored:
            measured: Stored = run_steps(self.statements(Measure()), executor(connection))
            return measured

        return await self._database.read(work)

    def _plan(self, connection: Connection, steps: Steps[Request, T]) -> _Plan[T]:
        """Run the steps without writing; writes are recorded in the plan."""
        plan = _Plan[T](self._fence_at_rest(connection))
        read = executor(connection)

        def execute(statement: SqlStatement) -> Sequence[Any]:
            if statement.sql.lstrip().startswith("SELECT"):
                return read(statement)
            plan.rewrites.append(statement)
            return ()

        def perform(request: Request) -> Any:
            if isinstance(request, Delete):
                plan.goes = sorted(request.keys, key=lambda key: key.checkpoint_id, reverse=True)
                return None
            return run_steps(self.statements(request), execute)

        plan.outcome = run_steps(steps, perform)
        return plan

    def _rewrite_whole(self, connection: Connection, plan: _Plan[Any]) -> int:
        """Store the planned complete checkpoints. Returns the new fence, which stops any holder of an older lease from writing."""
        if self._fence_at_rest(connection) != plan.fence:
            raise _NotAtRestError
        lease = leases.hold(connection, None, self._thread_id, _HOLDER, self._now)
        write = executor(connection)
        for statement in plan.rewrites:
            write(statement)
        leases.release(connection, lease)
        return lease.fence

    async def _delete(self, goes: Sequence[Key], fence: int) -> None:
        """Delete these checkpoints, a slice at a time, and stop as soon as the thread is no longer idle."""
        done = 0
        while done < len(goes):
            left = goes[done : done + SLICE_ROWS]
            deleted = await self._database.write(partial(self._delete_some, goes=left, fence=fence), frees=True)
            if not deleted:
                return
            done += deleted

    def _delete_some(self, connection: Connection, goes: Sequence[Key], fence: int) -> int:
        try:
            if self._fence_at_rest(connection) != fence:
                return 0
        except _NotAtRestError:
            return 0
        size, count = 0, 0
        while count < len(goes) and size < SLICE_BYTES:
            namespace, checkpoint_id = goes[count]
            place = {"thread": self._thread_id, "ns": namespace, "id": checkpoint_id}
            size += connection.execute(_SIZE, place).fetchone()[0]
            count += 1
        run_steps(self.statements(Delete(goes[:count])), executor(connection))
        return count

    def _fence_at_rest(self, connection: Connection) -> int:
        if not is_at_rest(connection, self._thread_id):
            raise _NotAtRestError
        row = connection.execute("SELECT fence FROM threads WHERE thread_id = ?", (self._thread_id,)).fetchone()
        return int(row["fence"])
