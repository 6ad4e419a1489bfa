"""Many pieces of work in one transaction of Postgres, and what happens when one of them, or the transaction, fails.

```
all together, SERIALIZABLE ──commit──> done
     │ a piece fails by itself (refused, malformed): it is undone, the others go on in the same transaction
     │ it is *exclusive*, as claims are, and another process is at it: it is not run; those would only get in each other's way
     │ somebody else has changed what was read: undone, and tried again; after a few tries each piece has a transaction of its own
     │ the connection is lost before the commit: a new one is made, and it is tried again; for a few seconds at most
     └ the connection is lost during the commit: nobody knows whether it was stored, and all whose commit it was are told so
```

Work was written for SQLite, where one writer looks and then acts and nobody comes in between. SERIALIZABLE promises the same among many
processes: a transaction that could have seen something else in any order is refused by Postgres, and runs again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import random
from time import monotonic, sleep
from typing import Any

import psycopg
from psycopg import errors

from stepwell.errors import InvalidRequestError, StorageUnavailableError
from stepwell.runs.sql.database import BrokenLanes, Job, unavailable
from stepwell.runs.sql.postgres.connection import PostgresConnection
from stepwell.runs.sql.postgres.migrate import NewerFormError
from stepwell.runs.sql.postgres.refusals import first_line

logger = logging.getLogger(__name__)

_BEGIN = "BEGIN ISOLATION LEVEL SERIALIZABLE"
# Taken before the transaction looks at anything, so that it sees all that others have done who had the lock. It is in nobody else's way.
_BEGIN_EXCLUSIVE = f"{_BEGIN}; LOCK TABLE workers IN SHARE UPDATE EXCLUSIVE MODE NOWAIT"
_TRIES_TOGETHER = 3
_TRIES_ALONE = 20
_LONGEST_PAUSE_S = 0.05
_AWAY_S = 3.0
"""For how long work waits for a database that is away, a restart for instance, before whoever waits is told."""
_AGAIN_S = 0.1
LOST = (psycopg.OperationalError, psycopg.InterfaceError, errors.IdleInTransactionSessionTimeout)
"""The connection is gone; the last one after a process was stopped, and woken up, in the middle of its work."""
CHANGED_MEANWHILE = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


class _OutcomeUnknownError(Exception):
    """The connection was lost while the transaction was being committed."""


class GroupCommit:
    """Runs groups on the writer's connection, which it makes anew when it is lost. Used by the writer's thread alone. `lost` is called
    with every connection that is gone: what its last commit did, if anything, nobody here has been told."""

    def __init__(
        self,
        connect: Callable[[], PostgresConnection],
        connection: PostgresConnection | None = None,
        lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._connect = connect
        self._connection = connection
        self._lost = lost
        self._lanes = BrokenLanes()
        self._away_until = 0.0
        self.retried = 0
        """Transactions that had to be run again."""

    def run(self, group: Sequence[Job[Any]]) -> None:
        """Afterwards every job has its result, committed, or its error."""
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
        give_up_at, tried = monotonic() + _AWAY_S, 0
        while tried < tries:
            for job in group:
                job.error = job.result = None
            try:
                self._commit(self._connected(), group)
            except CHANGED_MEANWHILE:
                self._undo()
                self.retried += 1
                tried += 1
                sleep(random() * min(0.002 * 2**tried, _LONGEST_PAUSE_S))
            except NewerFormError:  # it stays so
                raise
            except LOST as error:
                self._disconnect()
                if monotonic() >= give_up_at or monotonic() < self._away_until:
                    self._away_until = monotonic() + _AGAIN_S
                    raise
                logger.warning("the connection to the database was lost; trying again: %s", type(error).__name__)
                sleep(_AGAIN_S)
            else:
                return True
        return False

    def _commit(self, connection: PostgresConnection, group: Sequence[Job[Any]]) -> None:
        group = self._begin(connection, group)
        if len(group) == 1:
            self._run_only(connection, group[0])
        else:
            for job in group:
                self._run_one(connection, job)
        try:
            connection.control("COMMIT")
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if isinstance(error, CHANGED_MEANWHILE):
                raise
            raise _OutcomeUnknownError(str(error)) from error

    def _begin(self, connection: PostgresConnection, group: Sequence[Job[Any]]) -> Sequence[Job[Any]]:
        """Gives what can be run now."""
        if any(job.exclusive for job in group):
            try:
                connection.control(_BEGIN_EXCLUSIVE)
            except errors.LockNotAvailable:
                connection.control("ROLLBACK")
                group = [job for job in group if not job.exclusive]  # the others have no result
            else:
                return group
        connection.control(_BEGIN)
        return group

    def _run_only(self, connection: PostgresConnection, job: Job[Any]) -> None:
        """Without a savepoint, which costs two trips to the database: when it fails, there is nothing to commit."""
        if self._lanes.refuse(job):
            return
        try:
            job.result = job.work(connection)
        except BaseException as error:
            if _concerns_all(error):
                raise
            self._fail(job, error)
            connection.control("ROLLBACK")
            connection.control(_BEGIN)

    def _run_one(self, connection: PostgresConnection, job: Job[Any]) -> None:
        if self._lanes.refuse(job):
            return
        connection.control("SAVEPOINT job")
        try:
            job.result = job.work(connection)
        except BaseException as error:
            if _concerns_all(error):
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


def _concerns_all(error: BaseException) -> bool:
    """A disk that is full refuses what needs more room; what else is in the group, such as a sign of life, may go on."""
    return isinstance(error, LOST) and not isinstance(error, errors.DiskFull)


def _told(error: BaseException) -> BaseException:
    """What whoever waits for the work is told."""
    if isinstance(error, _OutcomeUnknownError):
        return StorageUnavailableError(
            f"The connection to the database was lost while this was being stored ({error}). It may have been; look before you try again.",
            away=True,
        )
    return refusal(error) if isinstance(error, psycopg.Error) else error


def refusal(error: psycopg.Error) -> Exception:
    """psycopg's error in our words."""
    if isinstance(error, psycopg.DataError):
        return InvalidRequestError(
            "A value cannot be kept in the database: text must not hold the character zero, and whole numbers have at most 64 bits."
        )
    if isinstance(error, errors.DiskFull):
        return unavailable(Exception("its disk is full"))
    return unavailable(Exception(first_line(error)), away=isinstance(error, LOST))
