"""Upgrades a database file to the newest schema, one numbered SQL file after the other, each in its own transaction (`database/forms`)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

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
from stepwell.errors import ConfigurationError

_BACK = "or restore a backup made before the upgrade."


def migrations() -> tuple[Migration, ...]:
    """All steps of the platform's own tables, in order."""
    return platform_migrations("sqlite")


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def forms_of(connection: sqlite3.Connection) -> Forms:
    """The database's forms. Those of the products are left out if the platform's form is not one that we know."""
    form = version_of(connection)
    known = FIRST <= form <= migrations()[-1].number
    rows = connection.execute("SELECT product, number FROM product_forms").fetchall() if known else []
    return Forms(form, {row[0]: row[1] for row in rows})


def refuse_newer(form: int) -> None:
    """Raise `ConfigurationError` for a form this version does not know."""
    newest = migrations()[-1].number
    if form > newest:
        raise ConfigurationError(
            f"The database has schema version {form}, and this Stepwell knows versions up to {newest}. "
            f"Use the newer Stepwell that wrote it, {_BACK}"
        )


def require_known(connection: sqlite3.Connection) -> Forms:
    """The database's forms. Raises `ConfigurationError` if this version must not write here."""
    forms = forms_of(connection)
    refuse_older(forms.platform)
    refuse_newer(forms.platform)
    if newer := find_newer("sqlite", forms):
        raise ConfigurationError(f"The database has {newer}. Install the newer one that wrote it, {_BACK}")
    return forms


def require_known_file(file: Path) -> None:
    """`require_known` without changing a byte of the file or of its log; a connection that may write would change them."""
    if file.is_file() and file.stat().st_size:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)) as connection:
            require_known(connection)


def find_missing(forms: Forms) -> list[Migration]:
    """The steps up to the newest schema."""
    return [step for step in migrations() if step.number > forms.platform] + missing_of_products("sqlite", forms)


def migrate(connection: sqlite3.Connection) -> list[Migration]:
    """Apply all missing migrations. Returns those applied."""
    # Read the existing tables first and the forms second, because another process may be creating these tables now.
    there = {row[0].lower() for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    forms = require_known(connection)
    missing = find_missing(forms)
    if missing:
        refuse_same_names("sqlite", forms, there)
    applied = [step for step in missing if _apply(connection, step)]
    warn_of_uninstalled(forms)
    return applied


def _apply(connection: sqlite3.Connection, step: Migration) -> bool:
    # Checked again inside the transaction: another process may be doing the same step.
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _number_before(connection, step) >= step.number:
            connection.execute("ROLLBACK")
            return False
        for statement in _statements(step.sql):
            connection.execute(statement)
        if step.product is None:
            connection.execute(f"PRAGMA user_version = {step.number}")
        else:
            connection.execute(SET_PRODUCT, (step.product, step.number))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return True


def _number_before(connection: sqlite3.Connection, step: Migration) -> int:
    forms = forms_of(connection)
    return forms.platform if step.product is None else forms.products.get(step.product, 0)


def _statements(sql: str) -> list[str]:
    # Not `executescript`, which would commit the transaction that must contain the whole step.
    statements, current = [], ""
    for line in sql.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return [*statements, current] if current.strip() else statements
