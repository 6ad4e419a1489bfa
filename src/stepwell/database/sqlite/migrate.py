"""Upgrades a database file to the newest schema, one numbered SQL file after the other, each in its own transaction. A schema version is
called its *form*.

A file newer than this program is refused: an older program would write into tables it does not understand.
"""

from __future__ import annotations

import re
import sqlite3
from importlib import resources

from stepwell.database.condition import Migration
from stepwell.errors import ConfigurationError


def migrations() -> list[Migration]:
    """All steps, in order."""
    folder = resources.files("stepwell.database.sqlite") / "migrations"
    found = []
    for file in folder.iterdir():
        if match := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return sorted(found)


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(form: int) -> None:
    """Raise `ConfigurationError` for a form this version does not know."""
    newest = migrations()[-1].number
    if form > newest:
        raise ConfigurationError(
            f"The database has form {form}, this version of Stepwell knows forms up to {newest}. "
            "Use the newer Stepwell that wrote it, or restore a backup made before the upgrade."
        )


def migrate(connection: sqlite3.Connection) -> list[Migration]:
    """Apply all missing migrations. Returns those applied."""
    known = migrations()
    refuse_newer(version_of(connection))
    applied = []
    for step in known:
        if _apply(connection, step):
            applied.append(step)
    return applied


def _apply(connection: sqlite3.Connection, step: Migration) -> bool:
    # Checked again inside the transaction: another process may be doing the same step.
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version_of(connection) >= step.number:
            connection.execute("ROLLBACK")
            return False
        for statement in _statements(step.sql):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {step.number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return True


def _statements(sql: str) -> list[str]:
    # `executescript` would commit the transaction that must hold all of it.
    statements, current = [], ""
    for line in sql.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
