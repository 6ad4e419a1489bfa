"""All seams of `stepwell.runs` over one Postgres database, opened by any number of processes."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Self

from stepwell.clock import Clock
from stepwell.runs.queue import LEASE_S
from stepwell.runs.sql.database import GroupWritten
from stepwell.runs.sql.persistence import SqlPersistence
from stepwell.runs.sql.postgres.clock import PostgresClock
from stepwell.runs.sql.postgres.connection import PostgresConnection
from stepwell.runs.sql.postgres.database import PostgresDatabase
from stepwell.runs.sql.postgres.news import News
from stepwell.runs.sql.postgres.shared_counts import PostgresCounts
from stepwell.runs.sql.rows import to_time

logger = logging.getLogger(__name__)


def _new_id() -> str:
    return str(uuid.uuid4())


class PostgresPersistence(SqlPersistence):
    """`async with PostgresPersistence(url) as persistence:`. Without a `clock` of the caller's, time is the database's."""

    database: PostgresDatabase
    counts: PostgresCounts

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        new_id: Callable[[], str] = _new_id,
        group_written: GroupWritten | None = None,
        lease_s: float = LEASE_S,
        seconds: Callable[[], float] = monotonic,
    ) -> None:
        """`seconds` are counted by this machine; what they mean is asked of the database."""
        self._database_clock = PostgresClock(seconds)
        super().__init__(clock or self._database_clock, new_id, lease_s)
        self._url = url
        self._group_written = group_written
        self._hearing: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        database = await asyncio.to_thread(self._open)
        self._assemble(database, sole=False)
        self.counts = PostgresCounts(database, self._new_id(), lambda: to_time(self._clock.now()), self._loop, self._lease_s)
        self._news = News(database.connect, self._tell, self._look, lambda: database.writer, lambda: database.candidate)
        self._news.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._close)

    def _open(self) -> PostgresDatabase:
        return PostgresDatabase(
            self._url, group_written=self._group_written, opened=self._database_clock.ask, lost=lambda: self._tell("all", "")
        )

    def _look(self, connection: PostgresConnection) -> None:
        """Now and then, in the thread that listens."""
        self._database_clock.ask(connection)
        self.database.measure(connection)
        self.counts.capacity = self.queue.capacity
        self.counts.live(connection)

    def _close(self) -> None:
        self._news.close()
        self.counts.leave()
        self.database.close()

    def _tell(self, kind: str, name: str) -> None:
        """In the thread that listens, or in the writer's."""
        if kind == "leads":
            self.database.leading = bool(name)
            return
        if kind in ("thread", "all"):
            self.events.look_again(name or None)
        if kind != "thread" and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell_queue, kind, name)

    def _heard(self, hearing: asyncio.Task[None]) -> None:
        self._hearing.discard(hearing)
        if not hearing.cancelled() and (error := hearing.exception()) is not None:
            # The next heartbeat of whoever drives the run looks for it too.
            logger.warning("who wants a run stopped could not be looked up: %s", error)

    def _tell_queue(self, kind: str, name: str) -> None:
        match kind:
            case "work":
                self.queue.hear_of_work()
            case "run":
                self.queue.hear_of_end(name)
            case "cancel":
                hearing = self._loop.create_task(self.queue.hear_of_cancellation(name))
                self._hearing.add(hearing)  # asyncio itself holds no task
                hearing.add_done_callback(self._heard)
            case "all":
                self.queue.hear_of_work()
                self.queue.hear_of_end(None)
