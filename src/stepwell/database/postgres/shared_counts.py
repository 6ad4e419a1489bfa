"""`SharedCounts` among the servers of one Postgres database, and which processes are alive (`processes`).

Each process holds the counts of its own open streams in memory and reports each count to the database in full, never as a difference, so
that what could not be reported because the database was unreachable can be reported later. Opening a stream takes one round trip to the
database. Closing it takes another one, for which nobody waits; in between there is no cost. The listening thread (`news`) sends a heartbeat
every few seconds. If a process sends none, its open streams are no longer counted; it reports them again if it wakes up.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import psycopg

from stepwell.database.database import Separate, Work
from stepwell.database.postgres.connection import PostgresConnection
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.shared_counts import Counted, GiveBack
from stepwell.errors import StorageUnavailableError

logger = logging.getLogger(__name__)

T = TypeVar("T")
_TURNS = 16
"""The number of locks for opening and closing streams, of which each owner uses one, so that reports about one owner can't overtake each
other."""
_COUNT = """
INSERT INTO occurrences AS o (name, ends, number) VALUES (:name, CAST(:now AS DOUBLE PRECISION) + :window, :times)
ON CONFLICT (name) DO UPDATE SET number = CASE WHEN o.ends > :now THEN o.number ELSE 0 END + excluded.number,
  ends = CASE WHEN o.ends > :now THEN o.ends ELSE excluded.ends END
RETURNING number, ends
"""


class PostgresCounts:
    """The counts of one process. `lease_s`: how long they stay valid after its last heartbeat."""

    def __init__(
        self,
        database: PostgresDatabase,
        process: str,
        now: Callable[[], float],
        loop: asyncio.AbstractEventLoop,
        lease_s: float,
    ) -> None:
        self.process = process
        self.capacity = 0
        """How many runs this process drives at once."""
        self.hears = "postgres"
        """How this process learns of events."""
        self._database = database
        self._now = now
        self._loop = loop
        self._lease_s = lease_s
        self._open: Counter[str] = Counter()
        self._untold: set[str] = set()
        self._turns = [asyncio.Lock() for _ in range(_TURNS)]
        self._telling: asyncio.Task[None] | None = None

    async def take(self, owner: str, most: int) -> GiveBack | None:
        async with self._turn(owner):
            mine, now = self._open[owner] + 1, self._now()
            try:
                fits = await self._ask(
                    lambda connection: connection.execute(
                        "SELECT take_stream(?, ?, ?, ?, ?)", (owner, self.process, mine, most, now)
                    ).fetchone()[0]
                )
            except BaseException:
                self._tell(owner)  # the stream may already be counted
                raise
            if not fits:
                self._forget_if_none(owner)
                return None
            self._open[owner] += 1
        return lambda: self._give_back(owner)

    async def count(self, name: str, window_s: float, times: int = 1) -> Counted:
        now = self._now()
        given = {"name": name, "now": now, "window": window_s, "times": times}
        row = await self._ask(lambda connection: connection.execute(_COUNT, given).fetchone())
        return Counted(row["number"], row["ends"] - now)

    def live(self, connection: PostgresConnection) -> bool:
        """Send a heartbeat. Called in the listening thread, every few seconds. Returns whether any process only learns of events through
        Postgres."""
        now = self._now()
        says = (self.process, self.capacity, self.hears, now, now + self._lease_s)
        try:
            told = connection.execute("SELECT fresh, notify FROM process_lives(?, ?, ?, ?, ?)", says).fetchone()
        except psycopg.Error as error:
            if connection.raw.closed:
                raise
            # Happens on a full disk, for example. It is no reason to stop listening.
            logger.warning("this process could not send its heartbeat: %s", type(error).__name__)
            return True
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell_all if told["fresh"] else self._tell_rest)
        return bool(told["notify"])

    def leave(self) -> None:
        """Sign this process off, so that others need not wait for its heartbeat to expire. It blocks."""
        try:
            connection = self._database.connect()
            try:
                connection.execute("DELETE FROM open_streams WHERE process = ?", (self.process,))
                connection.execute("DELETE FROM processes WHERE process = ?", (self.process,))
            finally:
                connection.close()
        except psycopg.Error as error:
            logger.warning("this server could not sign off: %s", type(error).__name__)

    def _give_back(self, owner: str) -> None:
        self._open[owner] -= 1
        self._tell(owner)

    def _tell(self, owner: str) -> None:
        self._untold.add(owner)
        self._tell_rest()

    def _tell_all(self) -> None:
        self._untold.update(self._open)
        self._tell_rest()

    def _tell_rest(self) -> None:
        if self._untold and self._telling is None:
            self._telling = self._loop.create_task(self._tell_untold())
            self._telling.add_done_callback(self._told)

    def _told(self, telling: asyncio.Task[None]) -> None:
        self._telling = None
        if not telling.cancelled() and (error := telling.exception()) is not None:
            if not isinstance(error, StorageUnavailableError):
                logger.error("open streams could not be reported", exc_info=error)
            return  # reported again with the next heartbeat
        self._tell_rest()

    async def _tell_untold(self) -> None:
        owner = self._untold.pop()
        try:
            async with self._turn(owner):
                mine = self._open[owner]
                await self._ask(
                    lambda connection: connection.execute("SELECT keep_streams(?, ?, ?)", (owner, self.process, mine))
                )
                self._forget_if_none(owner)
        except BaseException:
            self._untold.add(owner)
            raise

    def _forget_if_none(self, owner: str) -> None:
        if not self._open[owner]:
            del self._open[owner]

    def _turn(self, owner: str) -> asyncio.Lock:
        return self._turns[hash(owner) % _TURNS]

    async def _ask(self, work: Work[T]) -> T:
        return await self._database.read(Separate(work))
