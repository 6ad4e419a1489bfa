"""Upgrades a Postgres database to the newest schema, one numbered SQL file after the other. Any number of processes may try at once: they
take turns, and the second finds it done. A schema version is called its *form*; numbers are the same as for SQLite
(`database/sqlite/migrations`).

```
empty                       -> created, unless it contains another program's tables
older, nobody uses it       -> upgraded
older, older processes run  -> their connections are ended, it is upgraded, and they stop: they find a form they do not know
newest                      -> used
newer                       -> refused
```

An older process never writes into tables of a newer form: it checks the form whenever it connects, and nobody else has a connection
while tables are changed (`in_use`).
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import psycopg

from stepwell.database.condition import Migration
from stepwell.database.postgres.connection import PostgresConnection
from stepwell.database.postgres.in_use import cut_off_others, refuse_if_alone
from stepwell.errors import ConfigurationError

_LOCK = 0x5354574C
"""`STWL`: the advisory lock under which tables are created and changed."""
# Tables and views in the schema where ours would be created, without those of extensions.
_RELATIONS = """
SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
AND relkind IN ('r', 'p', 'v', 'm', 'f')
AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = CAST('pg_class' AS REGCLASS) AND objid = pg_class.oid AND deptype = 'e')
ORDER BY relname
"""


@cache
def migrations() -> tuple[Migration, ...]:
    """All steps, in order."""
    folder = resources.files("stepwell.database.postgres") / "migrations"
    found = []
    for file in folder.iterdir():
        if match := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return tuple(sorted(found))


def version_of(connection: PostgresConnection) -> int:
    """The database's form; 0 if it is empty."""
    there = connection.execute("SELECT to_regclass('stepwell_form') IS NOT NULL").fetchone()[0]
    return int(connection.execute("SELECT MAX(number) FROM stepwell_form").fetchone()[0] or 0) if there else 0


class NewerFormError(psycopg.OperationalError):
    """A newer Stepwell has upgraded the database to a form that this version does not know. Nothing more is written."""


def require_known(connection: PostgresConnection) -> None:
    """Raise `NewerFormError` if this version must not write here."""
    form, newest = version_of(connection), migrations()[-1].number
    if form > newest:
        raise NewerFormError(
            f"it has form {form}, and this version of Stepwell knows forms up to {newest}; use the newer Stepwell that wrote it, or "
            "restore a backup made before the upgrade"
        )


def migrate(connection: PostgresConnection, *, upgrade: bool = True, is_meant: bool = True) -> list[Migration]:
    """Apply all missing migrations or none. Returns those applied. Without `upgrade` only an empty database gets its tables."""
    form, newest = version_of(connection), migrations()[-1].number
    if form >= newest:
        return []
    if form and not upgrade:
        raise ConfigurationError(
            f"The database has form {form}, and this version of Stepwell needs form {newest}. Upgrade it with `stepwell db migrate`, or "
            "start a server or worker of this version; older ones stop then."
        )
    refuse_if_alone(connection)  # otherwise it would wait for a move of the database, however long that takes
    connection.control("BEGIN")
    try:
        missing = apply_missing(connection, is_meant=is_meant)
        connection.control("COMMIT")
    except BaseException:
        if not connection.raw.closed:
            connection.control("ROLLBACK")
        raise
    return missing


def apply_missing(connection: PostgresConnection, *, is_meant: bool = True) -> list[Migration]:
    """`migrate` inside the caller's transaction."""
    connection.control("SET LOCAL lock_timeout = 0")  # another process's upgrade may take long
    connection.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
    require_known(connection)
    form = version_of(connection)
    missing = [step for step in migrations() if step.number > form]
    if form == 0:
        _refuse_foreign(connection, missing, is_meant=is_meant)
        connection.control("CREATE TABLE stepwell_form (number BIGINT PRIMARY KEY, name TEXT NOT NULL)")
    elif missing:
        cut_off_others(connection)
    for step in missing:
        connection.control(step.sql)
        connection.execute("INSERT INTO stepwell_form (number, name) VALUES (?, ?)", (step.number, step.name))
    return missing


def _refuse_foreign(connection: PostgresConnection, steps: list[Migration], *, is_meant: bool) -> None:
    """Refuse if a table with one of our names exists or, unless `is_meant`, if any other program's tables do."""
    there = [row[0] for row in connection.execute(_RELATIONS)]
    ours = {name for step in steps for name in re.findall(r"^CREATE (?:TABLE|VIEW) (\w+)", step.sql, re.MULTILINE)}
    if taken := [name for name in there if name in ours]:
        raise ConfigurationError(
            f"The database belongs to another program: it has tables that are not Stepwell's under the names Stepwell needs "
            f"({_some(taken)}). Nothing was changed. Give Stepwell a database of its own."
        )
    if there and not is_meant:
        raise ConfigurationError(
            f"The database in DATABASE_URL contains tables of another program ({_some(there)}). Nothing was changed. Give Stepwell its own "
            "database with STEPWELL_DATABASE_URL or --database-url, or name this one there to create Stepwell's tables beside the others."
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
