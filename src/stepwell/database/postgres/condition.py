"""A report on a Postgres database. It only reads."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime

from stepwell.database.condition import Condition, count_contents, look_at_driving
from stepwell.database.forms import refuse_older
from stepwell.database.postgres.clock import PostgresClock
from stepwell.database.postgres.connection import PostgresConnection, connect
from stepwell.database.postgres.in_use import count_users
from stepwell.database.postgres.migrate import find_missing, require_known
from stepwell.database.postgres.refusals import reaching


def inspect_postgres(url: str) -> Condition:
    """Raises `ConfigurationError` if the database can't be read."""
    with reaching(url), closing(connect(url)) as connection:
        connection.control("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        forms, users = require_known(connection), count_users(connection)
        refuse_older(forms.platform)
        return Condition(
            form=forms.platform,
            missing=tuple(find_missing(forms)),
            size_bytes=int(connection.execute("SELECT pg_database_size(current_database())").fetchone()[0]),
            free_bytes=None,
            contents=count_contents(connection, forms.platform),
            driving=look_at_driving(connection, forms.platform, _clock(connection).now().timestamp()),
            in_use=f"by {users} connection{'s' if users > 1 else ''}" if users else "no",
        )


OLDEST_VERSION = 15
PER_PROCESS = 8
"""Connections of one server or worker: a writer, a listener, up to six readers."""


@dataclass(frozen=True)
class PostgresServer:
    """The Postgres server itself, whatever is in the database."""

    version: int
    """The major version."""
    free_connections: int
    """How many more an ordinary user may open."""
    max_connections: int
    ahead_s: float
    """How far its clock is ahead of this machine's."""


def inspect_server(url: str) -> PostgresServer:
    """Raises `ConfigurationError` if the server can't be asked."""
    with reaching(url), closing(connect(url)) as connection:
        row = connection.execute(_SERVER).fetchone()
        ahead_s = (_clock(connection).now() - datetime.now(UTC)).total_seconds()
        return PostgresServer(row["version"] // 10_000, row["most"] - row["reserved"] - row["used"], row["most"], ahead_s)


_SERVER = """
SELECT CAST(current_setting('server_version_num') AS INTEGER) AS version, CAST(current_setting('max_connections') AS INTEGER) AS most,
  CAST(current_setting('superuser_reserved_connections') AS INTEGER) AS reserved,
  (SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()) AS used
"""


def _clock(connection: PostgresConnection) -> PostgresClock:
    clock = PostgresClock(time.time)
    clock.ask(connection)
    return clock
