"""One Postgres database, opened by any number of processes."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from stepwell.clock import Clock
from stepwell.database.database import GroupWritten, Separate
from stepwell.database.persistence import Persistence
from stepwell.database.postgres.clock import PostgresClock
from stepwell.database.postgres.connection import PostgresConnection
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.postgres.migrate import require_known
from stepwell.database.postgres.news import News
from stepwell.database.postgres.refusals import DatabaseAwayError
from stepwell.database.postgres.shared_counts import PostgresCounts
from stepwell.database.queue.types import LEASE_S
from stepwell.database.rows import dumps, to_time
from stepwell.sql import Connection

if TYPE_CHECKING:
    from stepwell.database.postgres.redis_fan_out import RedisFanOut

logger = logging.getLogger(__name__)

_AGAIN_S = 0.5


def _new_id() -> str:
    return str(uuid.uuid4())


class PostgresPersistence(Persistence):
    """`async with PostgresPersistence(url) as persistence:`. Without a `clock`, it uses the database's time."""

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
        redis_url: str | None = None,
    ) -> None:
        """`seconds` is this machine's monotonic clock, compared with the database's time. `wait_s`: how long to wait for an unreachable
        database. `superseded` is called in the event loop, with a sentence, once a newer version has changed the tables: nothing can
        be stored here any more."""
        self._database_clock = PostgresClock(seconds)
        super().__init__(clock or self._database_clock, new_id, lease_s)
        self._url = url
        self._redis_url = redis_url
        self.fan_out: RedisFanOut | None = None
        """How other processes learn of events; if `None`, through Postgres itself."""
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
        if self._redis_url is not None:
            try:
                self.fan_out = await self._open_fan_out(self._redis_url)
            except BaseException:
                await asyncio.to_thread(database.close)
                raise
        self._news = News(database.connect, self._tell, self._look, lambda: database.writer, lambda: database.candidate)
        self._news.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.fan_out is not None:
            await self.fan_out.close()
        await asyncio.to_thread(self._close)

    async def _open_in_time(self) -> PostgresDatabase:
        """Wait for the database: a server started together with it is often ready first."""
        give_up_at, said = self._loop.time() + self._wait_s, False
        while True:
            try:
                return await asyncio.to_thread(self._open)
            except DatabaseAwayError as error:
                if self._loop.time() >= give_up_at:
                    raise
                if not said:
                    logger.warning("%s Retrying for up to %g s.", error, self._wait_s)
                    said = True
            await asyncio.sleep(_AGAIN_S)

    async def _open_fan_out(self, url: str) -> RedisFanOut:
        from stepwell.database.postgres.redis_fan_out import RedisFanOut  # needs an optional dependency

        installation = await installation_fact(self.database, "id", self._new_id)
        tell, newest = partial(_tell_threads, self.database), partial(_newest_events, self.database)
        self.counts.hears = "redis"
        fan_out = RedisFanOut(url, installation, self.counts.process, self.events, tell, newest)
        fan_out.start()
        return fan_out

    def _open(self) -> PostgresDatabase:
        return PostgresDatabase(
            self._url,
            group_written=self._group_written,
            opened=self._database_clock.ask,
            lost=lambda: self._tell("all", ""),
            is_meant=self._is_meant,
            quiet=self._redis_url is not None,
        )

    def _look(self, connection: PostgresConnection) -> None:
        """Checks and measures what must be known regularly. Called every few seconds, in the listening thread."""
        require_known(connection)
        self._database_clock.ask(connection)
        self.database.measure(connection)
        self.counts.capacity = self.queue.capacity
        notify = self.counts.live(connection)
        if self.fan_out is not None:
            if notify and not self.fan_out.notify_too:  # that process may have missed notifications since it joined
                connection.execute("SELECT pg_notify('stepwell', 'all')")
            self.fan_out.notify_too = notify

    def _close(self) -> None:
        self._news.close()
        self.counts.leave()
        self.database.close()

    def _tell(self, kind: str, name: str) -> None:
        """Passes on what happened. Called in the listening thread or in the writer's."""
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
        sentence = f"The database cannot be used any more: {reason}. This process stops; others take over its runs."
        logger.error(sentence)
        if self._superseded is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._superseded, sentence)

    def _heard(self, hearing: asyncio.Task[None]) -> None:
        self._hearing.discard(hearing)
        if not hearing.cancelled() and (error := hearing.exception()) is not None:
            # The worker that drives the run also checks with its next heartbeat whether the run is to be stopped.
            logger.warning("could not look up which run is to be stopped: %s", error)

    def _tell_queue(self, kind: str, name: str) -> None:
        match kind:
            case "work":
                self.queue.hear_of_work()
            case "run":
                self.queue.hear_of_end(name)
            case "cancel":
                hearing = self._loop.create_task(self.queue.hear_of_cancellation(name))
                self._hearing.add(hearing)  # asyncio itself keeps no reference to a task
                hearing.add_done_callback(self._heard)
            case "steer":
                self.queue.hear_of_message(name)
            case "crons":
                self.crons.hear_of_change()
            case "all":
                self.crons.hear_of_change()
                self.queue.hear_of_message(None)
                self.queue.hear_of_work()
                self.queue.hear_of_end(None)


async def installation_fact(database: PostgresDatabase, name: str, make: Callable[[], str]) -> str:
    """A value shared by all processes of the installation; the first one to ask makes it."""

    def work(connection: Connection) -> str:
        known = "SELECT value FROM installation WHERE name = ?"
        row = connection.execute(known, (name,)).fetchone()
        if row is None:
            connection.execute("INSERT INTO installation (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, make()))
            row = connection.execute(known, (name,)).fetchone()
        return str(row["value"])

    return await database.read(Separate(work))


async def _tell_threads(database: PostgresDatabase, thread_ids: Sequence[str]) -> None:
    told = "SELECT tell_thread(value) FROM json_each(?)"
    await database.read(Separate(lambda connection: connection.execute(told, (dumps(list(thread_ids)),)).fetchall()))


async def _newest_events(database: PostgresDatabase, thread_ids: Sequence[str]) -> Mapping[str, int]:
    asked = "SELECT thread_id, last_seq FROM threads WHERE thread_id IN (SELECT value FROM json_each(?))"
    rows = await database.read(Separate(lambda connection: connection.execute(asked, (dumps(list(thread_ids)),)).fetchall()))
    return {row["thread_id"]: row["last_seq"] for row in rows}
