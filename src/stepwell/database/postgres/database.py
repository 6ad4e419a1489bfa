"""A Postgres database, written by one thread of this process and read by a few: `SqlDatabase` over it.

Each process has one connection that writes. It stores the work of its runs in the order it was submitted, whatever other processes do.
Runs rely on that (an effect is never stored without the checkpoint before it), and the fence refuses runs that have lost their thread to
another process. Each reader thread has its own connection, opened when first needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from time import perf_counter
from types import CodeType
from typing import TypeVar

import psycopg

from stepwell.database.database import GroupWritten, Job, Separate, SqlDatabase, Work, awaited_job, tell_waiting
from stepwell.database.postgres.connection import AskedAgainError, PostgresConnection, connect
from stepwell.database.postgres.group_commit import GroupCommit, is_lost, refusal
from stepwell.database.postgres.in_use import have_alone, join
from stepwell.database.postgres.migrate import NewerFormError, migrate, migrations, require_known
from stepwell.database.postgres.patience import Patience
from stepwell.database.postgres.refusals import place_of, reaching
from stepwell.database.postgres.silence import Beginnings, Limit
from stepwell.errors import StorageUnavailableError
from stepwell.sql import POSTGRES, Connection

__all__ = ["PostgresDatabase"]

T = TypeVar("T")


# `txid_current()` assigns a transaction number, which shows that writing is possible, if writing is allowed at all.
_ASK_FORM = "SELECT MAX(number), current_setting('transaction_read_only'), txid_current() FROM stepwell_form"
_SERVING_SINCE = "SELECT CAST(EXTRACT(EPOCH FROM pg_postmaster_start_time()) AS DOUBLE PRECISION)"
_ANSWER_S = 15.0
_PATIENT_S = 120.0
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresDatabase(SqlDatabase):
    """Open with `PostgresDatabase(url)`. Raises `ConfigurationError` if it cannot be reached or used."""

    dialect = POSTGRES

    def __init__(
        self,
        url: str,
        *,
        group_written: GroupWritten | None = None,
        opened: Callable[[PostgresConnection], None] | None = None,
        lost: Callable[[], None] = lambda: None,
        alone: bool = False,
        upgrade: bool = True,
        is_meant: bool = True,
        quiet: bool = False,
    ) -> None:
        """`opened` is called with the first connection, `lost` in the writer's thread when its connection is lost. `alone`: no other
        process may use the database meanwhile; `InUseError` if one does. `upgrade`: upgrade an older schema. `is_meant`: tables may be
        created beside those of another program. `quiet`: the caller notifies other processes of new events itself."""
        super().__init__(group_written)
        self._url = url
        self._lost = lost
        self._alone = alone
        self._quiet = quiet
        self._local = threading.local()
        self._patience = Patience()
        self._beginnings = Beginnings()
        self._open_readers: list[PostgresConnection] = []
        self._several: set[CodeType] = set()
        """The code of reads that have needed more than one statement."""
        self._size = 0
        self.candidate = False
        """This process is willing to maintain the database."""
        self.leading = False
        """Set by `news`, whose connection holds the leader's lock."""
        self.writer = 0
        """Process id of the writing connection, as notifications name it."""
        self._writing = self._prepare(opened, upgrade=upgrade, is_meant=is_meant)
        self._start()

    def connect(self) -> PostgresConnection:
        """A new connection for the caller. `NewerFormError` once a newer version has changed the tables."""
        return self._enter(connect(self._url), alone=False)

    def _connect_writer(self) -> PostgresConnection:
        return self._begin_writing(connect(self._url, writes=True))

    def _begin_writing(self, connection: PostgresConnection) -> PostgresConnection:
        self._enter(connection, alone=self._alone)
        if self._quiet:
            connection.control("SET stepwell.quiet = 'on'")
        self.writer = connection.raw.info.backend_pid
        return connection

    def _enter(self, connection: PostgresConnection, *, alone: bool) -> PostgresConnection:
        """Take the lock first, so that nobody can change the tables without ending this connection; then check the schema version. Closes
        the connection if one of the two fails."""
        try:
            if alone:
                have_alone(connection, place_of(self._url))
            elif not self._alone:  # otherwise the writer already keeps others out
                join(connection)
            require_known(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    async def read(self, work: Work[T], *, patient: bool = False) -> T:
        job, done = awaited_job(work)
        reads, within_s = (self._patient_reads, _PATIENT_S) if patient else (self._reads, _ANSWER_S)
        self._hand_in_read(job, reads)
        with Limit(job, reads, within_s):
            return await done

    async def write(self, work: Work[T], *, frees: bool = False, synced: bool = False) -> T:
        job, done = awaited_job(work, frees=frees, synced=synced)
        self._hand_in(job)
        with Limit(job, self._jobs, _ANSWER_S, self._beginnings):
            return await done

    def read_now(self, work: Work[T]) -> T:
        """Runs in a reader thread, because connections are few; the caller waits for it."""
        if self._closed:
            raise StorageUnavailableError("The database is closed: the server is stopping.")
        done = Future[T]()
        self._reads.put(Job(work, done))
        return done.result()

    def require_room(self) -> None:
        """Nothing to check: the operator of the database looks after its disk."""

    def serving_since(self, connection: Connection) -> float:
        return float(connection.execute(_SERVING_SINCE).fetchone()[0])

    def leads(self) -> bool:
        self.candidate = True
        return self.leading

    def size_bytes(self) -> int:
        return self._size

    def measure(self, connection: PostgresConnection) -> None:
        """Query the size, for `size_bytes`."""
        self._size = int(connection.execute("SELECT pg_database_size(current_database())").fetchone()[0])

    async def give_back_space(self, *, only_if_low: bool = False) -> int:
        """Nothing to do: Postgres does this itself."""
        return 0

    async def check(self) -> None:
        form, only_read, _ = await self.write(lambda connection: connection.execute(_ASK_FORM).fetchone())
        if only_read == "on":
            raise StorageUnavailableError(
                "The database is read-only now (default_transaction_read_only is on): its operator has set that, or its provider because "
                "the disk is nearly full. All writes are refused until that is changed."
            )
        if form != (known := migrations()[-1].number):
            raise StorageUnavailableError(
                f"The database now has schema version {form}, and this server needs {known}. Start the same version of Stepwell here as on "
                "the other servers."
            )

    def _prepare(
        self, opened: Callable[[PostgresConnection], None] | None, *, upgrade: bool, is_meant: bool
    ) -> PostgresConnection:
        """Upgrade the database to the newest schema. Returns the writing connection."""
        with reaching(self._url):
            connection = connect(self._url, writes=True)
            try:
                migrate(connection, upgrade=upgrade, is_meant=is_meant)
                self._begin_writing(connection)
                self.measure(connection)
                if opened is not None:
                    opened(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _read_here(self, work: Work[T]) -> T:
        give_up_at = self._patience.begin()
        while True:
            try:
                return self._read_once(work)
            except NewerFormError as error:  # permanent
                raise refusal(error) from error
            except psycopg.Error as error:
                # Reading is safe to repeat.
                if not is_lost(error) or not self._patience.wait(give_up_at):
                    raise refusal(error) from error

    def _read_once(self, work: Work[T]) -> T:
        connection = self._reader()
        try:
            return work(connection) if isinstance(work, Separate) else self._read_snapshot(connection, work)
        except psycopg.Error as error:
            if is_lost(error):
                self._forget_reader()
            else:
                self._end_reading(connection)
            raise
        except BaseException:
            self._end_reading(connection)
            raise

    def _read_snapshot(self, connection: PostgresConnection, work: Work[T]) -> T:
        """Most reads are a single statement, which needs no transaction. A read that asks for a second one begins again in a transaction,
        and so do all later ones of its kind."""
        kind = getattr(work, "__code__", None)
        if kind is not None and kind not in self._several:
            try:
                with connection.asked_once():
                    return work(connection)
            except AskedAgainError:
                self._several.add(kind)
        connection.control(_BEGIN_READING)
        result = work(connection)
        connection.control("COMMIT")
        return result

    def _reader(self) -> PostgresConnection:
        connection: PostgresConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self.connect()
            self._open_readers.append(connection)
        return connection

    def _end_reading(self, connection: PostgresConnection) -> None:
        try:
            connection.control("ROLLBACK")
        except psycopg.Error:
            self._forget_reader()

    def _forget_reader(self) -> None:
        connection: PostgresConnection = self._local.connection
        self._local.connection = None
        self._open_readers.remove(connection)
        with suppress(psycopg.Error):
            connection.close()

    def _write_groups(self) -> None:
        commit = GroupCommit(self._connect_writer, self._writing, self._lose_writer, self._patience, self._jobs.move)
        stopping = False
        while not stopping:
            group, stopping = self._next_group(None)
            if group:
                began = perf_counter()
                self._beginnings.begin(group, self._jobs.move())
                commit.run(group)
                self._jobs.move()
                self._tell_written(len(group), perf_counter() - began)
                tell_waiting(group)
        commit.close()

    def _lose_writer(self) -> None:
        # This process may not know what the connection's last commit did, so it must not ignore that commit's notification as its own.
        self.writer = 0
        self._lost()

    def _close_connections(self) -> None:
        for connection in self._open_readers:
            connection.close()
