"""A database as the rest of `runs` sees it: work, which is a function of a connection, is handed in and comes back done.

```
write ──> one queue ──> the writer's thread: all that waits, in one transaction, one commit ──> callers go on
read  ──> one queue ──> a few readers' threads, each on a snapshot
```

Work that writes runs in the order it was handed in, and one piece that fails takes nobody with it. A caller goes on when the commit has
happened: what was awaited survives a kill of the process. The order is relied upon: an effect that is journaled after a checkpoint was
handed in is never stored without that checkpoint. Work of one *lane* (a run's checkpoints and effects, under one lease) is also stored
without gaps: when a piece fails because of the storage, later ones of its lane are refused, in this group and in all to come. A lane
is over with its lease, and whoever drives the run begins another.

Rules to keep: work does not commit, does not call back into the database, and does nothing but SQL (it holds everybody up). It may be run
again from the start when the database could not commit it, so it changes nothing but its own result.
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
from typing import Any, Generic, TypeVar

from stepwell.errors import StorageUnavailableError
from stepwell.sql import Connection, Dialect

logger = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[Connection], T]
GroupWritten = Callable[[int, float], None]
"""Told of every commit, in the writer's thread: how many pieces of work it held, and how many seconds it took."""

_LARGEST_GROUP = 256
_READERS = 4
_PATIENT_READERS = 2
"""For reads whose size a caller chooses (a history, a search with values): however many, they leave the others' readers alone."""
_MOST_BROKEN_LANES = 10_000


@dataclass(frozen=True)
class OrderedWork(Generic[T]):
    """Work that is refused once earlier work of its lane could not be stored."""

    lane: Hashable | None
    work: Work[T]
    guarded: bool = False
    """It concerns one thread, whose row it changes first. So whoever else changes that thread meanwhile is noticed by that row, and nobody
    has to remember all that was read."""

    def __call__(self, connection: Connection) -> T:
        return self.work(connection)


@dataclass(frozen=True)
class Separate(Generic[T]):
    """Work for `read` that needs no transaction: a single statement, which sees a snapshot by itself, or several that are each committed by
    themselves. It may be run twice."""

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
    """It makes room: it may use the reserve of a disk that is full."""
    synced: bool = False
    """It has to survive the power going out, whatever the rest of the database does."""
    exclusive: bool = False
    """Nobody else does such a thing meanwhile, in any process. Where somebody does, it is not done and gives `None`."""
    result: Any = None
    error: BaseException | None = None

    @property
    def lane(self) -> Hashable | None:
        return self.work.lane if isinstance(self.work, OrderedWork) else None

    @property
    def guarded(self) -> bool:
        return isinstance(self.work, OrderedWork) and self.work.guarded


class BrokenLanes:
    """Lanes of which something could not be stored. Used by the writer's thread alone."""

    def __init__(self) -> None:
        self._broken: dict[Hashable, bool] = {}
        """Lane -> whether the database was away."""

    def refuse(self, job: Job[Any]) -> bool:
        """Whether earlier work of its lane is missing; then the job has its error."""
        if job.lane is None or job.lane not in self._broken:
            return False
        job.error = StorageUnavailableError(
            "An earlier write of this run could not be stored, so this one was not. The run is driven again.",
            away=self._broken[job.lane],
        )
        return True

    def add(self, job: Job[Any]) -> None:
        if job.lane is None:
            return
        while len(self._broken) >= _MOST_BROKEN_LANES:
            del self._broken[next(iter(self._broken))]
        self._broken[job.lane] = isinstance(job.error, StorageUnavailableError) and job.error.away


class SqlDatabase(ABC):
    """Close with `close()`. Safe to use from any thread and any event loop. A subclass says how work is run and committed."""

    dialect: Dialect

    def __init__(self, group_written: GroupWritten | None = None) -> None:
        self._group_written = group_written
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._reads: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._patient_reads: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._threads: tuple[threading.Thread, ...] = ()
        self._closed = False

    # What a subclass says

    @abstractmethod
    def _write_groups(self) -> None:
        """The writer's thread: run groups until `_next_group` says that it is over."""

    @abstractmethod
    def _read_here(self, work: Work[T]) -> T:
        """Work on a snapshot, in the calling thread, which is a reader's."""

    @abstractmethod
    def read_now(self, work: Work[T]) -> T:
        """`read` for code that is not async; it blocks."""

    @abstractmethod
    def _close_connections(self) -> None: ...

    @abstractmethod
    def require_room(self) -> None:
        """`StorageUnavailableError` when there is too little room to begin something new."""

    @abstractmethod
    def size_bytes(self) -> int:
        """How large the database is, as far as that is known without asking it."""

    @abstractmethod
    async def give_back_space(self, *, only_if_low: bool = False) -> int:
        """Return what is free inside the database to the machine, in small steps. Gives how many bytes."""

    @abstractmethod
    async def check(self) -> None:
        """Raise `StorageUnavailableError` when nothing can be written now."""

    def serving_since(self, connection: Connection) -> float:
        """Since when everybody could have reached the database; before that, nobody's silence means anything."""
        return 0.0

    def leads(self) -> bool:
        """Whether this process keeps the database in shape, among all that have it open."""
        return True

    # Handing work in

    @property
    def waiting(self) -> int:
        """Pieces of work that the writer has not taken up yet."""
        return self._jobs.qsize()

    def submit(self, work: Work[T]) -> Future[T]:
        """Hand work to the writer. The future is done when the work is committed, or has failed."""
        done = Future[T]()
        self._hand_in(Job(work, done))
        return done

    def write_soon(
        self, work: Work[T], *, frees: bool = False, synced: bool = False, exclusive: bool = False
    ) -> asyncio.Future[T]:
        """The same in an event loop. It is woken once for all of its work in a group; wrapped futures would each wake it.

        `frees`: the work makes room, or is needed to; on a full disk it may use what is kept back for that. `synced`: when it is done, it
        survives the power going out, also in a database that otherwise does not promise that. `exclusive`: it would meet with its like in
        another process, and is not done (`None`) while that is at it.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._hand_in(Job(work, done, loop, frees, synced, exclusive))
        return done

    async def write(self, work: Work[T], *, frees: bool = False, synced: bool = False) -> T:
        return await self.write_soon(work, frees=frees, synced=synced)

    def write_now(self, work: Work[T]) -> T:
        """The same for code that is not async; it blocks."""
        return self.submit(work).result()

    async def read(self, work: Work[T], *, patient: bool = False) -> T:
        """Work on a snapshot, in a reader's thread. `patient` work may take long, and waits for others of its kind only."""
        if self._closed:
            raise _closed_error()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        (self._patient_reads if patient else self._reads).put(Job(work, done, loop))
        return await done

    def close(self) -> None:
        """Finish what was handed in, then close."""
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

    def _serve_reads(self, reads: SimpleQueue[Job[Any] | None]) -> None:
        # Our own few threads: an executor's futures cost several times as much as the usual query.
        while (job := reads.get()) is not None:
            if job.done.cancelled():
                continue
            try:
                job.result = self._read_here(job.work)
            except BaseException as error:  # handed to whoever waits for it
                job.error = error
            tell_waiting([job])

    def _tell_written(self, size: int, seconds: float) -> None:
        if self._group_written:
            try:
                self._group_written(size, seconds)
            except Exception:  # without this thread nothing is ever written again
                logger.exception("whoever counts commits has failed")

    def _next_group(self, patience_s: float | None) -> tuple[list[Job[Any]], bool]:
        """All that waits, and whether it is the last. `Empty` when nothing has come for so long."""
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


def _closed_error() -> StorageUnavailableError:
    return StorageUnavailableError("The database is closed: the server is stopping.")


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


def unavailable(error: BaseException, *, away: bool = False) -> StorageUnavailableError:
    # The database's text names no path and no value; it is what an operator needs ("database or disk is full").
    return StorageUnavailableError(
        f"The database cannot be used now: {error}. Nothing was kept of this; try again later.", away=away
    )
