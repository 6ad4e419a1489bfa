"""The event log: what runs emit, in order. An event is in the log before any reader receives it.

`seq` grows within a thread without gaps (trimming removes the oldest events). A reader sends the last `seq` it has seen and gets what came
after, so a reload, a reconnect and a second tab all work the same way.

`threads.last_seq` is the counter: code that adds events raises it in the same transaction, so that numbers have no gaps. The queue adds
events inside its own transactions with `insert_events`, and calls `announce` after the commit; without that call, a follower would only
notice them with the next event.

One process writes a SQLite file, so following needs no polling: committed events are passed on in memory (`followers`). Any number of
asyncio loops in the process may append and follow; other kinds of loop are not supported.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

from stepwell.clock import Clock
from stepwell.database.database import SqlDatabase
from stepwell.database.documents.book import DocumentBook, Texts
from stepwell.database.documents.rows import read_fields, standing_numbers
from stepwell.database.events.appending import Appends, HandOver
from stepwell.database.events.followers import Followers
from stepwell.database.events.reading import BEGINNING, Reader, events_after, last_seq
from stepwell.database.events.rows import insert_events
from stepwell.database.rows import to_time
from stepwell.database.types import Lease, NewEvent, RunEvent
from stepwell.sql import Connection

__all__ = ["END", "EventLog", "insert_events"]

END = "end"
"""The last event of a run."""


class EventLog:
    """Appends events under a lease, and lets any number of readers follow them."""

    def __init__(self, database: SqlDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.followers = Followers()
        self.pass_on: HandOver | None = None
        """If this process must inform other processes of events itself: called with all events that it commits."""
        self._of_thread = threading.local()

    @property
    def following(self) -> int:
        """The number of current followers."""
        return self.followers.count()

    @property
    def written(self) -> int:
        """How many events this process has added."""
        return self.followers.given

    def append(self, lease: Lease, events: Sequence[NewEvent]) -> asyncio.Future[list[RunEvent]]:
        """Write all events or none; refused with `LeaseLostError` when the lease is not the newest. One caller's appends are written in the
        order of the calls, and errors are only raised when the result is awaited."""
        return self._appends().append(lease, events, to_time(self._clock.now()))

    def announce(self, thread_id: str, ended_run: str | None = None, *, events: Sequence[RunEvent] = ()) -> None:
        """Wake the thread's followers, after a commit not made by `append`. Any thread may call this.

        Pass the committed `events` if available; then followers need not read the table. `ended_run` is a run that has ended or was
        deleted: its followers look at the run itself, unless the events contain its end.
        """
        if events:
            self._committed(thread_id, events)
        told = any(event.event == END and event.run_id == ended_run for event in events)
        if not events or (ended_run is not None and not told):
            self._committed(thread_id, ())

    def look_again(self, thread_id: str | None) -> None:
        """Another process has written something to this thread, or, with `None`, perhaps to any. Any thread may call this."""
        self.followers.look_again(thread_id)

    async def documents(self, thread_id: str) -> DocumentBook:
        """The book in which the holder of the thread's lease writes documents. Numbers continue from the newest document, and the thread's
        values are the first base. Readers and followers get the whole text of an event stored as a document, as of any other."""
        newest, values = await self._database.read(lambda connection: _standing_documents(connection, thread_id))
        return DocumentBook(newest, values, wants_text=lambda: self.followers.any(thread_id))

    async def read(
        self, thread_id: str, *, run_id: str | None = None, after: int = BEGINNING, limit: int = 1000
    ) -> list[RunEvent]:
        return await self._database.read(lambda connection: list(events_after(connection, thread_id, run_id, after, limit)))

    async def newest(self, thread_id: str) -> int:
        """The number of the thread's newest event; `BEGINNING` if there is none."""
        return await self._database.read(lambda connection: last_seq(connection, thread_id)) or BEGINNING

    async def follow_run(self, thread_id: str, run_id: str, *, after: int = BEGINNING) -> AsyncIterator[list[RunEvent]]:
        """Yield the run's events after number `after`, existing ones first and then new ones, in batches, until the run has ended and all
        are yielded."""
        with self.followers.join(thread_id) as follower:
            reader = Reader(self._database, follower, thread_id, run_id, after)
            while (events := await reader.next()) is not None:
                if events:
                    yield events
                if events and events[-1].event == END:
                    return

    async def follow_thread(self, thread_id: str, *, after: int | None = None) -> AsyncIterator[list[RunEvent]]:
        """Like the protocol's method. It ends only when the thread is deleted."""
        with self.followers.join(thread_id) as follower:
            if after is None:
                after = await self.newest(thread_id)
                # Events that arrived during the query are new to this follower.
                after = after if follower.first_given is None else min(after, follower.first_given - 1)
            reader = Reader(self._database, follower, thread_id, None, after)
            while (events := await reader.next()) is not None:
                if events:
                    yield events

    def _committed(self, thread_id: str, events: Sequence[RunEvent]) -> None:
        self.followers.give(thread_id, events)
        if self.pass_on is not None:
            self.pass_on(thread_id, events)

    def _appends(self) -> Appends:
        """The `Appends` of the running loop. Each operating-system thread caches that of the loop it ran last."""
        loop = asyncio.get_running_loop()
        appends: Appends | None = getattr(self._of_thread, "appends", None)
        if appends is None or appends.loop is not loop:
            appends = self._of_thread.appends = Appends(self._database, self._committed, loop)
        return appends


def _standing_documents(connection: Connection, thread_id: str) -> tuple[int, tuple[int, Texts] | None]:
    """The newest number, and the document that holds the thread's current values, if there is one."""
    newest, number = standing_numbers(connection, thread_id)
    return newest, None if number is None else (number, read_fields(connection, thread_id, number))
