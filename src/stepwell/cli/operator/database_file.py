"""Working on the server's database beside a server or without one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stepwell.cli.database_place import PostgresPlace, database_place
from stepwell.cli.own_command import spell_command
from stepwell.errors import ConfigurationError
from stepwell.settings import Settings

if TYPE_CHECKING:
    from stepwell.database.database import SqlDatabase

T = TypeVar("T")


def database_file(url: str | None, settings: Settings, instead: str) -> Path:
    """Where the database is, for what can only be done with a file; `instead` says how it is done with Postgres."""
    place = database_place(url, settings)
    if isinstance(place, PostgresPlace):
        raise ConfigurationError(
            f"This command works on a SQLite file, and the database is {place}. {instead} Another file is named with "
            "--database-url sqlite:///path/to/file.db."
        )
    return place


def require_file(url: str | None, settings: Settings, instead: str) -> Path:
    """The same; `ConfigurationError` if there is no such file yet."""
    return _require(database_file(url, settings, instead))


def require_database(url: str | None, settings: Settings) -> Path | PostgresPlace:
    """Where the database is; `ConfigurationError` if it is a file that is not there yet."""
    place = database_place(url, settings)
    return place if isinstance(place, PostgresPlace) else _require(place)


def with_database(place: Path | PostgresPlace, work: Callable[[SqlDatabase], Awaitable[T]], *, alone: bool = False) -> T:
    """Open the database, which is made if it is not there, do the work, and close it. `alone`: of Postgres, nobody else may use it
    meanwhile; `ConfigurationError` if somebody does."""
    opened = _open(place, alone=alone)

    async def run() -> T:
        return await work(opened)

    try:
        return asyncio.run(run())
    finally:
        opened.close()


def _open(place: Path | PostgresPlace, *, alone: bool) -> SqlDatabase:
    # Imported when they are needed: `serve` looks only for the place.
    if isinstance(place, PostgresPlace):
        from stepwell.database.postgres.database import PostgresDatabase

        return PostgresDatabase(place.url.reveal(), alone=alone, upgrade=False, is_meant=place.is_meant)
    from stepwell.database.sqlite.database import Database

    return Database(place)


def _require(file: Path) -> Path:
    if not file.is_file():
        raise ConfigurationError(
            f"There is no database '{file.name}' yet. `{spell_command('serve')}` makes one; another is named with --database-url."
        )
    return file
