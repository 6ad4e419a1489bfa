"""Brings a Postgres database to the newest form, one numbered SQL file after the other. Any number of processes may try at once: they take
turns, and the second finds it done. Numbers are those of the SQLite file's forms (`runs/sql/sqlite/migrations`)."""

from __future__ import annotations

import re
from importlib import resources

import psycopg

from stepwell.errors import ConfigurationError
from stepwell.runs.sql.postgres.connection import PostgresConnection, connect
from stepwell.runs.sql.sqlite.migrate import Migration

_LOCK = 0x5354574C
"""`STWL`: of the advisory lock under which tables are made and changed."""


def migrations() -> list[Migration]:
    """All steps, in order."""
    folder = resources.files("stepwell.runs.sql.postgres") / "migrations"
    found = []
    for file in folder.iterdir():
        if match := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return sorted(found)


def version_of(connection: PostgresConnection) -> int:
    """The form of the database; 0 for one that is empty."""
    there = connection.execute("SELECT to_regclass('stepwell_form') IS NOT NULL").fetchone()[0]
    return int(connection.execute("SELECT MAX(number) FROM stepwell_form").fetchone()[0] or 0) if there else 0


def form_at(url: str) -> int:
    """The form of the database at an address, which is not changed. `ConfigurationError` if it cannot be reached."""
    try:
        connection = connect(url)
    except psycopg.Error as error:
        raise ConfigurationError(f"The database cannot be reached: {type(error).__name__}. Check DATABASE_URL.") from error
    try:
        return version_of(connection)
    finally:
        connection.close()


def migrate(connection: PostgresConnection) -> list[Migration]:
    """Apply what is missing, all of it or nothing. Gives what was applied."""
    if version_of(connection) == migrations()[-1].number:
        return []
    connection.control("BEGIN")
    try:
        missing = apply_missing(connection)
        connection.control("COMMIT")
    except BaseException:
        connection.control("ROLLBACK")
        raise
    return missing


def apply_missing(connection: PostgresConnection) -> list[Migration]:
    """The same inside a transaction of the caller's."""
    known = migrations()
    connection.control("SET LOCAL lock_timeout = 0")  # whoever is at it may take long
    connection.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
    form = version_of(connection)
    _refuse_newer(form, known[-1].number)
    missing = [step for step in known if step.number > form]
    if form == 0:
        connection.control("CREATE TABLE stepwell_form (number BIGINT PRIMARY KEY, name TEXT NOT NULL)")
    for step in missing:
        connection.control(step.sql)
        connection.execute("INSERT INTO stepwell_form (number, name) VALUES (?, ?)", (step.number, step.name))
    return missing


def _refuse_newer(form: int, newest: int) -> None:
    if form > newest:
        raise ConfigurationError(
            f"The database has form {form}, this version of Stepwell knows forms up to {newest}. "
            "Use the newer Stepwell that wrote it, or restore a backup made before the upgrade."
        )
