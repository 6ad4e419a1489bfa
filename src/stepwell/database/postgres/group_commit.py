"""Many pieces of work in one Postgres transaction, and what happens when one of them, or the transaction, fails.

```
all together, SERIALIZABLE ──commit──> done
     │ a piece fails by itself (refused, malformed): roll back, and run again with a savepoint before each, so that only this one is undone
     │ they are *exclusive*, as claims are (then they are in a group of their own), and another process is doing the same: not run, as they
     │ would only conflict
     │ another process has changed what was read: roll back and retry; after a few tries each piece gets its own transaction
     │ the connection is lost before the commit: reconnect and retry, for a few seconds at most
     │ the connection is lost during the commit: reconnect and ask Postgres for the transaction's outcome. Committed: done. Aborted:
     │                                           retry
     └ Postgres cannot be asked for a few seconds, or says "committed" but was restarted meanwhile: all callers of this commit get an error
                                                 that the outcome is unknown
```

Work was written for SQLite, where one writer reads and then acts, and nobody comes in between. SERIALIZABLE promises the same for many
processes: Postgres refuses a transaction whose result matches no serial order, and it runs again. Postgres detects conflicts by the index
pages that were read, and so refuses many transactions that were independent. Most work, including everything that runs write under their
lease, is *guarded*: it changes its thread's row first, so a snapshot is enough for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import random
from time import sleep
from typing import Any

import psycopg
from psycopg import errors

from stepwell.database import fence
from stepwell.database.database import BrokenLanes, Job, unavailable
from stepwell.database.postgres.connection import PostgresConnection
from stepwell.database.postgres.in_use import HeldAloneError
from stepwell.database.postgres.migrate import NewerFormError
from stepwell.database.postgres.patience import Patience
from stepwell.database.postgres.refusals import first_line
from stepwell.errors import InvalidRequestError, OutcomeUnknownError, StorageUnavailableError

logger = logging.getLogger(__name__)

_BEGIN = "BEGIN ISOLATION LEVEL SERIALIZABLE"
_BEGIN_GUARDED = "BEGIN ISOLATION LEVEL REPEATABLE READ"
# The lock is taken before the transaction reads anything, so that the transaction sees everything that previous holders have done. The lock
# only blocks exclusive work. Claims read what all other work changes, and would conflict with everything under SERIALIZABLE. A snapshot is
# enough for them, because they run one at a time and change every row they decide on, so that a concurrent change to such a row is noticed.
_BEGIN_EXCLUSIVE = "BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE workers IN SHARE UPDATE EXCLUSIVE MODE NOWAIT"
_TRIES_TOGETHER = 3
_TRIES_ALONE = 20
_LONGEST_PAUSE_S = 0.05
_ASK_OUTCOME = "SELECT txid_status(?)"
LOOK_FIRST = "Look at the thread's runs before you send it again; with an Idempotency-Key, send it again with the same one."
LOST = (psycopg.OperationalError, psycopg.InterfaceError, errors.IdleInTransactionSessionTimeout)
"""Errors that mean that the connection is lost. The last one occurs when a process was suspended in the middle of its work and wakes up."""
_TOO_LARGE = (errors.ProgramLimitExceeded, errors.StatementTooComplex, errors.TooManyColumns, errors.TooManyArguments)
"""Errors of a request that is too large, however often it is tried; psycopg counts these as operational errors too."""
CHANGED_MEANWHILE = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


class _PieceFailedError(Exception):
    """A piece of work failed by itself, and its writes can't be told from those of the other pieces."""


class _OutcomeUnknownError(Exception):
    """The connection was lost during the commit of this transaction."""

    def __init__(self, message: str, transaction: int, server_start: str) -> None:
        self.transaction = transaction
        self.server_start = server_start
        super().__init__(message)


class GroupCommit:
    """Runs groups on the writer's connection, and reconnects when it is lost. Used only by the writer's thread. `lost` is called whenever
    the connection is dropped: this process may not know what its last commit did. `answered` is called after every piece of work."""

    def __init__(
        self,
        connect: Callable[[], PostgresConnection],
        connection: PostgresConnection | None = None,
        lost: Callable[[], None] = lambda: None,
        patience: Patience | None = None,
        answered: Callable[[], object] = lambda: None,
    ) -> None:
        self._connect = connect
        self._patience = patience or Patience()
        self._connection = connection
        self._lost = lost
        self._answered = answered
        self._lanes = BrokenLanes()
        self.retried = 0
        """Transactions that had to be repeated."""

    def run(self, group: Sequence[Job[Any]]) -> None:
        """Afterwards every job has its committed result or its error."""
        exclusive = [job for job in group if job.exclusive]
        if exclusive and len(exclusive) < len(group):
            # Exclusive work keeps other processes from theirs, so it gets its own transaction. The other work goes first, because it may
            # create runs to claim.
            self.run([job for job in group if not job.exclusive])
            group = exclusive
        if self._is_settled(group, _TRIES_TOGETHER):
            return
        for job in group:
            if not self._is_settled([job], _TRIES_ALONE):
                job.error = StorageUnavailableError(
                    "The database is too busy: other processes kept changing the same data. Try again."
                )
                self._lanes.add(job)

    def close(self) -> None:
        self._disconnect()

    def _is_settled(self, group: Sequence[Job[Any]], tries: int) -> bool:
        """Whether the jobs were committed, or have an error that a retry would not change."""
        try:
            return self._try(group, tries)
        except BaseException as error:  # whatever it is, no caller may wait forever
            self._disconnect()
            told = _told(error)
            for job in group:
                job.error = job.error or told
                self._lanes.add(job)
            return True

    def _try(self, group: Sequence[Job[Any]], tries: int) -> bool:
        """Whether the group was committed. If not, nothing of it was, because of concurrent changes."""
        give_up_at, tried, carefully, told = self._patience.begin(), 0, False, False
        while tried < tries:
            for job in group:
                job.error = job.result = None
            try:
                self._commit(self._connected(), group, carefully)
            except _PieceFailedError:
                self._undo()
                carefully = True
            except CHANGED_MEANWHILE:
                self._undo()
                self.retried += 1
                tried += 1
                sleep(random() * min(0.002 * 2**tried, _LONGEST_PAUSE_S))
            except NewerFormError:  # permanent
                raise
            except _OutcomeUnknownError as error:
                self._disconnect()
                if self._was_committed(error, give_up_at):
                    return True
            except LOST as error:
                self._disconnect()
                if not told:
                    logger.warning("the connection to the database was lost; trying again: %s", type(error).__name__)
                told = True
                if not self._patience.wait(give_up_at):
                    raise
            else:
                return True
        return False

    def _was_committed(self, unknown: _OutcomeUnknownError, give_up_at: float) -> bool:
        """The outcome of a transaction whose connection was lost during its commit, as Postgres remembers it."""
        logger.warning("the connection to the database was lost during a commit; asking for the outcome")
        while True:
            outcome = self._ask_outcome(unknown)
            if outcome == "committed":
                return True
            if outcome == "restarted":
                raise unknown
            # Otherwise the transaction may still be running, on a connection whose end the server has not noticed yet.
            if not self._patience.wait(give_up_at):
                raise (unknown.__cause__ or unknown) if outcome == "aborted" else unknown
            if outcome == "aborted":
                return False

    def _ask_outcome(self, unknown: _OutcomeUnknownError) -> str | None:
        """`committed`, `aborted` or `in progress`; `None` if the outcome is not known now; `restarted` if it will never be known, because a
        server that has crashed may reuse the number of a lost transaction, and the answer may then be about the other transaction."""
        try:
            connection = self._connected()
            found: str | None = connection.execute(_ASK_OUTCOME, (unknown.transaction,)).fetchone()[0]
        except psycopg.Error:  # unreachable, or replaced by another server that does not know the number
            self._disconnect()
            return None
        return "restarted" if found == "committed" and connection.server_start != unknown.server_start else found

    def _commit(self, connection: PostgresConnection, group: Sequence[Job[Any]], carefully: bool) -> None:
        if group[0].exclusive:
            if not self._begin_exclusively(connection):
                return  # the jobs have no result
        elif all(job.guarded for job in group):
            connection.begin(_BEGIN_GUARDED)
        else:
            connection.begin_now(_BEGIN)
        if carefully:
            for job in group:
                self._run_carefully(connection, job)
        elif not self._run_quickly(connection, group):
            return
        try:
            connection.control("COMMIT")
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if isinstance(error, CHANGED_MEANWHILE) or not is_lost(error):
                raise
            raise _OutcomeUnknownError(str(error), connection.transaction, connection.server_start) from error

    def _begin_exclusively(self, connection: PostgresConnection) -> bool:
        """Whether no other process is doing exclusive work."""
        try:
            connection.begin_now(_BEGIN_EXCLUSIVE)
        except errors.LockNotAvailable:
            connection.control("ROLLBACK")
            return False
        return True

    def _run_quickly(self, connection: PostgresConnection, group: Sequence[Job[Any]]) -> bool:
        """Run all pieces without savepoints, which cost two round trips each, since pieces rarely fail. Returns whether there is something
        to commit."""
        try:
            self._run_in_turn(connection, [job for job in group if not self._lanes.refuse(job)])
        except BaseException as error:
            if is_lost(error):
                raise
            if len(group) > 1:
                raise _PieceFailedError from error
            self._fail(group[0], error)
            connection.control("ROLLBACK")
            return False
        return True

    def _run_in_turn(self, connection: PostgresConnection, jobs: Sequence[Job[Any]]) -> None:
        """Run the jobs in order, except that those with joint work wait for each other, until something concerns the thread of one of
        them."""
        waiting: list[Job[Any]] = []
        for job in jobs:
            if job.joint is not None:
                waiting.append(job)
                continue
            if job.thread_id is None or any(each.thread_id == job.thread_id for each in waiting):
                self._run_jointly(connection, waiting)
                waiting = []
            job.result = job.work(connection)
            self._answered()
        self._run_jointly(connection, waiting)

    def _run_jointly(self, connection: PostgresConnection, jobs: Sequence[Job[Any]]) -> None:
        """Check the leases of all jobs at once, then store what each function stores for those that hold."""
        joint = [(job, job.joint) for job in jobs if job.joint is not None]
        if not joint:
            return
        holding = fence.holding(connection, (each.lease for _, each in joint))
        parts: dict[Callable[..., None], list[Any]] = {}
        for job, each in joint:
            if fence.holder_of(each.lease) in holding:
                parts.setdefault(each.store_all, []).append(each.part)
            else:
                job.error = fence.lease_lost_error(each.lease)
        for store_all, those in parts.items():
            store_all(connection, those)
        self._answered()

    def _run_carefully(self, connection: PostgresConnection, job: Job[Any]) -> None:
        if self._lanes.refuse(job):
            return
        connection.control("SAVEPOINT job")
        try:
            job.result = job.work(connection)
        except BaseException as error:
            if is_lost(error):
                raise
            self._fail(job, error)
            connection.control("ROLLBACK TO SAVEPOINT job")
        connection.control("RELEASE SAVEPOINT job")
        self._answered()

    def _fail(self, job: Job[Any], error: BaseException) -> None:
        job.error = _told(error)
        if isinstance(error, psycopg.Error):
            self._lanes.add(job)

    def _connected(self) -> PostgresConnection:
        if self._connection is None or self._connection.raw.closed:
            self._connection = self._connect()
        return self._connection

    def _undo(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.control("ROLLBACK")

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None
            self._lost()


def is_lost(error: BaseException) -> bool:
    """Whether an error concerns the connection rather than the statement.

    A full disk is not such an error: it only refuses work that needs more space, and other work in the group, such as a heartbeat, may
    continue.
    """
    return isinstance(error, LOST) and not isinstance(error, (errors.DiskFull, *_TOO_LARGE))


def _told(error: BaseException) -> BaseException:
    """The error for the caller that waits for the work."""
    if isinstance(error, _OutcomeUnknownError):
        return OutcomeUnknownError(
            f"The connection to the database was lost while this was being stored, so it may or may not be stored. {LOOK_FIRST}",
            away=True,
        )
    return refusal(error) if isinstance(error, psycopg.Error) else error


def refusal(error: psycopg.Error) -> Exception:
    """psycopg's error in our words."""
    if isinstance(error, psycopg.DataError):
        return InvalidRequestError(
            "A value cannot be stored in the database: text must not contain NUL characters, and whole numbers have at most 64 bits."
        )
    if isinstance(error, _TOO_LARGE):
        return InvalidRequestError("A value is too large for the database. Names and keys have at most about 2,700 bytes.")
    logger.warning("the database refused: %s", first_line(error))
    return unavailable(Exception(_reason(error)), away=isinstance(error, LOST) and not isinstance(error, errors.DiskFull))


def _reason(error: psycopg.Error) -> str:
    """The reason as clients and models may see it. They must not learn where the database is, and messages from Postgres and libpq may name
    hosts and files."""
    if isinstance(error, NewerFormError | HeldAloneError):
        return first_line(error)  # our own message
    if isinstance(error, errors.DiskFull):
        return "its disk is full"
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return "it is read-only"
    if isinstance(error, errors.InsufficientPrivilege):
        return "its user may not do that"
    if isinstance(error, errors.QueryCanceled):
        return "it took too long"
    if isinstance(error, LOST):
        return "it cannot be reached"
    return f"it refused ({error.sqlstate or type(error).__name__}); see the log"
