"""Upgrades a Postgres database to the newest schema, one numbered SQL file after the other (`database/forms`). Any number of processes may
try at once: they take turns, and all but the first find that it is done.

```
empty                           -> created, unless it contains another program's tables
older, nobody uses it           -> upgraded
older, older processes run      -> their connections are ended, it is upgraded, and they stop: they find a form they do not know
newest                          -> used
newer                           -> refused
from before the first release   -> refused
```
All of this holds for the platform's form and for the form of each installed product. A process without the product does not stop when the
product's tables are upgraded, because it uses none of them.

An older process never writes into tables of a newer form: it checks the form whenever it connects, and nobody else has a connection
while tables are changed (`in_use`).
"""

from __future__ import annotations

import psycopg

from stepwell.database.forms import (
    FIRST,
    SET_PRODUCT,
    Forms,
    Migration,
    find_newer,
    missing_of_products,
    platform_migrations,
    refuse_older,
    refuse_same_names,
    warn_of_uninstalled,
)
from stepwell.database.postgres.connection import PostgresConnection
from stepwell.database.postgres.in_use import cut_off_others, refuse_if_alone
from stepwell.errors import ConfigurationError

_LOCK = 0x5354574C
"""`STWL`: the advisory lock under which tables are created and changed."""
# Tables and views in the schema in which our tables would be created, without those of extensions.
_RELATIONS = """
SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
AND relkind IN ('r', 'p', 'v', 'm', 'f')
AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = CAST('pg_class' AS REGCLASS) AND objid = pg_class.oid AND deptype = 'e')
ORDER BY relname
"""


def migrations() -> tuple[Migration, ...]:
    """All steps of the platform's own tables, in order."""
    return platform_migrations("postgres")


def version_of(connection: PostgresConnection) -> int:
    """The database's form; 0 if it is empty."""
    there = connection.execute("SELECT to_regclass('stepwell_form') IS NOT NULL").fetchone()[0]
    return int(connection.execute("SELECT MAX(number) FROM stepwell_form").fetchone()[0] or 0) if there else 0


def forms_of(connection: PostgresConnection) -> Forms:
    """The database's forms. Those of the products are left out if the platform's form is not one that we know."""
    form = version_of(connection)
    known = FIRST <= form <= migrations()[-1].number
    rows = connection.execute("SELECT product, number FROM product_forms").fetchall() if known else []
    return Forms(form, {row["product"]: row["number"] for row in rows})


class NewerFormError(psycopg.OperationalError):
    """A newer Stepwell, or product, has upgraded the database to a form that this version does not know. Nothing more is written."""


def require_known(connection: PostgresConnection) -> Forms:
    """The database's forms. Raises `NewerFormError` if this version must not write here."""
    forms, newest = forms_of(connection), migrations()[-1].number
    if forms.platform > newest:
        raise NewerFormError(
            f"it has schema version {forms.platform}, and this Stepwell knows versions up to {newest}; use the newer Stepwell that wrote "
            "it, or restore a backup made before the upgrade"
        )
    if newer := find_newer("postgres", forms):
        raise NewerFormError(
            f"it has {newer}; install the newer one that wrote it, or restore a backup made before the upgrade"
        )
    return forms


def find_missing(forms: Forms) -> list[Migration]:
    """The steps up to the newest schema."""
    return [step for step in migrations() if step.number > forms.platform] + missing_of_products("postgres", forms)


def migrate(connection: PostgresConnection, *, upgrade: bool = True, is_meant: bool = True) -> list[Migration]:
    """Apply all missing migrations or none. Returns those applied. Without `upgrade` only an empty database gets its tables."""
    forms = require_known(connection)
    refuse_older(forms.platform)
    warn_of_uninstalled(forms)
    missing = find_missing(forms)
    if not missing:
        return missing
    if forms.platform and not upgrade:
        _refuse_to_upgrade(forms.platform, missing)
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


def _refuse_to_upgrade(form: int, missing: list[Migration]) -> None:
    last = missing[-1]
    has, needs = f"schema version {form}", f"version {last.number}"
    if last.product is not None:
        has, needs = "an older schema version, or none,", f"version {last.number} of the product '{last.product}'"
    raise ConfigurationError(
        f"The database has {has}, and this version of Stepwell needs {needs}. Upgrade it with `stepwell db migrate`, or "
        "start a server or worker of this version; older ones stop then."
    )


def apply_missing(connection: PostgresConnection, *, is_meant: bool = True) -> list[Migration]:
    """`migrate` inside the caller's transaction."""
    connection.control("SET LOCAL lock_timeout = 0")  # another process's upgrade may take long
    connection.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
    forms = require_known(connection)
    refuse_older(forms.platform)
    missing = find_missing(forms)
    if not missing:
        return missing
    there = [row[0] for row in connection.execute(_RELATIONS)]
    if forms.platform == 0:
        _refuse_foreign(there, missing, is_meant=is_meant)
        refuse_same_names("postgres", forms, ())
        connection.control("CREATE TABLE stepwell_form (number BIGINT PRIMARY KEY, name TEXT NOT NULL)")
    else:
        refuse_same_names("postgres", forms, there)
        cut_off_others(connection)
    for step in missing:
        connection.control(step.sql)
        if step.product is None:
            connection.execute("INSERT INTO stepwell_form (number, name) VALUES (?, ?)", (step.number, step.name))
        else:
            connection.execute(SET_PRODUCT, (step.product, step.number))
    return missing


def _refuse_foreign(there: list[str], steps: list[Migration], *, is_meant: bool) -> None:
    """Refuse if a table with one of our names exists or, unless `is_meant`, if any other program's tables do."""
    ours = {name for step in steps for name in step.creates()}
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
