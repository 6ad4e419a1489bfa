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
from stepwell.runs.sql.postgres.migrate import require_known
from stepwell.runs.sql.postgres.news import News
from stepwell.runs.sql.postgres.refusals import DatabaseAwayError
from stepwell.runs.sql.postgres.shared_counts import PostgresCounts
from stepwell.runs.sql.rows import to_time

logger = logging.getLogger(__name__)

_AGAIN_S = 0.5


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
        is_meant: bool = True,
        wait_s: float = 0.0,
        superseded: Callable[[str], None] | None = None,
    ) -> None:
        """`seconds` are counted by this machine; what they mean is asked of the database. `wait_s`: for how long a database that is away is
        waited for. `superseded` is called in the event loop once a newer version has changed the tables, with a sentence: nothing can
        be stored here any more."""
        self._database_clock = PostgresClock(seconds)
        super().__init__(clock or self._database_clock, new_id, lease_s)
        self._url = url
        self._group_written = group_written
        self._is_meant = is_meant
        self._wait_s = wait_s
        self._superseded = superseded
        self._hearing: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        database = await self._open_in_time()
        self._assemble(database, sole=False)
        self.counts = PostgresCounts(database, self._new_id(), lambda: to_time(self._clock.now()), self._loop, self._lease_s)
        self._news = News(database.connect, self._tell, self._look, lambda: database.writer, lambda: database.candidate)
        self._news.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._close)

    async def _open_in_time(self) -> PostgresDatabase:
        """A server that is started together with its database is often there first."""
        give_up_at, said = self._loop.time() + self._wait_s, False
        while True:
            try:
                return await asyncio.to_thread(self._open)
            except DatabaseAwayError as error:
                if self._loop.time() >= give_up_at:
                    raise
                if not said:
                    logger.warning("%s It is tried again for up to %g s.", error, self._wait_s)
                    said = True
            await asyncio.sleep(_AGAIN_S)

    def _open(self) -> PostgresDatabase:
        return PostgresDatabase(
            self._url,
            group_written=self._group_written,
            opened=self._database_clock.ask,
            lost=lambda: self._tell("all", ""),
            is_meant=self._is_meant,
        )

    def _look(self, connection: PostgresConnection) -> None:
        """Now and then, in the thread that listens."""
        require_known(connection)
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
        if kind == "newer":
            self._stop_here(name)
            return
        if kind in ("thread", "all"):
            self.events.look_again(name or None)
        if kind != "thread" and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell_queue, kind, name)

    def _stop_here(self, reason: str) -> None:
        sentence = f"The database cannot be used any more: {reason}. This process stops; what it drove is taken over by others."
        logger.error(sentence)
        if self._superseded is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._superseded, sentence)

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
