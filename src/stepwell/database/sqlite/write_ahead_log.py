"""Empties SQLite's write-ahead log, so that deleted data is gone from the disk and not only from the tables.

`secure_delete` overwrites deleted rows, but it does so in the log. The log is copied into the file after about a thousand pages, and even
then it keeps its old pages until they are overwritten. On a quiet server neither ever happens. So the writer's thread empties the log
itself: in the first quiet moment after a write, and once a minute on a server that is never quiet.

Used only by the writer's thread, between transactions.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from time import monotonic

QUIET_S = 1.0
LATEST_S = 60.0
_AGAIN_S = 5.0
_log = logging.getLogger(__name__)


class WriteAheadLog:
    """The log of the file that `connection` writes to."""

    def __init__(self, connection: sqlite3.Connection, seconds: Callable[[], float] = monotonic) -> None:
        self._connection = connection
        self._seconds = seconds
        self._due_at: float | None = seconds() + LATEST_S
        """The latest time at which to empty the log; `None` if it is empty. At the start there is a time, because a killed server leaves a
        log behind."""

    @property
    def patience_s(self) -> float | None:
        """How long the writer may wait for work before it calls `empty`; `None`: forever."""
        return None if self._due_at is None else QUIET_S

    def written(self) -> None:
        """Call after a write. Empties the log if that was put off for too long."""
        if self._due_at is None:
            self._due_at = self._seconds() + LATEST_S
        elif self._seconds() >= self._due_at:
            self.empty()

    def empty(self) -> None:
        """Copy everything into the file and truncate the log. If a reader is using it now, try again later."""
        busy, before = 1, 0
        try:
            before = self._connection.execute("PRAGMA busy_timeout").fetchone()[0]
            self._connection.execute("PRAGMA busy_timeout = 0")  # don't wait for a reader while writes may be waiting
            busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            _log.debug("the write-ahead log could not be emptied: %s", error)
        if before:
            self._connection.execute(f"PRAGMA busy_timeout = {before}")
        self._due_at = self._seconds() + _AGAIN_S if busy else None
