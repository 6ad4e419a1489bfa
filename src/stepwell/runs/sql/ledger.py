"""The ledger in the database: beside the threads, and untouched by whatever happens to them.

Credits, charges and refunds are flushed to the disk before anybody is told, also where runs are not: a run can be driven again, money
cannot. No lease is asked for: a charge belongs to a payer, not to whoever drives a thread, and the key of its effect keeps it unique.
"""

from __future__ import annotations

from typing import TypeVar

from stepwell.clock import Clock, SystemClock
from stepwell.payments.sql.ledger import SqlLedger, Work
from stepwell.runs.sql.database import SqlDatabase

T = TypeVar("T")


class DatabaseLedger(SqlLedger):
    """A `Ledger` in the database of the server."""

    def __init__(self, database: SqlDatabase, clock: Clock | None = None) -> None:
        super().__init__(clock or SystemClock())
        self._database = database

    async def _write(self, work: Work[T], *, synced: bool = True) -> T:
        return await self._database.write(work, synced=synced)

    async def _read(self, work: Work[T]) -> T:
        return await self._database.read(work)
