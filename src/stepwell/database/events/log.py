"""The event log in SQLite: a table that is appended to under a lease, and followers who are handed what was appended.

`threads.last_seq` is the counter: whoever adds events raises it in the same transaction, so that numbers have no gap. The queue
adds events inside transactions of its own with `insert_events`, and calls `announce` when they are committed; without that
call a follower learns of them only with the next event.

One process writes the file, so following needs no polling: what is committed is handed over in memory
(`followers`). Any number of asyncio loops in the process may append and follow; other kinds of loop are not supported.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

from stepwell.clock import Clock
from stepwell.database.documents.book import DocumentBook, Texts
from stepwell.database.events.types import BEGINNING
from stepwell.database.types import Lease, NewEvent, RunEvent
from stepwell.database.database import SqlDatabase
from stepwell.database.documents.rows import forget_unneeded, newest_number, read_fields
from stepwell.database.events.appending import Appends, HandOver
from stepwell.database.events.followers import Followers
from stepwell.database.events.reading import LARGEST_SEQ, Reader, events_after, last_seq
from stepwell.database.events.rows import insert_events
from stepwell.database.rows import to_time
from stepwell.sql import Connection

__all__ = ["END", "SqlEventLog", "insert_events"]

END = "end"
"""The event after which a run says nothing more."""


class SqlEventLog:
    """`stepwell.database.events.types.EventLog` over a `SqlDatabase`."""

    def __init__(self, database: SqlDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.followers = Followers()
        self.pass_on: HandOver | None = None
        """Told of everything that this process commits, where others have to hear of it from here."""
        self._of_thread = threading.local()

    @property
    def following(self) -> int:
        """How many follow now."""
        return self.followers.count()

    @property
    def written(self) -> int:
        """How many events this process has added."""
        return self.followers.given

    def append(self, lease: Lease, events: Sequence[NewEvent]) -> asyncio.Future[list[RunEvent]]:
        return self._appends().append(lease, events, to_time(self._clock.now()))

    def announce(self, thread_id: str, ended_run: str | None = None, *, events: Sequence[RunEvent] = ()) -> None:
        """Wake whoever follows the thread, after a commit that was not made by `append`. Any thread may call this.

        Give the committed `events` where they are at hand: followers then need not read the table. `ended_run` is a run that
        has ended or is gone: its followers look at the run itself, unless the events hold its end.
        """
        if events:
            self._committed(thread_id, events)
        told = any(event.event == END and event.run_id == ended_run for event in events)
        if not events or (ended_run is not None and not told):
            self._committed(thread_id, ())

    def look_again(self, thread_id: str | None) -> None:
        """Another process has written something of this thread, or perhaps of any. Any thread may call this."""
        self.followers.look_again(thread_id)

    async def documents(self, thread_id: str) -> DocumentBook:
        newest, values = await self._database.read(lambda connection: _standing_documents(connection, thread_id))
        return DocumentBook(newest, values, wants_text=lambda: self.followers.any(thread_id))

    async def read(
        self, thread_id: str, *, run_id: str | None = None, after: int = BEGINNING, limit: int = 1000
    ) -> list[RunEvent]:
        return await self._database.read(lambda connection: list(events_after(connection, thread_id, run_id, after, limit)))

    async def newest(self, thread_id: str) -> int:
        return await self._database.read(lambda connection: last_seq(connection, thread_id)) or BEGINNING

    async def follow_run(self, thread_id: str, run_id: str, *, after: int = BEGINNING) -> AsyncIterator[list[RunEvent]]:
        with self.followers.join(thread_id) as follower:
            reader = Reader(self._database, follower, thread_id, run_id, after)
            while (events := await reader.next()) is not None:
                if events:
                    yield events
                if events and events[-1].event == END:
                    return

    async def follow_thread(self, thread_id: str, *, after: int | None = None) -> AsyncIterator[list[RunEvent]]:
        """As in the protocol. It ends only when the thread is gone."""
        with self.followers.join(thread_id) as follower:
            if after is None:
                after = await self.newest(thread_id)
                # Events that came while the table was asked are new to this follower.
                after = after if follower.first_given is None else min(after, follower.first_given - 1)
            reader = Reader(self._database, follower, thread_id, None, after)
            while (events := await reader.next()) is not None:
                if events:
                    yield events

    async def trim(self, thread_id: str, *, before: int) -> int:
        def work(connection: Connection) -> int:
            bound = min(before, LARGEST_SEQ)
            gone = connection.execute("DELETE FROM events WHERE thread_id = ? AND seq < ?", (thread_id, bound)).rowcount
            forget_unneeded(connection, thread_id)
            return gone

        return await self._database.write(work)

    def _committed(self, thread_id: str, events: Sequence[RunEvent]) -> None:
        self.followers.give(thread_id, events)
        if self.pass_on is not None:
            self.pass_on(thread_id, events)

    def _appends(self) -> Appends:
        """Those of the running loop: of the one this thread ran last, if it is the same."""
        loop = asyncio.get_running_loop()
        appends: Appends | None = getattr(self._of_thread, "appends", None)
        if appends is None or appends.loop is not loop:
            appends = self._of_thread.appends = Appends(self._database, self._committed, loop)
        return appends


def _standing_documents(connection: Connection, thread_id: str) -> tuple[int, tuple[int, Texts] | None]:
    """The newest number, and the document that holds the thread's values now, if there is one."""
    row = connection.execute("SELECT document FROM thread_values WHERE thread_id = ?", (thread_id,)).fetchone()
    number = row and row["document"]
    values = None if number is None else (number, read_fields(connection, thread_id, number))
    return newest_number(connection, thread_id), values
