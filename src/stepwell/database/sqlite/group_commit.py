"""Many pieces of work in one transaction, and what happens when one of them, or the transaction, fails. For events it is the last of the
three batching stages drawn in `runs/streaming`; checkpoints, records and everything else come straight here.

```
all together ──commit──> done
     │ a piece fails by itself (refused, malformed): it is undone, the others continue in the same transaction
     │ the disk is full: roll back, then each piece gets its own transaction, in order, so that one that is too large does not
     │                   affect the others. Work that frees space gets the reserve if needed (`disk_space`)
     │ the log is too long for the disk: the same, after emptying the log
     └ the database is locked, broken or missing: all of them fail
```

`database` describes what is refused after a piece of a lane could not be stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from stepwell.database.database import BrokenLanes, Job, unavailable
from stepwell.database.sqlite.disk_space import DiskSpace
from stepwell.database.sqlite.write_ahead_log import WriteAheadLog
from stepwell.sql import SqliteConnection

_CONCERNS_ALL = frozenset(
    {
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM,
    }
)  # fmt: skip
_PAGES_GIVEN_BACK = 128
_PAGES = 1000
"""The number of pages in the log at which a commit copies the log into the file; SQLite's default."""
_PAGES_WHILE_DELETING = 256


class _LogTooLongError(sqlite3.OperationalError):
    """The disk has space for the log, but not for what the log would add to the file. It is treated as full (`disk_space`)."""

    sqlite_errorcode = sqlite3.SQLITE_FULL


class GroupCommit:
    """Runs groups on the writer's connection. Used only by the writer's thread."""

    def __init__(
        self, connection: SqliteConnection, log: WriteAheadLog, disk_space: DiskSpace, *, synchronous: str = "NORMAL"
    ) -> None:
        self._connection = connection
        self._usual = self._level = synchronous
        self._log = log
        self._disk_space = disk_space
        self._lanes = BrokenLanes()

    def run(self, group: Sequence[Job[Any]]) -> None:
        """Afterwards every job has its committed result or its error."""
        try:
            self._run_together(group)
        except BaseException as error:  # whatever it is, no caller may wait forever
            _undo(self._connection)
            for job in group:
                job.error = job.error or (unavailable(error) if isinstance(error, sqlite3.Error) else error)
                self._lanes.add(job)

    def _run_together(self, group: Sequence[Job[Any]]) -> None:
        try:
            self._commit(group)
        except sqlite3.Error as error:
            _undo(self._connection)
            if _code(error) != sqlite3.SQLITE_FULL:
                raise
            if isinstance(error, _LogTooLongError):
                self._log.empty()
            for job in group:
                self._run_alone(job)

    def _commit(self, group: Sequence[Job[Any]], *, before_commit: Callable[[], None] | None = None) -> None:
        self._set_level("FULL" if any(job.synced for job in group) else self._usual)
        self._connection.execute("BEGIN IMMEDIATE")
        size = self._size()
        for job in group:
            self._run_one(job)
        if before_commit:
            before_commit()
        elif not all(job.frees for job in group):
            self._require_room(size)
        if not any(job.frees for job in group):
            self._connection.execute("COMMIT")
            return
        # Deletions write a lot, one after the other. If the log is kept short, no caller waits long for the commit that copies it into the
        # file.
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_WHILE_DELETING}")
        try:
            self._connection.execute("COMMIT")
        finally:
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES}")

    def _size(self) -> int:
        """The file's size in bytes once everything in the log is copied into it."""
        pages, page_bytes = (self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return int(pages * page_bytes)

    def _require_room(self, before: int) -> None:
        """Raise `_LogTooLongError` if the log would get too long for the disk. `before`: the size when the transaction began; what was
        added since is about to go into the log."""
        size = self._size()
        if not self._disk_space.can_copy_log(size, max(0, size - before)):
            raise _LogTooLongError("database or disk is full")

    def _set_level(self, level: str) -> None:
        """Set how a commit gets to the disk: with FULL, it waits until it is there. SQLite only allows this change between two
        transactions."""
        if level != self._level:
            self._connection.execute(f"PRAGMA synchronous = {level}")
            self._level = level

    def _run_alone(self, job: Job[Any]) -> None:
        job.error = None
        try:
            self._commit([job])
        except sqlite3.Error as error:
            _undo(self._connection)
            if _code(error) != sqlite3.SQLITE_FULL or not job.frees:
                job.error = unavailable(error)
                self._lanes.add(job)
                return
            self._run_on_reserve(job)

    def _run_on_reserve(self, job: Job[Any]) -> None:
        """Free space on a full disk: each step shortens the file, and the log is emptied before and after it."""
        with self._disk_space.lent():
            self._log.empty()
            try:
                self._commit([job], before_commit=self._give_back)
            except sqlite3.Error as error:
                _undo(self._connection)
                job.error = unavailable(error)
            self._log.empty()

    def _give_back(self) -> None:
        # The file is shortened in the same transaction, because otherwise the log would be copied into a larger file, for which there is no
        # space.
        self._connection.execute(f"PRAGMA incremental_vacuum({_PAGES_GIVEN_BACK})").fetchall()

    def _run_one(self, job: Job[Any]) -> None:
        if self._lanes.refuse(job):
            return
        self._connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(self._connection)
        except BaseException as error:  # passed on to the caller
            if isinstance(error, sqlite3.Error) and (_concerns_all(error) or not self._connection.in_transaction):
                raise
            job.error = error
            self._connection.execute("ROLLBACK TO job")
            if isinstance(error, sqlite3.Error):
                self._lanes.add(job)
        self._connection.execute("RELEASE job")


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary code; an extended one has it in its lowest byte."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _concerns_all(error: sqlite3.Error) -> bool:
    return _code(error) in _CONCERNS_ALL or _code(error) == sqlite3.SQLITE_FULL


def _undo(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):  # SQLite has rolled back by itself
        if connection.in_transaction:
            connection.execute("ROLLBACK")
