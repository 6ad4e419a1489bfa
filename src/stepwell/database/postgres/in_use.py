"""Who uses a Postgres database, recorded by a lock in the database itself, which is released when a process dies, however it dies.

Every connection holds the lock in shared mode for as long as the connection lives. A command that moves the database, changes its tables or
settles its money without a server holds the lock exclusively.
"""

from __future__ import annotations

from time import monotonic, sleep

import psycopg
from psycopg import errors

from stepwell.database.postgres.connection import PostgresConnection
from stepwell.errors import ConfigurationError

_IN_USE = 0x5354574E
_LIVING = "SELECT COUNT(*) FROM workers WHERE alive_until > EXTRACT(EPOCH FROM clock_timestamp())"
_OTHERS = """
FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = ? AND objsubid = 1 AND granted AND pid <> pg_backend_pid()
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_CUT_OFF_S = 30.0
_ALONE = "another process is using it exclusively: it is being moved, upgraded or settled"


class InUseError(ConfigurationError):
    """The database is in use, and one process wanted it exclusively."""


class HeldAloneError(psycopg.OperationalError):
    """Another process holds the database exclusively for a while."""


def refuse_if_alone(connection: PostgresConnection) -> None:
    """Raise `HeldAloneError` while another process has exclusive use. If called outside a transaction, this leaves no lock behind."""
    if not connection.execute("SELECT pg_try_advisory_xact_lock_shared(?)", (_IN_USE,)).fetchone()[0]:
        raise HeldAloneError(_ALONE)


def join(connection: PostgresConnection) -> None:
    """Use the database for as long as the connection lives. If another process has exclusive use, waits a second and then raises
    `HeldAloneError`."""
    try:
        # One trip to the database. The lock outlives the transaction.
        connection.control(f"BEGIN; SET LOCAL lock_timeout = '1s'; SELECT pg_advisory_lock_shared({_IN_USE}); COMMIT")
    except errors.LockNotAvailable as error:
        raise HeldAloneError(_ALONE) from error


def have_alone(connection: PostgresConnection, place: str) -> None:
    """Keep everybody else out for as long as the connection lives. `InUseError` while the database is in use."""
    if not connection.execute("SELECT pg_try_advisory_lock(?)", (_IN_USE,)).fetchone()[0]:
        others = count_users(connection)
        raise InUseError(
            f"The database {place} is in use: servers, workers or other commands have {others} connections to it. Stop them, and try "
            "again."
        )
    there = connection.execute(
        "SELECT to_regclass('stepwell_form') IS NOT NULL AND to_regclass('workers') IS NOT NULL"
    ).fetchone()[0]
    living = connection.execute(_LIVING).fetchone()[0] if there else 0
    if living:
        raise InUseError(
            f"The database {place} is in use: {living} workers sent a heartbeat within the last seconds. Stop them, and try again."
        )


def count_users(connection: PostgresConnection) -> int:
    """How many connections of other processes use the database."""
    return int(connection.execute(f"SELECT COUNT(DISTINCT pid) {_OTHERS}", (_IN_USE,)).fetchone()[0])


def cut_off_others(connection: PostgresConnection) -> None:
    """Get exclusive use until the transaction ends, by ending all other connections. Their processes check again before they continue
    (`PostgresDatabase`)."""
    give_up_at = monotonic() + _CUT_OFF_S
    while not connection.execute("SELECT pg_try_advisory_xact_lock(?)", (_IN_USE,)).fetchone()[0]:
        if monotonic() > give_up_at:
            raise HeldAloneError("other processes are using it and could not be disconnected")
        connection.execute(f"SELECT pg_terminate_backend(pid) {_OTHERS}", (_IN_USE,))
        sleep(0.02)
