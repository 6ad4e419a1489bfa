"""A ledger that ends with the process, for tests and experiments. Real money needs a durable one."""

from __future__ import annotations

import sqlite3
from typing import TypeVar

from stepwell.clock import Clock, SystemClock
from stepwell.database.forms import product_migrations
from stepwell.payments.ledger.sql.ledger import SqlLedger, Work
from stepwell.payments.ledger.tables import TABLES
from stepwell.sql import SqliteConnection

T = TypeVar("T")


class MemoryLedger(SqlLedger):
    """A `Ledger` in memory. A piece of work never awaits, so two cannot interleave."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock or SystemClock())
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=SqliteConnection)
        self._connection.row_factory = sqlite3.Row
        for step in product_migrations(TABLES, "sqlite"):
            self._connection.executescript(step.sql)

    def close(self) -> None:
        self._connection.close()

    async def _write(self, work: Work[T], *, synced: bool = True) -> T:
        self._connection.execute("BEGIN")
        try:
            result = work(self._connection)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return result

    async def _read(self, work: Work[T]) -> T:
        return work(self._connection)
