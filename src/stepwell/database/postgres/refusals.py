"""Explains why a Postgres database cannot be used, as a sentence for the operator who named it.

| cause | recognised by | retried at start |
|---|---|---|
| nothing listens there, unknown host (yet), it starts or stops, too many connections | libpq's text; SQLSTATE 57P03, 53300 | yes |
| another process holds it exclusively for a while | `in_use` | yes |
| wrong password, missing user or database | libpq's text: while connecting it gives no SQLSTATE | no |
| a newer Stepwell has upgraded it | `migrate` | no |
| the user may not create or change tables, or there is no schema for them | SQLSTATE 42501, 3F000 | no |
| it is read-only | SQLSTATE 25006 | no |

No sentence contains a password: addresses are shown without it, and text that can't be parsed as an address is not shown at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from stepwell.database.postgres.in_use import HeldAloneError
from stepwell.database.postgres.migrate import NewerFormError
from stepwell.errors import ConfigurationError

_CHECK = "Check STEPWELL_DATABASE_URL, DATABASE_URL or --database-url"
_REFUSED = (
    (
        re.compile("password authentication failed"),
        "the user or the password is wrong. {check}; in an address, characters such as @ : / % are written as %40 %3A %2F %25",
    ),
    (re.compile("no password supplied"), "it requires a password. Put one into ~/.pgpass, PGPASSWORD or the address"),
    (
        re.compile(r"no pg_hba\.conf entry"),
        "it does not accept this user from this machine. Its operator has to allow that (pg_hba.conf)",
    ),
    (
        re.compile(r'database "[^"]*" does not exist'),
        "there is no such database. Make one with `createdb`, or name another. {check}",
    ),
    (re.compile(r'role "[^"]*" does not exist'), "there is no such user. {check}"),
)
"""libpq's text -> our text."""
_FULL = re.compile("remaining connection slots|too many clients|too many connections")


class DatabaseAwayError(ConfigurationError):
    """The database is unreachable now; it may be back in a moment."""


@contextmanager
def reaching(url: str, check: str = _CHECK) -> Iterator[None]:
    """Raise `ConfigurationError` instead of psycopg's errors while a database is opened or read. `check` says where the address is set."""
    try:
        yield
    except psycopg.Error as error:
        raise explain(url, error, check) from error


def explain(url: str, error: psycopg.Error, check: str = _CHECK) -> ConfigurationError:
    place, said = f"The database '{place_of(url)}'", first_line(error)
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        # libpq quotes the part that it cannot parse, which may be a piece of the password.
        return ConfigurationError(
            f"The address of the Postgres database is invalid. {check}: postgresql://user:password@host:port/name."
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return ConfigurationError(
            f"{place} cannot be used: {said}. Ask its owner to grant the user what is missing, for a start: "
            "GRANT CREATE, USAGE ON SCHEMA public TO the_user."
        )
    if isinstance(error, errors.InvalidSchemaName):
        return ConfigurationError(
            f"{place} cannot be used: {said}. Create the schema named in the user's search_path: CREATE SCHEMA public."
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return ConfigurationError(
            f"{place} cannot be used: it is read-only. It is a replica, or its operator has set "
            "default_transaction_read_only. Name the primary, or have the setting changed."
        )
    if isinstance(error, NewerFormError):
        return ConfigurationError(f"{place} cannot be used: {said}.")
    if isinstance(error, HeldAloneError):
        return DatabaseAwayError(f"{place} cannot be used now: {said}. Try again when that is done.")
    for words, sentence in _REFUSED:
        if words.search(said) and error.sqlstate is None:
            return ConfigurationError(f"{place} cannot be used: {sentence.format(check=check)}.")
    if _FULL.search(said):
        return DatabaseAwayError(
            f"{place} has no connections left: {said}. Raise max_connections there, or start fewer processes."
        )
    if isinstance(error, psycopg.OperationalError):
        return DatabaseAwayError(f"{place} cannot be reached: {said}. {check}, and that the database is running.")
    return ConfigurationError(f"{place} cannot be used: {said}.")


def first_line(error: psycopg.Error) -> str:
    """The first line, without libpq's preface and the full stop; the rest may quote values."""
    lines = str(error).strip().split("\n")
    said = lines[0].removeprefix("connection failed: ").removeprefix("connection is bad: ")
    return said.rpartition("FATAL:  ")[2].rstrip(".") or type(error).__name__


def place_of(url: str) -> str:
    """Which database is meant, without the credentials."""
    try:
        named = conninfo_to_dict(url)
    except psycopg.Error:
        return "?"
    port = f":{named['port']}" if named.get("port") else ""
    return f"{named.get('host') or 'localhost'}{port}/{named.get('dbname') or ''}"
