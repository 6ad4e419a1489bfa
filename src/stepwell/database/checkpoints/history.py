"""A thread's history in our saver, for `stepwell.state.compact`.

A compaction is one piece of work for the writer, and so one transaction: nobody sees half of it, and it is refused as a whole when the
lease is lost. Other work waits while the compaction puts the remaining checkpoints together. So run it during maintenance, not while a
request waits.
"""

from __future__ import annotations

from inspect import GEN_CREATED, getgeneratorstate
from typing import Any, TypeVar

from langgraph.checkpoint.serde.base import SerializerProtocol

from stepwell.backends.steps import Steps, run_steps
from stepwell.database import fence
from stepwell.database.checkpoints.packing import PackedSerializer, unpack_metadata
from stepwell.database.database import SqlDatabase
from stepwell.database.types import Lease
from stepwell.errors import StorageUnavailableError
from stepwell.sql import Connection
from stepwell.state.history import Request
from stepwell.state.history_sql import SqlHistory, executor

T = TypeVar("T")


class DatabaseHistory(SqlHistory):
    """Compacts the conversation that a `SqlSaver`'s lease is for."""

    def __init__(self, database: SqlDatabase, lease: Lease, serde: SerializerProtocol) -> None:
        super().__init__(lease.thread_id, PackedSerializer(serde))
        self._database = database
        self._lease = lease

    def run(self, steps: Steps[Request, T]) -> T:
        return self._database.write_now(lambda connection: self._take(connection, steps))

    async def arun(self, steps: Steps[Request, T]) -> T:
        return await self._database.write(lambda connection: self._take(connection, steps))

    def _read_metadata(self, stored: Any) -> dict[str, Any]:
        return unpack_metadata(stored)

    def _take(self, connection: Connection, steps: Steps[Request, T]) -> T:
        fence.require(connection, self._lease)
        if getgeneratorstate(steps) != GEN_CREATED:  # the steps ran, were rolled back with their group, and can't start again
            raise StorageUnavailableError("The database was too busy to compact this thread. Nothing was changed; try again.")
        execute = executor(connection)

        def perform(request: Request) -> Any:
            return run_steps(self.statements(request), execute)

        return run_steps(steps, perform)
