"""Who uses a Postgres database, told by a lock in the database itself: it is given back when a process dies, however it dies.

Every connection has it together with the others, for as long as it lives. Whoever moves the database, changes its tables or settles its
money without a server has it alone.
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
_ALONE = "another process has it alone for a while: it is being moved, brought to a newer form, or settled"


class InUseError(ConfigurationError):
    """Somebody uses a database that one process alone wants to use."""


class HeldAloneError(psycopg.OperationalError):
    """Somebody has the database alone for a while."""


def refuse_if_alone(connection: PostgresConnection) -> None:
    """`HeldAloneError` while another process has the database alone. Asked outside of a transaction, it holds nothing afterwards."""
    if not connection.execute("SELECT pg_try_advisory_xact_lock_shared(?)", (_IN_USE,)).fetchone()[0]:
        raise HeldAloneError(_ALONE)


def join(connection: PostgresConnection) -> None:
    """Use the database, for as long as the connection lives. Waits a second for whoever has it alone."""
    try:
        # One trip to the database. The lock outlives the transaction.
        connection.control(f"BEGIN; SET LOCAL lock_timeout = '1s'; SELECT pg_advisory_lock_shared({_IN_USE}); COMMIT")
    except errors.LockNotAvailable as error:
        raise HeldAloneError(_ALONE) from error


def have_alone(connection: PostgresConnection, place: str) -> None:
    """Keep everybody else out, for as long as the connection lives. `InUseError` while somebody uses the database."""
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
            f"The database {place} is in use: {living} workers have been heard of in the last seconds. Stop them, and try again."
        )


def count_users(connection: PostgresConnection) -> int:
    """How many connections of other processes use the database."""
    return int(connection.execute(f"SELECT COUNT(DISTINCT pid) {_OTHERS}", (_IN_USE,)).fetchone()[0])


def cut_off_others(connection: PostgresConnection) -> None:
    """Have the database alone until the transaction ends, by ending the connections of whoever uses it. They will look again before
    they go on (`PostgresDatabase`)."""
    give_up_at = monotonic() + _CUT_OFF_S
    while not connection.execute("SELECT pg_try_advisory_xact_lock(?)", (_IN_USE,)).fetchone()[0]:
        if monotonic() > give_up_at:
            raise HeldAloneError("others use it, and do not let go of it")
        connection.execute(f"SELECT pg_terminate_backend(pid) {_OTHERS}", (_IN_USE,))
        sleep(0.02)
