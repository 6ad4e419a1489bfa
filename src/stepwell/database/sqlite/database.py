"""One SQLite file, written by one thread and read by a few: `SqlDatabase` over it.

The writer's thread takes everything that is waiting, runs it in one transaction and commits once (`group_commit`). Whatever was awaited
survives a kill of the process; with `power_loss=True` it also survives a power failure, at the price of a flush to disk per group.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty
from time import perf_counter
from typing import TypeVar

from stepwell.database.database import GroupWritten, SqlDatabase, Work, tell_waiting, unavailable
from stepwell.database.sqlite.disk_space import DiskSpace
from stepwell.database.sqlite.group_commit import GroupCommit
from stepwell.database.sqlite.migrate import migrate, require_known_file
from stepwell.database.sqlite.opening import opening
from stepwell.database.sqlite.write_ahead_log import WriteAheadLog
from stepwell.private_files import close_to_others, make_private_folder, open_private
from stepwell.sql import SQLITE, Connection, SqliteConnection

__all__ = ["Database", "GroupWritten", "Work"]

T = TypeVar("T")

APPLICATION_ID = 0x5354574C
"""`STWL`: lets other programs (such as `file`) identify the file."""
_BUSY_TIMEOUT_S = 10.0
INCREMENTAL = 2
_PAGES_AT_ONCE = 200


class Database(SqlDatabase):
    """Open with `Database(path)`. Raises `ConfigurationError` if the file can't be opened."""

    dialect = SQLITE

    def __init__(
        self,
        path: Path,
        *,
        power_loss: bool = False,
        group_written: GroupWritten | None = None,
        least_free_bytes: int | None = None,
    ) -> None:
        super().__init__(group_written)
        self.path = path
        self.disk_space = DiskSpace(path, least_free=least_free_bytes)
        self._synchronous = "FULL" if power_loss else "NORMAL"
        self._local = threading.local()
        self._open_readers: list[SqliteConnection] = []
        with opening(path):
            make_private_folder(path.parent)
            _make_private(path)
            with self.disk_space.lent():  # SQLite must create a file beside this one, even on a full disk
                require_known_file(path)
                self._writing = self._connect_writer()
        self._start()

    def read_now(self, work: Work[T]) -> T:
        return self._read_here(work)

    def _read_here(self, work: Work[T]) -> T:
        try:
            connection = self._reader()
            connection.execute("BEGIN")
            try:
                return work(connection)
            finally:
                connection.rollback()
        except sqlite3.OperationalError as error:
            raise unavailable(error) from error

    def require_room(self) -> None:
        self.disk_space.require()

    def size_bytes(self) -> int:
        return sum(_size(file) for file in (self.path, self.path.with_name(self.path.name + "-wal")))

    async def give_back_space(self, *, only_if_low: bool = False) -> int:
        freed = 0
        if only_if_low and not self.disk_space.is_low:
            return freed
        while step := await self.write(_give_back_some, frees=True):
            freed += step
        return freed

    async def check(self) -> None:
        # This really writes a page without changing a row, because SQLite rewrites the file's header.
        await self.write(lambda connection: connection.execute(f"PRAGMA application_id = {APPLICATION_ID}"))

    def _close_connections(self) -> None:
        for connection in self._open_readers:
            connection.close()

    def _reader(self) -> SqliteConnection:
        connection: SqliteConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
            self._open_readers.append(connection)
        return connection

    def _connect_writer(self) -> SqliteConnection:
        connection = self._connect()
        with _closed_on_error(connection):
            # Only has an effect on a new file, whose freed space can then be returned bit by bit, without copying the file. It is not set a
            # second time, because that would write to the file, for which a full disk has no space.
            if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != INCREMENTAL:
                connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")
            # Deleted means gone: a thread's bytes must not linger in free pages.
            connection.execute("PRAGMA secure_delete = ON")
            migrate(connection)
        return connection

    def _connect(self) -> SqliteConnection:
        """Open a connection. This writes nothing, so a reader can be opened while the disk is full."""
        connection: SqliteConnection = sqlite3.connect(
            self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, factory=SqliteConnection
        )
        with _closed_on_error(connection):
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA cache_size = -16000")
        return connection

    def _write_groups(self) -> None:
        connection = self._writing
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
        # There is no `PRAGMA optimize` here: query plans must follow from the schema alone, as a test checks. Statistics from a nearly
        # empty file would make SQLite read whole tables a year later.
        connection.close()


def free_bytes(connection: Connection) -> int:
    """The size of unused pages inside the file."""
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_size"))
    return int(pages * size)


def _give_back_some(connection: Connection) -> int:
    before = free_bytes(connection)
    # Fetch all rows: each one is a page that was given back.
    connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
    return before - free_bytes(connection)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _make_private(path: Path) -> None:
    """Make the file readable by its owner only, since it contains everything users write. SQLite gives a new log the same permissions.

    An existing file is not opened: closing it again would release the SQLite locks of this process's other connections.
    """
    with suppress(FileExistsError):
        open_private(path).close()
    for suffix in ("", "-wal", "-shm"):
        close_to_others(path.with_name(path.name + suffix))


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    """Close the connection if the block fails."""
    try:
        yield
    except BaseException:
        connection.close()
        raise
