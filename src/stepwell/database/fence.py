"""The fence: the one check that every write under a lease makes, in its own transaction. A worker that lost the lease is refused.

The check includes the worker's name. A standby that takes over from a failed Postgres may have missed the last commits. If a claim was
among these commits, the next worker claims the same run and gets the same fence number, and only the name tells the two workers apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import orjson

from stepwell.database.database import Joint, OrderedWork, Work
from stepwell.database.types import Lease
from stepwell.errors import LeaseLostError
from stepwell.sql import Connection

T = TypeVar("T")
P = TypeVar("P")
Holder = tuple[str, int, str, str]
"""Thread, fence, run and worker of a lease. At most one per thread is valid."""

# In Postgres, other processes may write at the same time. This statement updates the row without changing it, so that a worker that takes
# the thread over waits for this transaction and then sees everything that the transaction wrote.
_HOLDS = {
    "sqlite": "SELECT 1 FROM threads WHERE thread_id = ? AND fence = ? AND lease_run = ? AND lease_holder = ?",
    "postgres": "UPDATE threads SET fence = fence WHERE thread_id = ? AND fence = ? AND lease_run = ? AND lease_holder = ? RETURNING 1",
}
# The same for many leases, in Postgres. Returns those that hold, as a JSON text. Appending '' keeps Postgres from reading, by the index of
# leases, all threads of the worker for each of them.
_HOLD = """
WITH held AS (
  UPDATE threads AS t SET fence = t.fence FROM json_array_elements(CAST(? AS JSON)) AS wanted
  WHERE t.thread_id = wanted.value ->> 0 AND t.fence = CAST(wanted.value ->> 1 AS BIGINT) AND t.lease_run = wanted.value ->> 2
    AND t.lease_holder || '' = wanted.value ->> 3
  RETURNING t.thread_id, t.fence, t.lease_run, t.lease_holder
)
SELECT COALESCE(CAST(json_agg(json_build_array(thread_id, fence, lease_run, lease_holder)) AS TEXT), '[]') FROM held
"""


def in_order(lease: Lease, work: Work[T]) -> OrderedWork[T]:
    """Work that is also refused if earlier work under the same lease could not be stored."""
    return OrderedWork((lease.thread_id, lease.fence), work)


def fenced(lease: Lease, work: Work[T]) -> OrderedWork[T]:
    """Work that is refused once the lease is lost, and that runs in order."""

    def checked(connection: Connection) -> T:
        require(connection, lease)
        return work(connection)

    return OrderedWork((lease.thread_id, lease.fence), checked, guarded=True, thread_id=lease.thread_id)


def fenced_part(lease: Lease, part: P, store_all: Callable[[Connection, Sequence[P]], None]) -> OrderedWork[None]:
    """`fenced` for work that only adds rows. Postgres does it for many runs with a few statements."""
    work = fenced(lease, lambda connection: store_all(connection, [part]))
    return replace(work, joint=Joint(lease, part, store_all))


def guarded(work: Work[T], thread_id: str | None = None) -> OrderedWork[T]:
    """Work on one thread that calls `require` itself, or changes the thread's row before anything else. `thread_id`: it also reads only
    what belongs to the thread."""
    return OrderedWork(None, work, guarded=True, thread_id=thread_id)


def require(connection: Connection, lease: Lease) -> None:
    """Raise `LeaseLostError` if the lease is lost."""
    row = connection.execute(_HOLDS[connection.dialect.name], holder_of(lease)).fetchone()
    if row is None:
        raise lease_lost_error(lease)


def require_run(connection: Connection, lease: Lease, columns: str, *bound: Any) -> Any:
    """`require`, and the row with these columns of `runs AS r` and `threads AS t`. `bound` are the values for their question marks."""
    (found,) = connection.execute_all([_reading(connection.dialect.name, columns, holder_of(lease), bound)])
    row = found.fetchone()
    if row is None:
        raise lease_lost_error(lease)
    return row


def _reading(dialect: str, columns: str, holder: Holder, bound: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    holds = "t.thread_id = ? AND t.fence = ? AND t.lease_run = ? AND t.lease_holder = ? AND r.run_id = t.lease_run"
    if dialect == "sqlite":
        return f"SELECT {columns} FROM threads AS t CROSS JOIN runs AS r WHERE {holds}", (*bound, *holder)  # noqa: S608 - names of ours
    return f"UPDATE threads AS t SET fence = t.fence FROM runs AS r WHERE {holds} RETURNING {columns}", (*holder, *bound)  # noqa: S608 - names of ours


def holding(connection: Connection, leases: Iterable[Lease]) -> set[Holder]:
    """Those of the leases that hold. Only for Postgres."""
    wanted = orjson.dumps([*{holder_of(lease) for lease in leases}]).decode()
    return {tuple(holder) for holder in orjson.loads(connection.execute(_HOLD, (wanted,)).fetchone()[0])}


def holder_of(lease: Lease) -> Holder:
    return lease.thread_id, lease.fence, lease.run_id, lease.worker


def lease_lost_error(lease: Lease) -> LeaseLostError:
    return LeaseLostError(f"Run '{lease.run_id}' no longer drives thread '{lease.thread_id}'. Nothing was written.")
