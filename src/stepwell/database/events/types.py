"""What runs said, in order: a seam. An event is in the log before anybody is sent it.

`seq` grows within a thread without gaps as written (trimming removes from the front). Whoever reads gives the last `seq` seen
and gets what came after, so that a reload, a reconnect and a second tab are the same thing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Protocol

from stepwell.database.documents.book import DocumentBook
from stepwell.database.types import Lease, NewEvent, RunEvent

BEGINNING = 0
"""Before the first event of any thread."""


class EventLog(Protocol):
    """Appends under a lease, and lets any number of readers follow."""

    def append(self, lease: Lease, events: Sequence[NewEvent]) -> Awaitable[list[RunEvent]]:
        """Write all or none; refused with `LeaseLostError` when the lease is not the newest. Appends of one caller are written in
        the order of the calls, and every error comes from awaiting."""
        ...

    async def documents(self, thread_id: str) -> DocumentBook:
        """For whoever holds the thread's lease: numbers go on from the newest document, and the thread's values are the first
        base. An event that is stored as a document is read and followed as its whole text, like any other."""
        ...

    async def read(
        self, thread_id: str, *, run_id: str | None = None, after: int = BEGINNING, limit: int = 1000
    ) -> list[RunEvent]: ...

    async def newest(self, thread_id: str) -> int:
        """The number of the thread's newest event; `BEGINNING` where there is none."""
        ...

    def follow_run(self, thread_id: str, run_id: str, *, after: int = BEGINNING) -> AsyncIterator[list[RunEvent]]:
        """What there is after `after`, then what comes, in batches, until the run has ended and all of it was given."""
        ...

    def follow_thread(self, thread_id: str, *, after: int | None = None) -> AsyncIterator[list[RunEvent]]:
        """The same over all runs of a thread, without an end. `after=None` begins with what comes next."""
        ...

    async def trim(self, thread_id: str, *, before: int) -> int:
        """Forget events below `before`. Gives how many."""
        ...
