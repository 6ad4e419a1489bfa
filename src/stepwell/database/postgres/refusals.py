"""What keeps a Postgres database from being used, as a sentence for whoever named it.

| cause | told by | tried again at a start |
|---|---|---|
| nobody listens there, the host is not known (yet), it starts or stops, too many connections | libpq's text; SQLSTATE 57P03, 53300 | yes |
| somebody has it alone for a while | `in_use` | yes |
| the password, the user or the database is not there | libpq's text: while connecting it gives no SQLSTATE | no |
| a newer Stepwell has upgraded it | `migrate` | no |
| the user may not make or change tables, or there is no schema for them | SQLSTATE 42501, 3F000 | no |
| it only lets itself be read | SQLSTATE 25006 | no |

No sentence holds a password: addresses are shown without it, and what cannot be read as an address is not shown at all.
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
    (re.compile("no password supplied"), "it wants a password. Put one into ~/.pgpass, PGPASSWORD or the address"),
    (
        re.compile(r"no pg_hba\.conf entry"),
        "it does not let this user in from this machine. Whoever keeps it has to (pg_hba.conf)",
    ),
    (
        re.compile(r'database "[^"]*" does not exist'),
        "there is no such database. Make one with `createdb`, or name another. {check}",
    ),
    (re.compile(r'role "[^"]*" does not exist'), "there is no such user. {check}"),
)
"""What libpq says -> what we say."""
_FULL = re.compile("remaining connection slots|too many clients|too many connections")


class DatabaseAwayError(ConfigurationError):
    """The database cannot be reached now; it may be there in a moment."""


@contextmanager
def reaching(url: str, check: str = _CHECK) -> Iterator[None]:
    """`ConfigurationError` in place of what psycopg raises while a database is opened or read. `check` says where the address stands."""
    try:
        yield
    except psycopg.Error as error:
        raise explain(url, error, check) from error


def explain(url: str, error: psycopg.Error, check: str = _CHECK) -> ConfigurationError:
    place, said = f"The database '{place_of(url)}'", first_line(error)
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        # libpq quotes the part that it cannot read, and that may be a piece of the password.
        return ConfigurationError(
            f"The address of the Postgres database cannot be read. {check}: postgresql://user:password@host:port/name."
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return ConfigurationError(
            f"{place} cannot be used: {said}. Let its owner give the user what is missing, to begin with: "
            "GRANT CREATE, USAGE ON SCHEMA public TO the_user."
        )
    if isinstance(error, errors.InvalidSchemaName):
        return ConfigurationError(
            f"{place} cannot be used: {said}. Make the schema that the user's search_path names: CREATE SCHEMA public."
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return ConfigurationError(
            f"{place} cannot be used: it only lets itself be read. It is a copy of another, or whoever keeps it has set "
            "default_transaction_read_only: name the one that can be written, or let that be changed."
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
            f"{place} has no connection left: {said}. Raise max_connections there, or start fewer processes."
        )
    if isinstance(error, psycopg.OperationalError):
        return DatabaseAwayError(f"{place} cannot be reached: {said}. {check}, and whether it runs.")
    return ConfigurationError(f"{place} cannot be used: {said}.")


def first_line(error: psycopg.Error) -> str:
    """What it says at first, without libpq's preface and a full stop; the rest may quote values."""
    lines = str(error).strip().split("\n")
    said = lines[0].removeprefix("connection failed: ").removeprefix("connection is bad: ")
    return said.rpartition("FATAL:  ")[2].rstrip(".") or type(error).__name__


def place_of(url: str) -> str:
    """Which database is meant, without what lets somebody in."""
    try:
        named = conninfo_to_dict(url)
    except psycopg.Error:
        return "?"
    port = f":{named['port']}" if named.get("port") else ""
    return f"{named.get('host') or 'localhost'}{port}/{named.get('dbname') or ''}"
