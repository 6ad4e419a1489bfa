"""How long a caller waits for a database that does not answer at all, for example because the network drops everything.

Only the database's silence counts. Work may wait long in this process' own queue, behind thousands of other pieces, while the database
answers every one of them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

from stepwell.database.database import Job, JobQueue
from stepwell.database.postgres.group_commit import LOOK_FIRST
from stepwell.errors import OutcomeUnknownError, StorageUnavailableError


class Beginnings:
    """Decides for each write whether it is sent or withdrawn, as the writer and the caller that gives up are different threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def begin(self, group: Sequence[Job[Any]], began_at: float) -> None:
        with self._lock:
            for job in group:
                job.begun_at = began_at

    def withdraw(self, job: Job[Any]) -> bool:
        """Whether the job has not begun; it never will then."""
        with self._lock:
            job.withdrawn = not job.begun_at
            return job.withdrawn


class Limit:
    """Ends a job's wait once the database has been silent for too long. Enter it in the job's loop, and await the job inside."""

    def __init__(self, job: Job[Any], queue: JobQueue, within_s: float, beginnings: Beginnings | None = None) -> None:
        """`beginnings`: the job is a write."""
        self._job = job
        self._queue = queue
        self._within_s = within_s
        self._beginnings = beginnings
        self._since = monotonic()

    def __enter__(self) -> None:
        self._look_again(self._within_s)

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()

    def _look_again(self, after_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(after_s, self._look)

    def _look(self) -> None:
        if self._job.done.done():
            return
        left_s = self._silent_since() + self._within_s - monotonic()
        if left_s > 0:
            self._look_again(left_s)
        else:
            self._job.done.set_exception(self._given_up())

    def _silent_since(self) -> float:
        if self._beginnings is None and self._job.begun_at:  # the answers to other readers say nothing about this read
            return self._job.begun_at
        return max(self._since, self._queue.moved_at)

    def _given_up(self) -> StorageUnavailableError:
        said = f"The database has not answered within {self._within_s:g} s"
        if self._beginnings is None:
            return StorageUnavailableError(f"{said}. Nothing was changed; try again later.", away=True)
        if self._beginnings.withdraw(self._job):
            return StorageUnavailableError(
                f"{said}, so this was not sent to it. Nothing was stored; try again later.", away=True
            )
        return OutcomeUnknownError(f"{said}. This may have been stored, or may still be. {LOOK_FIRST}", away=True)
