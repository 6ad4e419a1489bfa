"""The event log: what runs said, in order. An event is in the log before any reader receives it.

`seq` grows within a thread without gaps (trimming removes from the front). A reader sends the last `seq` it has seen and gets what came
after, so a reload, a reconnect and a second tab all work the same way.

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
from stepwell.database.database import SqlDatabase
from stepwell.database.documents.book import DocumentBook, Texts
from stepwell.database.documents.rows import forget_unneeded, newest_number, read_fields
from stepwell.database.events.appending import Appends, HandOver
from stepwell.database.events.followers import Followers
from stepwell.database.events.reading import BEGINNING, LARGEST_SEQ, Reader, events_after, last_seq
from stepwell.database.events.rows import insert_events
from stepwell.database.rows import to_time
from stepwell.database.types import Lease, NewEvent, RunEvent
from stepwell.sql import Connection

__all__ = ["END", "EventLog", "insert_events"]

END = "end"
"""The event after which a run says nothing more."""


class EventLog:
    """Appends under a lease, and lets any number of readers follow."""

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
        """Write all or none; refused with `LeaseLostError` when the lease is not the newest. Appends of one caller are written in
        the order of the calls, and every error comes from awaiting."""
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
        """For whoever holds the thread's lease: numbers go on from the newest document, and the thread's values are the first
        base. An event that is stored as a document is read and followed as its whole text, like any other."""
        newest, values = await self._database.read(lambda connection: _standing_documents(connection, thread_id))
        return DocumentBook(newest, values, wants_text=lambda: self.followers.any(thread_id))

    async def read(
        self, thread_id: str, *, run_id: str | None = None, after: int = BEGINNING, limit: int = 1000
    ) -> list[RunEvent]:
        return await self._database.read(lambda connection: list(events_after(connection, thread_id, run_id, after, limit)))

    async def newest(self, thread_id: str) -> int:
        """The number of the thread's newest event; `BEGINNING` where there is none."""
        return await self._database.read(lambda connection: last_seq(connection, thread_id)) or BEGINNING

    async def follow_run(self, thread_id: str, run_id: str, *, after: int = BEGINNING) -> AsyncIterator[list[RunEvent]]:
        """What there is after `after`, then what comes, in batches, until the run has ended and all of it was given."""
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
        """Forget events below `before`. Gives how many."""

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
