"""A lock that both threads and tasks can wait for, and a table of such locks.

A `threading.Lock` would block the event loop while it waits, and an `asyncio.Lock` belongs to one loop; sync and async agents share one
store, so neither works. Waiters are served in order. The lock is not re-entrant.

Waiting ends with `TimeoutError` after a while, because sync code on an event loop may be waiting for a task of that same loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future

WAIT_S = 30.0


class SharedLock:
    """Held by one thread or task at a time; `release` may be called from anywhere."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._waiting: deque[Future[None]] = deque()

    def acquire(self, timeout_s: float = WAIT_S) -> None:
        """Wait in sync code."""
        turn = self._queue()
        try:
            turn.result(timeout_s)
        except BaseException:
            self._give_up(turn)
            raise

    async def aacquire(self, timeout_s: float = WAIT_S) -> None:
        """Wait in async code."""
        turn = self._queue()
        if turn.done():
            return
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.wrap_future(turn)
        except BaseException:
            self._give_up(turn)
            raise

    def release(self) -> None:
        """Pass the lock to the next waiter, if any."""
        with self._guard:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._held = False

    def _queue(self) -> Future[None]:
        turn: Future[None] = Future()
        with self._guard:
            if self._held:
                self._waiting.append(turn)
            else:
                self._held = True
                turn.set_result(None)
        return turn

    def _give_up(self, turn: Future[None]) -> None:
        # `release` skips a cancelled turn; a turn that cannot be cancelled was already served, so the lock must be passed on.
        if not turn.cancel():
            self.release()


class LockTable:
    """A fixed number of locks; a key always maps to the same lock. Two keys may share a lock, which costs a wait but is never wrong."""

    def __init__(self, size: int = 64) -> None:
        self._locks = [SharedLock() for _ in range(size)]

    def at(self, key: object) -> SharedLock:
        """The lock of a key."""
        return self._locks[hash(key) % len(self._locks)]
