"""Who uses a Postgres database, told by a lock in the database itself: it is given back when a process dies, however it dies.

Every process that writes has it together with the others, on the connection that writes. Whoever moves the database, or changes its
tables, has it alone.
"""

from __future__ import annotations

import psycopg
from psycopg import errors

from stepwell.errors import ConfigurationError
from stepwell.runs.sql.postgres.connection import PostgresConnection

_IN_USE = 0x5354574E
_LIVING = "SELECT COUNT(*) FROM workers WHERE alive_until > EXTRACT(EPOCH FROM clock_timestamp())"
_HOLDERS = """
SELECT COUNT(DISTINCT pid) FROM pg_locks
WHERE locktype = 'advisory' AND objid = ? AND granted AND pid <> pg_backend_pid()
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class HeldAloneError(psycopg.OperationalError):
    """Somebody moves the database, or brings it to another form."""


def join(connection: PostgresConnection) -> None:
    """Use the database, for as long as the connection lives. Waits a second for whoever has it alone."""
    try:
        connection.control("BEGIN; SET LOCAL lock_timeout = '1s'")
        connection.execute("SELECT pg_advisory_lock_shared(?)", (_IN_USE,))  # outlives the transaction
        connection.control("COMMIT")
    except errors.LockNotAvailable as error:
        raise HeldAloneError("it is being moved, or brought to a newer form, by another process") from error


def have_alone(connection: PostgresConnection, place: str) -> None:
    """Keep everybody else out, for as long as the connection lives. `ConfigurationError` while somebody uses the database."""
    if not connection.execute("SELECT pg_try_advisory_lock(?)", (_IN_USE,)).fetchone()[0]:
        others = connection.execute(_HOLDERS, (_IN_USE,)).fetchone()[0]
        raise ConfigurationError(
            f"The database {place} is in use: {others} connections of servers, workers or other commands. Stop them, and try again."
        )
    there = connection.execute("SELECT to_regclass('workers') IS NOT NULL").fetchone()[0]
    living = connection.execute(_LIVING).fetchone()[0] if there else 0
    if living:
        raise ConfigurationError(
            f"The database {place} is in use: {living} workers have been heard of in the last seconds. Stop them, and try again."
        )
