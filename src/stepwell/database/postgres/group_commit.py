"""Many pieces of work in one transaction of Postgres, and what happens when one of them, or the transaction, fails.

```
all together, SERIALIZABLE ──commit──> done
     │ a piece fails by itself (refused, malformed): undone, and run again with a savepoint before each, so that only this one is undone
     │ they are *exclusive*, as claims are (then they are by themselves), and another process is at it: not run; those would only get in
     │ each other's way
     │ somebody else has changed what was read: undone, and tried again; after a few tries each piece has a transaction of its own
     │ the connection is lost before the commit: a new one is made, and it is tried again; for a few seconds at most
     │ the connection is lost during the commit: Postgres is asked over a new one what became of the transaction. Committed: done. Aborted:
     │                                           it is tried again
     └ it cannot be asked for a few seconds, or says "committed" and was restarted meanwhile: all whose commit it was are told that nobody
                                                 knows
```

Work was written for SQLite, where one writer looks and then acts and nobody comes in between. SERIALIZABLE promises the same among many
processes: a transaction that could have seen something else in any order is refused by Postgres, and runs again. It finds that out by the
pages of indexes that were read, and so refuses many that had nothing to do with each other. Most work is *guarded*, which is what runs
write under their lease: it changes its thread's row first, and a snapshot is enough for it.
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
# The lock is taken before the transaction looks at anything, so that it sees all that others have done who had it. It is in nobody else's
# way. Claims look at what all others change, and would be in everybody's way under SERIALIZABLE. A snapshot is enough for them: among
# themselves they take turns, and whatever they decide upon they also change, so that whoever changed it meanwhile is noticed.
_BEGIN_EXCLUSIVE = "BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE workers IN SHARE UPDATE EXCLUSIVE MODE NOWAIT"
_TRIES_TOGETHER = 3
_TRIES_ALONE = 20
_LONGEST_PAUSE_S = 0.05
_ASK_OUTCOME = "SELECT txid_status(?)"
LOOK_FIRST = "Look at the thread's runs before you send it again; with an Idempotency-Key, send it again with the same one."
LOST = (psycopg.OperationalError, psycopg.InterfaceError, errors.IdleInTransactionSessionTimeout)
"""The connection is gone; the last one after a process was stopped, and woken up, in the middle of its work."""
_TOO_LARGE = (errors.ProgramLimitExceeded, errors.StatementTooComplex, errors.TooManyColumns, errors.TooManyArguments)
"""What was asked for does not fit, however often it is tried; psycopg calls these operational too."""
CHANGED_MEANWHILE = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


class _PieceFailedError(Exception):
    """A piece failed by itself, and nothing tells its writes from the others'."""


class _OutcomeUnknownError(Exception):
    """The connection was lost while the transaction of this number was being committed."""

    def __init__(self, message: str, transaction: int, server_start: str) -> None:
        self.transaction = transaction
        self.server_start = server_start
        super().__init__(message)


class GroupCommit:
    """Runs groups on the writer's connection, which it makes anew when it is lost. Used by the writer's thread alone. `lost` is called
    with every connection that is gone: what its last commit did, if anything, nobody here has been told."""

    def __init__(
        self,
        connect: Callable[[], PostgresConnection],
        connection: PostgresConnection | None = None,
        lost: Callable[[], None] = lambda: None,
        patience: Patience | None = None,
    ) -> None:
        self._connect = connect
        self._patience = patience or Patience()
        self._connection = connection
        self._lost = lost
        self._lanes = BrokenLanes()
        self.retried = 0
        """Transactions that had to be run again."""

    def run(self, group: Sequence[Job[Any]]) -> None:
        """Afterwards every job has its result, committed, or its error."""
        exclusive = [job for job in group if job.exclusive]
        if exclusive and len(exclusive) < len(group):
            # Whoever is exclusive keeps other processes waiting, so it does not wait for the rest; and the rest may have made work for it.
            self.run([job for job in group if not job.exclusive])
            group = exclusive
        if self._is_settled(group, _TRIES_TOGETHER):
            return
        for job in group:
            if not self._is_settled([job], _TRIES_ALONE):
                job.error = StorageUnavailableError(
                    "The database is too busy: others changed the same things each time. Try again."
                )
                self._lanes.add(job)

    def close(self) -> None:
        self._disconnect()

    def _is_settled(self, group: Sequence[Job[Any]], tries: int) -> bool:
        """Whether they were committed, or have an error that trying again would not change."""
        try:
            return self._try(group, tries)
        except BaseException as error:  # whatever it is, nobody waits for ever
            self._disconnect()
            told = _told(error)
            for job in group:
                job.error = job.error or told
                self._lanes.add(job)
            return True

    def _try(self, group: Sequence[Job[Any]], tries: int) -> bool:
        """Whether it was committed; otherwise nothing was, because of what others changed meanwhile."""
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
            except NewerFormError:  # it stays so
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
        """What became of a transaction whose connection was lost during its commit, as Postgres remembers it."""
        logger.warning("the connection to the database was lost during a commit; asking what became of it")
        while True:
            outcome = self._ask_outcome(unknown)
            if outcome == "committed":
                return True
            if outcome == "restarted":
                raise unknown
            # Otherwise it may still be under way, on a connection whose end the server has not noticed yet.
            if not self._patience.wait(give_up_at):
                raise (unknown.__cause__ or unknown) if outcome == "aborted" else unknown
            if outcome == "aborted":
                return False

    def _ask_outcome(self, unknown: _OutcomeUnknownError) -> str | None:
        """`committed`, `aborted` or `in progress`; `None` where nobody can tell now; `restarted` where nobody will: a server that
        has crashed gives the number of a transaction that it has lost to another one, which may be what was committed."""
        try:
            connection = self._connected()
            found: str | None = connection.execute(_ASK_OUTCOME, (unknown.transaction,)).fetchone()[0]
        except psycopg.Error:  # it is away, or another one that does not know the number has taken its place
            self._disconnect()
            return None
        return "restarted" if found == "committed" and connection.server_start != unknown.server_start else found

    def _commit(self, connection: PostgresConnection, group: Sequence[Job[Any]], carefully: bool) -> None:
        if group[0].exclusive:
            if not self._begin_exclusively(connection):
                return  # they have no result
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
        """Whether nobody else is at it."""
        try:
            connection.begin_now(_BEGIN_EXCLUSIVE)
        except errors.LockNotAvailable:
            connection.control("ROLLBACK")
            return False
        return True

    def _run_quickly(self, connection: PostgresConnection, group: Sequence[Job[Any]]) -> bool:
        """Without savepoints, which cost two trips to the database each: pieces rarely fail. Gives whether there is something to commit."""
        try:
            for job in group:
                if not self._lanes.refuse(job):
                    job.result = job.work(connection)
        except BaseException as error:
            if is_lost(error):
                raise
            if len(group) > 1:
                raise _PieceFailedError from error
            self._fail(group[0], error)
            connection.control("ROLLBACK")
            return False
        return True

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
    """Whether an error concerns the connection, and not what was asked of it.

    A disk that is full refuses what needs more room; what else is in the group, such as a sign of life, may go on.
    """
    return isinstance(error, LOST) and not isinstance(error, (errors.DiskFull, *_TOO_LARGE))


def _told(error: BaseException) -> BaseException:
    """What whoever waits for the work is told."""
    if isinstance(error, _OutcomeUnknownError):
        return OutcomeUnknownError(
            f"The connection to the database was lost while this was being stored. It may have been. {LOOK_FIRST}", away=True
        )
    return refusal(error) if isinstance(error, psycopg.Error) else error


def refusal(error: psycopg.Error) -> Exception:
    """psycopg's error in our words."""
    if isinstance(error, psycopg.DataError):
        return InvalidRequestError(
            "A value cannot be kept in the database: text must not hold the character zero, and whole numbers have at most 64 bits."
        )
    if isinstance(error, _TOO_LARGE):
        return InvalidRequestError("A value is too large for the database. Names and keys have at most about 2,700 bytes.")
    logger.warning("the database refuses: %s", first_line(error))
    return unavailable(Exception(_reason(error)), away=isinstance(error, LOST) and not isinstance(error, errors.DiskFull))


def _reason(error: psycopg.Error) -> str:
    """For clients and models, who must not be told where the database is: what Postgres and libpq say may name hosts and files."""
    if isinstance(error, NewerFormError | HeldAloneError):
        return first_line(error)  # ours
    if isinstance(error, errors.DiskFull):
        return "its disk is full"
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return "it only lets itself be read"
    if isinstance(error, errors.InsufficientPrivilege):
        return "its user may not do that"
    if isinstance(error, errors.QueryCanceled):
        return "it took too long"
    if isinstance(error, LOST):
        return "it cannot be reached"
    return f"it refuses ({error.sqlstate or type(error).__name__}); the log says why"
