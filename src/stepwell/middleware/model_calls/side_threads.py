"""Threads to call something in that may never come back.

A call that returns gives its thread back for the next one; a call that nobody waits for any more keeps its thread until it ends, and
the next call gets another. The threads are daemons: one that hangs does not keep the program from ending.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_IDLE = 8
"""Threads kept for later; more are let go."""


class SideThreads:
    """Runs functions beside the caller, each in the caller's context."""

    def __init__(self) -> None:
        self._idle: list[_Thread] = []
        self._lock = threading.Lock()

    def run(self, work: Callable[[], T]) -> SideResult[T]:
        """Begin; the outcome is waited for apart."""
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
    """What a function beside us will have returned or raised."""

    def __init__(self) -> None:
        self._settled: queue.SimpleQueue[tuple[T | None, BaseException | None] | None] = queue.SimpleQueue()

    def settle(self, work: Callable[[], T]) -> None:
        try:
            self._settled.put((work(), None))
        except BaseException as error:  # the caller's to judge, whatever it is
            self._settled.put((None, error))

    def wake(self) -> None:
        """Let `get` end early, because there is a reason to wait for another time."""
        self._settled.put(None)

    def get(self, timeout_s: float | None) -> T:
        """The value; the function's own error; or `queue.Empty` if it is not there in time, or somebody called `wake`."""
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
