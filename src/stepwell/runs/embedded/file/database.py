"""One SQLite file, written by one thread, read by a few.

Work is a function of a connection. Work that writes goes to the writer thread, which takes everything that is waiting, runs
it in one transaction and commits once (`group_commit`); one piece that fails takes nobody with it. A caller goes on when the
commit has happened: what was awaited survives a kill of the process. With `power_loss=True` it survives the machine too, at the price
of a flush to disk per group.

Work runs in the order it was handed in. That is relied upon: an effect that is journaled after a checkpoint was handed in is
never on disk without that checkpoint.

Rules to keep: work does not commit, does not call back into the database, and does nothing but SQL (it holds everybody up).
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, TypeVar

from stepwell.errors import StorageUnavailableError
from stepwell.runs.embedded.file.disk_space import DiskSpace
from stepwell.runs.embedded.file.group_commit import GroupCommit, Job, Work, tell_waiting, unavailable
from stepwell.runs.embedded.file.opening import opening
from stepwell.runs.embedded.file.write_ahead_log import WriteAheadLog
from stepwell.runs.embedded.migrate import migrate

__all__ = ["Database", "GroupWritten", "Work"]

logger = logging.getLogger(__name__)

T = TypeVar("T")
GroupWritten = Callable[[int, float], None]
"""Told of every commit, in the writer's thread: how many pieces of work it held, and how many seconds it took."""

_LARGEST_GROUP = 256
_BUSY_TIMEOUT_S = 10.0
_READERS = 4
_PATIENT_READERS = 2
"""For reads whose size a caller chooses (a history, a search with values): however many, they leave the others' readers alone."""
_INCREMENTAL = 2


class Database:
    """Open with `Database(path)`, close with `close()`. Safe to use from any thread and any event loop.

    A file that cannot be opened is refused with `ConfigurationError`.
    """

    def __init__(
        self,
        path: Path,
        *,
        power_loss: bool = False,
        group_written: GroupWritten | None = None,
        least_free_bytes: int | None = None,
    ) -> None:
        self.path = path
        self.disk_space = DiskSpace(path, least_free=least_free_bytes)
        self._group_written = group_written
        self._synchronous = "FULL" if power_loss else "NORMAL"
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._local = threading.local()
        self._open_readers: list[sqlite3.Connection] = []
        self._closed = False
        with opening(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            _make_private(path)
            with self.disk_space.lent():  # SQLite makes a file beside this one, also on a disk that is full
                writer = self._connect_writer()
        self._reads: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._patient_reads: SimpleQueue[Job[Any] | None] = SimpleQueue()
        lanes = [self._reads] * _READERS + [self._patient_reads] * _PATIENT_READERS
        self._readers = [
            threading.Thread(target=self._serve_reads, args=(lane,), name=f"stepwell-read-{number}", daemon=True)
            for number, lane in enumerate(lanes)
        ]
        self._writer = threading.Thread(target=self._write_groups, args=(writer,), name="stepwell-write", daemon=True)
        for thread in (self._writer, *self._readers):
            thread.start()

    @property
    def waiting(self) -> int:
        """Pieces of work that the writer has not taken up yet."""
        return self._jobs.qsize()

    def submit(self, work: Work[T]) -> Future[T]:
        """Hand work to the writer. The future is done when the work is committed, or has failed."""
        done = Future[T]()
        self._hand_in(Job(work, done))
        return done

    def write_soon(self, work: Work[T], *, frees: bool = False, synced: bool = False) -> asyncio.Future[T]:
        """The same in an event loop. It is woken once for all of its work in a group; wrapped futures would each wake it.

        `frees`: the work makes room, or is needed to; on a full disk it may use what is kept back for that. `synced`: when it is done, it
        survives the power going out, also in a database that otherwise does not promise that.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._hand_in(Job(work, done, loop, frees, synced))
        return done

    async def write(self, work: Work[T], *, frees: bool = False, synced: bool = False) -> T:
        return await self.write_soon(work, frees=frees, synced=synced)

    def write_now(self, work: Work[T]) -> T:
        """The same for code that is not async; it blocks."""
        return self.submit(work).result()

    async def read(self, work: Work[T], *, patient: bool = False) -> T:
        """Work on a snapshot, in a reader's thread. `patient` work may take long, and waits for others of its kind only."""
        if self._closed:
            raise StorageUnavailableError("The database is closed: the server is stopping.")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        (self._patient_reads if patient else self._reads).put(Job(work, done, loop))
        return await done

    def read_now(self, work: Work[T]) -> T:
        """The same in the calling thread."""
        try:
            connection = self._reader()
            connection.execute("BEGIN")
            try:
                return work(connection)
            finally:
                connection.rollback()
        except sqlite3.OperationalError as error:
            raise unavailable(error) from error

    def close(self) -> None:
        """Finish what was handed in, then close the file."""
        if self._closed:
            return
        self._closed = True
        self._jobs.put(None)
        self._writer.join()
        for _ in self._readers:
            self._reads.put(None)
            self._patient_reads.put(None)
        for reader in self._readers:
            reader.join()
        for connection in self._open_readers:
            connection.close()

    def _hand_in(self, job: Job[Any]) -> None:
        if self._closed:
            raise StorageUnavailableError("The database is closed: the server is stopping.")
        self._jobs.put(job)

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
            self._open_readers.append(connection)
        return connection

    def _connect_writer(self) -> sqlite3.Connection:
        connection = self._connect()
        with _closed_on_error(connection):
            # Counts for a new file only: space that is freed can be given back bit by bit, without copying the file. Said again to a
            # file that knows it, it would be written again, for which a full disk has no room.
            if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
                connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")
            # Deleted means gone: a thread's bytes do not linger in free pages.
            connection.execute("PRAGMA secure_delete = ON")
            migrate(connection)
        return connection

    def _connect(self) -> sqlite3.Connection:
        """Without anything that writes: a reader can be opened while the disk is full."""
        connection = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        with _closed_on_error(connection):
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA cache_size = -16000")
        return connection

    def _serve_reads(self, reads: SimpleQueue[Job[Any] | None]) -> None:
        # Our own few threads: an executor's futures cost several times as much as the usual query.
        while (job := reads.get()) is not None:
            if job.done.cancelled():
                continue
            try:
                job.result = self.read_now(job.work)
            except BaseException as error:  # handed to whoever waits for it
                job.error = error
            tell_waiting([job])

    def _write_groups(self, connection: sqlite3.Connection) -> None:
        log, stopping = WriteAheadLog(connection), False
        commit = GroupCommit(connection, log, self.disk_space, synchronous=self._synchronous)
        while not stopping:
            try:
                group, stopping = self._next_group(log.patience_s)
            except Empty:
                log.empty()
                continue
            if group:
                began = perf_counter()
                commit.run(group)
                self._tell_written(len(group), perf_counter() - began)
                tell_waiting(group)
                log.written()
        # Without `PRAGMA optimize`: plans that follow from the schema alone are pinned by a test. Statistics of a file that was nearly
        # empty would have SQLite read whole tables a year later.
        connection.close()

    def _tell_written(self, size: int, seconds: float) -> None:
        if self._group_written:
            try:
                self._group_written(size, seconds)
            except Exception:  # without this thread nothing is ever written again
                logger.exception("whoever counts commits has failed")

    def _next_group(self, patience_s: float | None) -> tuple[list[Job[Any]], bool]:
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


def _make_private(path: Path) -> None:
    """Make a new file readable by its owner only: everything users write is in it. SQLite gives the log beside it the same rights.

    A file that exists is not opened: closing it again would take SQLite's locks away from this process's other connections.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    """A file that is refused is not held open."""
    try:
        yield
    except BaseException:
        connection.close()
        raise
