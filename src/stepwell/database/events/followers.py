"""Who follows which thread's events in this process, and the events that wait to be read by these followers.

```
read the table until it is exhausted ──> take what was passed on ───> nothing there: wait ───┐
          ^                                  │ a gap, or too much was waiting               │
          └──────────────────────────────────┴────────────────────── signal to look again <──┘
```

Code that commits events passes them on here, so that nobody has to poll the database. A slow follower may lose the events waiting for it in
memory, but it misses none: it is told to read the table again.

Rules to keep: a follower joins before its first look at the table, and events are passed on after their commit, so that no event is missed
in between. Events may arrive from several operating-system threads, and not in the order they were committed, so a follower only accepts
events that continue from its own place, and otherwise reads the table. Everything here may be called from any thread; a follower belongs to
the asyncio loop it was made in.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from stepwell.database.types import RunEvent

MOST_WAITING = 512
MOST_WAITING_BYTES = 256 * 1024
"""How much may wait in memory for one follower, not counting the largest event, before it must read the table again. The largest is
exempt because it is in memory anyway and costs most to rebuild."""


class Follower:
    """One reader's inbox."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.first_given: int | None = None
        """The number of the first event received since the follower joined, even if that event was dropped."""
        self._lock = threading.Lock()
        self._news = asyncio.Event()
        self._waiting: list[RunEvent] = []
        self._waiting_bytes = 0
        self._largest = 0
        self._look_again = True  # a new follower starts with the table

    def give(self, events: Sequence[RunEvent]) -> None:
        """Receive events. An empty sequence means that something happened which only the database knows."""
        with self._lock:
            if events and self.first_given is None:
                self.first_given = events[0].seq
            if not self._look_again:
                self._keep(events)
        self._wake()

    def take(self) -> tuple[list[RunEvent], bool]:
        """The waiting events, and whether the table must be read. Resets both."""
        with self._lock:
            taken = self._waiting, self._look_again
            self._forget(look_again=False)
            self._news.clear()
            return taken

    async def wait(self) -> None:
        """Wait until something has arrived since the last `take`."""
        await self._news.wait()

    def _keep(self, events: Sequence[RunEvent]) -> None:
        self._waiting.extend(events)
        for event in events:
            self._waiting_bytes += len(event.data)
            self._largest = max(self._largest, len(event.data))
        too_much = len(self._waiting) > MOST_WAITING or self._waiting_bytes - self._largest > MOST_WAITING_BYTES
        if too_much or not events or not all(event.complete for event in events):
            self._forget(look_again=True)

    def _forget(self, *, look_again: bool) -> None:
        self._waiting = []
        self._waiting_bytes = self._largest = 0
        self._look_again = look_again

    def _wake(self) -> None:
        if running_loop() is self.loop:
            self._news.set()
        else:
            # Fails if the loop is closed: nobody reads there any more.
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._news.set)


def running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Followers:
    """The followers of all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_thread: dict[str, list[Follower]] = {}
        self._newest: dict[str, int] = {}
        self.joined: Callable[[], None] = _nothing
        """Called when a follower joins, in that follower's loop."""
        self.given = 0
        """Events passed on so far: every committed event, followed or not."""

    @contextmanager
    def join(self, thread_id: str) -> Iterator[Follower]:
        """Follow a thread until the block is left, in the running loop."""
        follower = Follower(asyncio.get_running_loop())
        with self._lock:
            self._of_thread.setdefault(thread_id, []).append(follower)
        self.joined()
        try:
            yield follower
        finally:
            self._leave(thread_id, follower)

    def give(self, thread_id: str, events: Sequence[RunEvent], *, ours: bool = True) -> None:
        """Pass committed events to all followers of the thread; without events, make them read the table. `ours`: committed by this
        process."""
        with self._lock:
            if ours:
                self.given += len(events)
            followers = tuple(self._of_thread.get(thread_id, ()))
            if followers and events:
                self._newest[thread_id] = max(self._newest.get(thread_id, 0), events[-1].seq)
        for follower in followers:
            follower.give(events)

    def look_again(self, thread_id: str | None) -> None:
        """Make the thread's followers read the table; `None` means all followers."""
        with self._lock:
            known = self._of_thread.values() if thread_id is None else [self._of_thread.get(thread_id, [])]
            followers = [follower for some in known for follower in some]
        for follower in followers:
            follower.give(())

    def newest_given(self) -> dict[str, int]:
        """Followed thread -> the number of the newest event passed on; 0 if there was none yet."""
        with self._lock:
            return {thread_id: self._newest.get(thread_id, 0) for thread_id in self._of_thread}

    def found(self, thread_id: str, seq: int) -> None:
        """The table holds events up to this one: make the thread's followers read it."""
        with self._lock:
            if thread_id in self._of_thread:
                self._newest[thread_id] = seq
        self.look_again(thread_id)

    def any(self, thread_id: str) -> bool:
        """Whether anyone follows the thread now."""
        return thread_id in self._of_thread

    def count(self) -> int:
        with self._lock:
            return sum(len(followers) for followers in self._of_thread.values())

    def _leave(self, thread_id: str, follower: Follower) -> None:
        with self._lock:
            followers = self._of_thread[thread_id]
            followers.remove(follower)
            if not followers:
                del self._of_thread[thread_id]
                self._newest.pop(thread_id, None)


def _nothing() -> None:
    """The default callback: does nothing."""
