"""The database as the rest of the package sees it: callers submit work (a function of a connection) and get its result.

```
write ──> one queue ──> the writer's thread: everything waiting, in one transaction, one commit ──> callers continue
read  ──> one queue ──> a few readers' threads, each on a snapshot
```

Writes run in the order they were submitted, and a write that fails does not affect the others. A caller continues once its work is
committed, so whatever was awaited survives a kill of the process. Other code relies on the order: an effect journaled after a
checkpoint was submitted is never stored without that checkpoint. Work in one *lane* (a run's checkpoints and effects, under one lease) is
also stored without gaps: once a piece fails because of the storage, all later work in its lane is refused. A lane ends with its lease;
the next worker that drives the run starts another.

Rules to keep: work does not commit, does not call back into the database, and does nothing but SQL (all other writes wait for it). It may
be run again from the start if the database could not commit it, so it changes nothing but its own result.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from stepwell.database.types import Lease
from stepwell.errors import StorageUnavailableError
from stepwell.sql import Connection, Dialect

logger = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[Connection], T]
GroupWritten = Callable[[int, float], None]
"""Called after every commit, in the writer's thread, with the number of pieces of work and the seconds it took."""

_LARGEST_GROUP = 256
_READERS = 4
_PATIENT_READERS = 2
"""The number of reader threads for reads whose size a caller chooses (a history, a search with values): these reads never occupy the other
readers."""
_MAX_BROKEN_LANES = 10_000


@dataclass(frozen=True)
class OrderedWork(Generic[T]):
    """Work that is refused once earlier work in its lane could not be stored."""

    lane: Hashable | None
    work: Work[T]
    guarded: bool = False
    """The work concerns one thread and changes that thread's row first. A concurrent change to the thread then conflicts on that row, so
    the database need not track everything that was read."""
    thread_id: str | None = None
    """The thread, if the work reads and changes only what belongs to it."""
    joint: Joint | None = None
    """How to do this together with the same work of other runs."""

    def __call__(self, connection: Connection) -> T:
        return self.work(connection)


class Joint(NamedTuple):
    """A part of work that is done for many runs at once. It only adds rows."""

    lease: Lease
    part: Any
    store_all: Callable[[Connection, Sequence[Any]], None]
    """Takes parts of several leases that hold, in the order in which they were submitted."""


@dataclass(frozen=True)
class Separate(Generic[T]):
    """Work for `read` that needs no transaction: a single statement, which sees a snapshot anyway, or several that commit separately. It
    may run twice."""

    work: Work[T]

    def __call__(self, connection: Connection) -> T:
        return self.work(connection)


@dataclass
class Job(Generic[T]):
    work: Work[T]
    done: Future[T] | asyncio.Future[T]
    loop: asyncio.AbstractEventLoop | None = None
    """The loop that `done` belongs to, if it is one of asyncio's."""
    frees: bool = False
    """The work frees space, so it may use the reserve of a full disk."""
    synced: bool = False
    """Once committed, the work must survive a power failure, even if the database does not promise that otherwise."""
    exclusive: bool = False
    """Only one process may do such work at a time. If another process is doing it now, the work is skipped and returns `None`."""
    begun_at: float = 0.0
    """When the work began, by `monotonic`; 0 before."""
    withdrawn: bool = False
    """Its caller gave up before it began. It is not run, and breaks its lane."""
    result: Any = None
    error: BaseException | None = None

    @property
    def lane(self) -> Hashable | None:
        return self.work.lane if isinstance(self.work, OrderedWork) else None

    @property
    def guarded(self) -> bool:
        return isinstance(self.work, OrderedWork) and self.work.guarded

    @property
    def thread_id(self) -> str | None:
        return self.work.thread_id if isinstance(self.work, OrderedWork) else None

    @property
    def joint(self) -> Joint | None:
        return self.work.joint if isinstance(self.work, OrderedWork) else None


class JobQueue(SimpleQueue["Job[Any] | None"]):
    """Jobs that wait for a thread; `None` ends it."""

    moved_at = 0.0
    """When a job last began or ended, or the database answered a part of it, by `monotonic`."""

    def move(self) -> float:
        self.moved_at = monotonic()
        return self.moved_at


class BrokenLanes:
    """Lanes in which some work could not be stored. Used only by the writer's thread."""

    def __init__(self) -> None:
        self._broken: dict[Hashable, bool] = {}
        """Lane -> whether the database was unreachable."""

    def refuse(self, job: Job[Any]) -> bool:
        """Whether the job was withdrawn, or earlier work in its lane could not be stored; if so, sets the job's error."""
        if job.withdrawn:
            job.error = StorageUnavailableError("The caller gave up before this began.", away=True)
            self.add(job)
            return True
        if job.lane is None or job.lane not in self._broken:
            return False
        job.error = StorageUnavailableError(
            "An earlier write of this run could not be stored, so this one was refused. The run will be driven again.",
            away=self._broken[job.lane],
        )
        return True

    def add(self, job: Job[Any]) -> None:
        if job.lane is None:
            return
        while len(self._broken) >= _MAX_BROKEN_LANES:
            del self._broken[next(iter(self._broken))]
        self._broken[job.lane] = isinstance(job.error, StorageUnavailableError) and job.error.away


class SqlDatabase(ABC):
    """Close with `close()`. Safe to use from any thread and any event loop. A subclass runs and commits the work."""

    dialect: Dialect

    def __init__(self, group_written: GroupWritten | None = None) -> None:
        self._group_written = group_written
        self._jobs = JobQueue()
        self._reads = JobQueue()
        self._patient_reads = JobQueue()
        self._threads: tuple[threading.Thread, ...] = ()
        self._closed = False

    # For subclasses to implement

    @abstractmethod
    def _write_groups(self) -> None:
        """The writer's thread: run groups until `_next_group` returns the last one."""

    @abstractmethod
    def _read_here(self, work: Work[T]) -> T:
        """Run work on a snapshot, in the calling reader thread."""

    @abstractmethod
    def read_now(self, work: Work[T]) -> T:
        """`read` for code that is not async; it blocks."""

    @abstractmethod
    def _close_connections(self) -> None: ...

    @abstractmethod
    def require_room(self) -> None:
        """Raise `StorageUnavailableError` when there is too little space to start something new."""

    @abstractmethod
    def size_bytes(self) -> int:
        """The size of the database, as known without a query."""

    @abstractmethod
    async def give_back_space(self, *, only_if_low: bool = False) -> int:
        """Return free space inside the database to the machine, in small steps. Returns the number of bytes."""

    @abstractmethod
    async def check(self) -> None:
        """Raise `StorageUnavailableError` if writing is not possible now."""

    def serving_since(self, connection: Connection) -> float:
        """The time since when every worker could reach the database. Missing heartbeats before that time don't mean that a worker is
        dead."""
        return 0.0

    def leads(self) -> bool:
        """Whether this process is the one that maintains the database, among all that have it open."""
        return True

    # Submitting work

    @property
    def waiting(self) -> int:
        """Pieces of work the writer has not started yet."""
        return self._jobs.qsize()

    def submit(self, work: Work[T]) -> Future[T]:
        """Submit work to the writer. The future completes when the work is committed or has failed."""
        done = Future[T]()
        self._hand_in(Job(work, done))
        return done

    def write_soon(
        self, work: Work[T], *, frees: bool = False, synced: bool = False, exclusive: bool = False
    ) -> asyncio.Future[T]:
        """`submit` for an event loop. The loop is woken once for all of its work in a group, whereas each wrapped future would wake it
        separately.

        `frees`: the work frees space, or is needed for that; on a full disk it may use the reserve. `synced`: once done, it survives a
        power failure, even in a database that does not promise that otherwise. `exclusive`: only one process may do this at a time; the
        result is `None` if another process is doing it now.
        """
        job, done = awaited_job(work, frees=frees, synced=synced, exclusive=exclusive)
        self._hand_in(job)
        return done

    async def write(self, work: Work[T], *, frees: bool = False, synced: bool = False) -> T:
        return await self.write_soon(work, frees=frees, synced=synced)

    def write_now(self, work: Work[T]) -> T:
        """`write` for code that is not async; it blocks."""
        return self.submit(work).result()

    async def read(self, work: Work[T], *, patient: bool = False) -> T:
        """Run work on a snapshot, in a reader thread. `patient` work may take long, and only waits for other patient work."""
        job, done = awaited_job(work)
        self._hand_in_read(job, self._patient_reads if patient else self._reads)
        return await done

    def close(self) -> None:
        """Finish all submitted work, then close."""
        if self._closed:
            return
        self._closed = True
        writer, *readers = self._threads
        self._jobs.put(None)
        writer.join()
        for _ in readers:
            self._reads.put(None)
            self._patient_reads.put(None)
        for reader in readers:
            reader.join()
        self._close_connections()

    # The threads

    def _start(self) -> None:
        lanes = [self._reads] * _READERS + [self._patient_reads] * _PATIENT_READERS
        readers = [
            threading.Thread(target=self._serve_reads, args=(lane,), name=f"stepwell-read-{number}", daemon=True)
            for number, lane in enumerate(lanes)
        ]
        self._threads = (threading.Thread(target=self._write_groups, name="stepwell-write", daemon=True), *readers)
        for thread in self._threads:
            thread.start()

    def _hand_in(self, job: Job[Any]) -> None:
        if self._closed:
            raise _closed_error()
        self._jobs.put(job)

    def _hand_in_read(self, job: Job[Any], reads: JobQueue) -> None:
        if self._closed:
            raise _closed_error()
        reads.put(job)

    def _serve_reads(self, reads: JobQueue) -> None:
        # Our own few threads: an executor's futures cost several times as much as a typical query.
        while (job := reads.get()) is not None:
            if job.done.done():  # the caller was cancelled, or gave up
                continue
            job.begun_at = reads.move()
            try:
                job.result = self._read_here(job.work)
            except BaseException as error:  # passed on to the caller
                job.error = error
            reads.move()
            tell_waiting([job])

    def _tell_written(self, size: int, seconds: float) -> None:
        if self._group_written:
            try:
                self._group_written(size, seconds)
            except Exception:  # without this thread nothing is ever written again
                logger.exception("the callback for commits failed")

    def _next_group(self, patience_s: float | None) -> tuple[list[Job[Any]], bool]:
        """Everything waiting, and whether it is the last group. Raises `Empty` if nothing comes within `patience_s`."""
        first = self._jobs.get(timeout=patience_s)
        if first is None:
            return [], True
        group = [first]
        while len(group) < _LARGEST_GROUP:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                return group, True
            group.append(job)
        return group, False


def awaited_job(
    work: Work[T], *, frees: bool = False, synced: bool = False, exclusive: bool = False
) -> tuple[Job[T], asyncio.Future[T]]:
    """A job for the running event loop, and what to await."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    return Job(work, done, loop, frees, synced, exclusive), done


def _closed_error() -> StorageUnavailableError:
    return StorageUnavailableError("The database is closed: the server is stopping.")


def tell_waiting(group: Sequence[Job[Any]]) -> None:
    """Complete all jobs, in the order of their work. A loop is woken once for all of its jobs."""
    of_loops: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in group:
        if job.loop is not None:
            of_loops.setdefault(job.loop, []).append(job)
        elif isinstance(job.done, Future) and job.done.set_running_or_notify_cancel():
            _settle(job)
    for loop, jobs in of_loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody is waiting there any more
            loop.call_soon_threadsafe(_settle_all, jobs)


def _settle_all(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        if not job.done.done():  # the caller may have been cancelled
            _settle(job)


def _settle(job: Job[Any]) -> None:
    if job.error is not None:
        job.done.set_exception(job.error)
    else:
        job.done.set_result(job.result)


def unavailable(error: BaseException, *, away: bool = False) -> StorageUnavailableError:
    # The database's own text contains no path and no value, and operators need it ("database or disk is full").
    return StorageUnavailableError(f"The database cannot be used now: {error}. Nothing was stored; try again later.", away=away)
