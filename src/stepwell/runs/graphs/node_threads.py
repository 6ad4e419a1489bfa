"""Threads for nodes that are plain functions: the default executor of a server's event loop.

Python's own executor has a handful of threads and waits for all of them at the end. Here, a function that never returns costs one thread
and nothing else: the next function gets another, and the process can end without it. A function that calls `exit()` ends its run, not the
server.

It is a `ThreadPoolExecutor` in name only, because an event loop accepts nothing else as its default.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_Job = tuple[Future[Any], Callable[[], Any]]

_MOST = 1000
_IDLE_S = 30.0


class NodeThreads(ThreadPoolExecutor):
    """A thread for each running function, up to `most`; idle threads end after a while."""

    def __init__(self, most: int = _MOST, *, idle_s: float = _IDLE_S) -> None:
        super().__init__(max_workers=most)
        self._most = most
        self._idle_s = idle_s
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._counting = threading.Lock()
        self._threads_alive = 0
        self._waiting_jobs = 0
        self._free = 0
        """How many threads wait for a job, or will wait for one as soon as they have started."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done = Future[T]()
        with self._counting:
            self._waiting_jobs += 1
            self._jobs.put((done, partial(fn, *args, **kwargs)))
            if self._waiting_jobs > self._free and self._threads_alive < self._most:
                self._threads_alive += 1
                self._free += 1
                # A daemon, so that the process does not wait for it at its end.
                threading.Thread(target=self._work, name="stepwell-node", daemon=True).start()
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Does not wait, because functions that are still running have been told to stop, or can't react. Idle threads end by
        themselves."""

    def _work(self) -> None:
        while (job := self._next()) is not None:
            _run(*job)
            del job  # otherwise an idle thread would keep its last result alive
            with self._counting:
                self._free += 1

    def _next(self) -> _Job | None:
        while True:
            try:
                job = self._jobs.get(timeout=self._idle_s)
            except Empty:
                with self._counting:
                    if self._waiting_jobs < self._free:
                        self._free -= 1
                        self._threads_alive -= 1
                        return None
                continue
            with self._counting:
                self._waiting_jobs -= 1
                self._free -= 1
            return job


def _run(done: Future[Any], work: Callable[[], Any]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except (SystemExit, KeyboardInterrupt) as error:
        # If these two reached an event loop, they would end the process, and every other run with it.
        done.set_exception(_ordinary(error))
    except BaseException as error:  # passed on to the caller
        done.set_exception(error)
    else:
        done.set_result(result)


def _ordinary(error: BaseException) -> RuntimeError:
    plain = RuntimeError(f"A step raised {type(error).__name__}({error}). It cannot end the server; raise an error instead.")
    plain.__cause__ = error
    return plain
