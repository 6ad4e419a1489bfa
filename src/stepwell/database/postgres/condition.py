"""A report on a Postgres database. It only reads."""

from __future__ import annotations

from contextlib import closing

from stepwell.database.condition import Condition, count_contents
from stepwell.database.forms import refuse_older
from stepwell.database.postgres.connection import connect
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
            in_use=f"by {users} connection{'s' if users > 1 else ''}" if users else "no",
        )
