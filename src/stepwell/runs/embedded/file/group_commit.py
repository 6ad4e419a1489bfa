"""Many pieces of work in one transaction, and what happens when one of them, or the transaction, fails. For events it is the last of the
three stages of batching that are drawn in `runs/streaming`; checkpoints, records and all else come straight here.

```
all together ──commit──> done
     │ a piece fails by itself (refused, malformed): it is undone, the others go on in the same transaction
     │ the disk is full: everything is undone, then each piece has a transaction of its own, in order: one that is too large takes
     │                   nobody with it. Work that frees room gets the reserve if it needs to (`disk_space`)
     └ the database is locked, broken or gone: all of them fail
```

Rule to keep: work of one *lane* (a run's checkpoints and effects) is stored in the order it was handed in, without gaps. When a piece
fails because of the storage, later ones of its lane are refused, in this group and in all to come: an effect must never be on disk
without the checkpoint that was handed in before it. A lane is over with its lease, and whoever drives the run begins another.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stepwell.errors import StorageUnavailableError
from stepwell.runs.embedded.file.disk_space import DiskSpace
from stepwell.runs.embedded.file.write_ahead_log import WriteAheadLog

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_CONCERNS_ALL = frozenset(
    {
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM,
    }
)  # fmt: skip
_MOST_BROKEN_LANES = 10_000
_PAGES_GIVEN_BACK = 128
_PAGES = 1000
"""In the log when a commit copies it into the file; SQLite's own choice."""
_PAGES_WHILE_DELETING = 256


@dataclass(frozen=True)
class OrderedWork(Generic[T]):
    """Work that is refused once earlier work of its lane could not be stored."""

    lane: Hashable
    work: Work[T]

    def __call__(self, connection: sqlite3.Connection) -> T:
        return self.work(connection)


@dataclass
class Job(Generic[T]):
    work: Work[T]
    done: Future[T] | asyncio.Future[T]
    loop: asyncio.AbstractEventLoop | None = None
    """The loop that `done` belongs to, if it is one of asyncio's."""
    frees: bool = False
    """It makes room: it may use the reserve of a disk that is full."""
    synced: bool = False
    """It has to survive the power going out, whatever the rest of the database does."""
    result: Any = None
    error: BaseException | None = None

    @property
    def lane(self) -> Hashable | None:
        return self.work.lane if isinstance(self.work, OrderedWork) else None


class GroupCommit:
    """Runs groups on the writer's connection. Used by the writer thread alone."""

    def __init__(
        self, connection: sqlite3.Connection, log: WriteAheadLog, disk_space: DiskSpace, *, synchronous: str = "NORMAL"
    ) -> None:
        self._connection = connection
        self._usual = self._level = synchronous
        self._log = log
        self._disk_space = disk_space
        self._broken: dict[Hashable, None] = {}

    def run(self, group: Sequence[Job[Any]]) -> None:
        """Afterwards every job has its result, committed, or its error."""
        try:
            self._run_together(group)
        except BaseException as error:  # whatever it is, nobody waits for ever
            _undo(self._connection)
            for job in group:
                job.error = job.error or (unavailable(error) if isinstance(error, sqlite3.Error) else error)
                self._break(job)

    def _run_together(self, group: Sequence[Job[Any]]) -> None:
        try:
            self._commit(group)
        except sqlite3.Error as error:
            _undo(self._connection)
            if _code(error) != sqlite3.SQLITE_FULL:
                raise
            for job in group:
                self._run_alone(job)

    def _commit(self, group: Sequence[Job[Any]], *, before_commit: Callable[[], None] | None = None) -> None:
        self._set_level("FULL" if any(job.synced for job in group) else self._usual)
        self._connection.execute("BEGIN IMMEDIATE")
        for job in group:
            self._run_one(job)
        if before_commit:
            before_commit()
        if not any(job.frees for job in group):
            self._connection.execute("COMMIT")
            return
        # Deletions write a lot, one after the other. With little of it in the log each time, nobody waits long for a commit that
        # happens to copy the log into the file.
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_WHILE_DELETING}")
        try:
            self._connection.execute("COMMIT")
        finally:
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES}")

    def _set_level(self, level: str) -> None:
        """How a commit gets to the disk: FULL waits for it. SQLite lets it be changed between two transactions only."""
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
                self._break(job)
                return
            self._run_on_reserve(job)

    def _run_on_reserve(self, job: Job[Any]) -> None:
        """Make room on a disk that has none: the file gets shorter with each step, and the log is cut before and after it."""
        with self._disk_space.lent():
            self._log.empty()
            try:
                self._commit([job], before_commit=self._give_back)
            except sqlite3.Error as error:
                _undo(self._connection)
                job.error = unavailable(error)
            self._log.empty()

    def _give_back(self) -> None:
        # In the same transaction: otherwise the log could only be emptied into a file that has grown, for which there is no room.
        self._connection.execute(f"PRAGMA incremental_vacuum({_PAGES_GIVEN_BACK})").fetchall()

    def _run_one(self, job: Job[Any]) -> None:
        if job.lane is not None and job.lane in self._broken:
            job.error = StorageUnavailableError(
                "An earlier write of this run could not be stored, so this one was not. The run is driven again."
            )
            return
        self._connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(self._connection)
        except BaseException as error:  # handed to whoever waits for it
            if isinstance(error, sqlite3.Error) and (_concerns_all(error) or not self._connection.in_transaction):
                raise
            job.error = error
            self._connection.execute("ROLLBACK TO job")
            if isinstance(error, sqlite3.Error):
                self._break(job)
        self._connection.execute("RELEASE job")

    def _break(self, job: Job[Any]) -> None:
        if job.lane is None:
            return
        while len(self._broken) >= _MOST_BROKEN_LANES:
            del self._broken[next(iter(self._broken))]
        self._broken[job.lane] = None


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary code; an extended one has it in its lowest byte."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _concerns_all(error: sqlite3.Error) -> bool:
    return _code(error) in _CONCERNS_ALL or _code(error) == sqlite3.SQLITE_FULL


def _undo(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):  # SQLite has rolled back by itself
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def tell_waiting(group: Sequence[Job[Any]]) -> None:
    """Tell everybody, in the order of their work. A loop is woken once for all of its jobs."""
    of_loops: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in group:
        if job.loop is not None:
            of_loops.setdefault(job.loop, []).append(job)
        elif isinstance(job.done, Future) and job.done.set_running_or_notify_cancel():
            _settle(job)
    for loop, jobs in of_loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
            loop.call_soon_threadsafe(_settle_all, jobs)


def _settle_all(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        if not job.done.done():  # whoever waited may have been cancelled
            _settle(job)


def _settle(job: Job[Any]) -> None:
    if job.error is not None:
        job.done.set_exception(job.error)
    else:
        job.done.set_result(job.result)


def unavailable(error: BaseException) -> StorageUnavailableError:
    # SQLite's text names no path and no value; it is what an operator needs ("database or disk is full").
    return StorageUnavailableError(f"The database cannot be used now: {error}. Nothing was kept of this; try again later.")
