"""The fence: the one check that every write under a lease makes, in its own transaction. A worker that lost the lease is refused.

The check includes the worker's name. A standby that takes over from a failed Postgres may have missed the last commits. If a claim was
among these commits, the next worker claims the same run and gets the same fence number, and only the name tells the two workers apart.
"""

from __future__ import annotations

from typing import TypeVar

from stepwell.database.database import OrderedWork, Work
from stepwell.database.types import Lease
from stepwell.errors import LeaseLostError
from stepwell.sql import Connection

T = TypeVar("T")

# In Postgres, other processes may write at the same time. This statement updates the row without changing it, so that a worker that takes
# the thread over waits for this transaction and then sees everything that the transaction wrote.
_HOLDS = {
    "sqlite": "SELECT 1 FROM threads WHERE thread_id = ? AND fence = ? AND lease_run = ? AND lease_holder = ?",
    "postgres": "UPDATE threads SET fence = fence WHERE thread_id = ? AND fence = ? AND lease_run = ? AND lease_holder = ? RETURNING 1",
}


def in_order(lease: Lease, work: Work[T]) -> OrderedWork[T]:
    """Work that is also refused if earlier work under the same lease could not be stored."""
    return OrderedWork((lease.thread_id, lease.fence), work)


def fenced(lease: Lease, work: Work[T]) -> OrderedWork[T]:
    """Work that is refused once the lease is lost, and that runs in order."""

    def checked(connection: Connection) -> T:
        require(connection, lease)
        return work(connection)

    return OrderedWork((lease.thread_id, lease.fence), checked, guarded=True)


def guarded(work: Work[T]) -> OrderedWork[T]:
    """Work on one thread that calls `require` itself, or changes the thread's row before anything else."""
    return OrderedWork(None, work, guarded=True)


def require(connection: Connection, lease: Lease) -> None:
    """Raise `LeaseLostError` if the lease is lost."""
    names = (lease.thread_id, lease.fence, lease.run_id, lease.worker)
    row = connection.execute(_HOLDS[connection.dialect.name], names).fetchone()
    if row is None:
        raise lease_lost_error(lease)


def lease_lost_error(lease: Lease) -> LeaseLostError:
    return LeaseLostError(f"Run '{lease.run_id}' no longer drives thread '{lease.thread_id}'. Nothing was written.")
