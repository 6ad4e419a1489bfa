"""Opens the server's database for a command, whether or not a server is running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stepwell.errors import ConfigurationError
from stepwell.settings import Settings
from stepwell.terminal.database_place import PostgresPlace, database_place
from stepwell.terminal.own_command import spell_command

if TYPE_CHECKING:
    from stepwell.database.database import SqlDatabase

T = TypeVar("T")


def database_file(url: str | None, settings: Settings, instead: str) -> Path:
    """The path of the database, for commands that need a SQLite file. `instead` tells the user what to do with Postgres."""
    place = database_place(url, settings)
    if isinstance(place, PostgresPlace):
        raise ConfigurationError(
            f"This command works on a SQLite file, and the database is {place}. {instead} To use a SQLite file, add "
            "--database-url sqlite:///path/to/file.db."
        )
    return place


def require_file(url: str | None, settings: Settings, instead: str) -> Path:
    """Like `database_file`; `ConfigurationError` if the file does not exist yet."""
    return _require(database_file(url, settings, instead))


def require_database(url: str | None, settings: Settings) -> Path | PostgresPlace:
    """Where the database is; `ConfigurationError` for a file that does not exist yet."""
    place = database_place(url, settings)
    return place if isinstance(place, PostgresPlace) else _require(place)


def with_database(place: Path | PostgresPlace, work: Callable[[SqlDatabase], Awaitable[T]], *, alone: bool = False) -> T:
    """Open the database, creating a missing file, do the work, and close it. `alone`: no other process may use a Postgres database
    meanwhile; `InUseError` if one does."""
    opened = _open(place, alone=alone)

    async def run() -> T:
        return await work(opened)

    try:
        return asyncio.run(run())
    finally:
        opened.close()


def _open(place: Path | PostgresPlace, *, alone: bool) -> SqlDatabase:
    # Imported on demand: some commands only need the path.
    if isinstance(place, PostgresPlace):
        from stepwell.database.postgres.database import PostgresDatabase

        return PostgresDatabase(place.url.reveal(), alone=alone, upgrade=False, is_meant=place.is_meant)
    from stepwell.database.sqlite.database import Database

    return Database(place)


def _require(file: Path) -> Path:
    if not file.is_file():
        raise ConfigurationError(
            f"There is no database '{file.absolute()}' yet. `{spell_command('serve')}` creates it. If a server keeps its data elsewhere, "
            "name that folder with STEPWELL_DATA_DIR, or the database with --database-url."
        )
    return file
