"""Where the server's database is, and working on its file beside a server or without one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from stepwell.cli.own_command import spell_command
from stepwell.errors import ConfigurationError
from stepwell.settings import Settings

if TYPE_CHECKING:
    from stepwell.runs.embedded.file.database import Database

T = TypeVar("T")

DATABASE_NAME = "stepwell.db"
_PREFIX = "sqlite:///"


def database_file(url: str | None, settings: Settings) -> Path:
    """The file that `--database-url` names; without one, the usual one in the data folder.

    `sqlite:///name.db` lies in the working folder, `sqlite:////var/lib/name.db` where it says.
    """
    if url is None:
        return settings.data_folder / DATABASE_NAME
    scheme = url.partition(":")[0]
    if scheme.startswith(("postgres", "mysql")):
        raise ConfigurationError(
            f"'{scheme}' databases cannot be used: this version keeps everything in one SQLite file. "
            "Leave --database-url out, or give sqlite:///path/to/file.db."
        )
    path = unquote(url.removeprefix(_PREFIX))
    if not url.startswith(_PREFIX) or not path or path == ":memory:":
        raise ConfigurationError(
            "--database-url must name a file: sqlite:///path/to/file.db, with one more slash from the root on."
        )
    return Path(path)


def require_database(url: str | None, settings: Settings) -> Path:
    """The same; `ConfigurationError` if there is no such file yet."""
    file = database_file(url, settings)
    if not file.is_file():
        raise ConfigurationError(
            f"There is no database '{file.name}' yet. `{spell_command('serve')}` makes one; another is named with --database-url."
        )
    return file


def with_database(file: Path, work: Callable[[Database], Awaitable[T]]) -> T:
    """Open the file, which is made if it is not there, do the work, and close it."""
    from stepwell.runs.embedded.file.database import Database  # when it is needed: `serve` looks only for the file

    opened = Database(file)

    async def run() -> T:
        return await work(opened)

    try:
        return asyncio.run(run())
    finally:
        opened.close()
