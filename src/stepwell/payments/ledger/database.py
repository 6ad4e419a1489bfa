"""The ledger in the database: stored beside the threads, and unaffected by what happens to them.

Credits, charges and refunds are flushed to disk before anyone is told of them, even where runs are not, because a run can be repeated and
money cannot. When a run reserves, charges or confirms, the same transaction checks its lease: a worker that lost the lease would confirm
charges for answers that were never stored, and the next worker would charge for them again. For the same reason, nothing is stored here
once an earlier checkpoint failed to be stored.
"""

from __future__ import annotations

from typing import TypeVar

from stepwell.clock import Clock, SystemClock
from stepwell.database import fence
from stepwell.database.database import SqlDatabase
from stepwell.database.types import Lease
from stepwell.payments.ledger.sql.ledger import SqlLedger, Work
from stepwell.sql import Connection

T = TypeVar("T")


class DatabaseLedger(SqlLedger):
    """A `Ledger` in the server's database; with a lease, as seen by the run that holds it."""

    def __init__(self, database: SqlDatabase, clock: Clock | None = None, lease: Lease | None = None) -> None:
        super().__init__(clock or SystemClock())
        self._database = database
        self._lease = lease

    async def _write(self, work: Work[T], *, synced: bool = True) -> T:
        return await self._database.write(work, synced=synced)

    async def _write_for_run(self, work: Work[T], *, synced: bool = True) -> T:
        if self._lease is None:
            return await self._write(work, synced=synced)
        lease = self._lease

        def checked(connection: Connection) -> T:
            fence.require(connection, lease)
            return work(connection)

        # The thread's row alone would not be enough of a guard, because one session may pay for several threads.
        return await self._database.write(fence.in_order(lease, checked), synced=synced)

    async def _read(self, work: Work[T]) -> T:
        return await self._database.read(work)
