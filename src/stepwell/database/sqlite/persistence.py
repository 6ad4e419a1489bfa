"""One SQLite file, opened by one server process at a time."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from stepwell.clock import Clock
from stepwell.database.checkpoints.serializer import continue_ids_after
from stepwell.database.database import GroupWritten
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import LEASE_S
from stepwell.database.shared_counts import ProcessCounts
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.process_lock import ProcessLock
from stepwell.sql import Connection


def _newest_checkpoints(connection: Connection) -> list[str]:
    """The ids of the checkpoints stored last; several, because compaction stores old checkpoints again."""
    return [row[0] for row in connection.execute("SELECT checkpoint_id FROM checkpoints ORDER BY rowid DESC LIMIT 1000")]


def _new_id() -> str:
    return str(uuid.uuid4())


class EmbeddedPersistence(Persistence):
    """`async with EmbeddedPersistence(path) as persistence:`; a second one on the same file is refused while the first is open."""

    database: Database

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock | None = None,
        new_id: Callable[[], str] = _new_id,
        power_loss: bool = False,
        group_written: GroupWritten | None = None,
        least_free_bytes: int | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        super().__init__(clock, new_id, lease_s)
        self._path = path
        self._power_loss = power_loss
        self._group_written = group_written
        self._least_free_bytes = least_free_bytes
        self._lock = ProcessLock(path.with_name(path.name + ".lock"))

    async def __aenter__(self) -> Self:
        self._lock.acquire()
        try:
            self.database = await asyncio.to_thread(self._open)
        except BaseException:
            self._lock.release()
            raise
        try:
            for checkpoint_id in await self.database.read(_newest_checkpoints):
                continue_ids_after(checkpoint_id)
        except BaseException:
            await asyncio.to_thread(self._close)
            raise
        self.database.disk_space.keep_reserve()
        self._assemble(self.database, sole=True)
        self.counts = ProcessCounts(self._clock)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._close)

    def _open(self) -> Database:
        return Database(
            self._path,
            power_loss=self._power_loss,
            group_written=self._group_written,
            least_free_bytes=self._least_free_bytes,
        )

    def _close(self) -> None:
        self.database.disk_space.drop_reserve()  # before closing, which empties the log and may need this space
        self.database.close()
        self._lock.release()
