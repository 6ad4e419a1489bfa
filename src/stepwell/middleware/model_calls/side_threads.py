"""Threads for calls that may never return.

A call that returns frees its thread for the next call. A call that was abandoned keeps its thread until it ends, and the next call gets
another thread. The threads are daemons, so a thread that hangs does not keep the program from exiting.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_IDLE = 8
"""How many idle threads are kept for reuse."""


class SideThreads:
    """Runs functions in other threads, each in the caller's context."""

    def __init__(self) -> None:
        self._idle: list[_Thread] = []
        self._lock = threading.Lock()

    def run(self, work: Callable[[], T]) -> SideResult[T]:
        """Start the work; wait for it with `SideResult.get`."""
        outcome: SideResult[T] = SideResult()
        context = contextvars.copy_context()

        def job() -> None:
            context.run(outcome.settle, work)

        with self._lock:
            thread = self._idle.pop() if self._idle else _Thread(self._give_back)
        thread.jobs.put(job)
        return outcome

    def _give_back(self, thread: _Thread) -> bool:
        with self._lock:
            if len(self._idle) >= MOST_IDLE:
                return False
            self._idle.append(thread)
            return True


class SideResult(Generic[T]):
    """The future result or error of a function in another thread."""

    def __init__(self) -> None:
        self._settled: queue.SimpleQueue[tuple[T | None, BaseException | None] | None] = queue.SimpleQueue()

    def settle(self, work: Callable[[], T]) -> None:
        try:
            self._settled.put((work(), None))
        except BaseException as error:  # the caller decides what to do with the error
            self._settled.put((None, error))

    def wake(self) -> None:
        """Let `get` return early, because the deadline has changed."""
        self._settled.put(None)

    def get(self, timeout_s: float | None) -> T:
        """The function's value, or its error; `queue.Empty` if there is no result in time or after `wake`."""
        settled = self._settled.get(timeout=timeout_s)
        if settled is None:
            raise queue.Empty
        value, error = settled
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # without an error it is the function's value


class _Thread:
    def __init__(self, give_back: Callable[[_Thread], bool]) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._give_back = give_back
        threading.Thread(target=self._work, name="model-call", daemon=True).start()

    def _work(self) -> None:
        while True:
            job = self.jobs.get()
            job()
            del job  # an idle thread must not keep a conversation alive
            if not self._give_back(self):
                return
