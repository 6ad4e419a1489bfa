"""Where the server's database is: a SQLite file, or a Postgres database that several processes share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from stepwell.errors import ConfigurationError
from stepwell.settings import Secret, Settings

DATABASE_NAME = "stepwell.db"
_FILE = "sqlite:///"
_POSTGRES = ("postgres://", "postgresql://")


_HOST = r"(\[[0-9A-Fa-f:.%]+\]|[^][@:/,?#\s]*)(:\d{1,5})?"
# Checked here and not by libpq, which quotes what it cannot read: that may be a piece of a password with a sign in it that ends it.
_ADDRESS = re.compile(rf"postgres(ql)?://([^@:/?#\s]*(:[^@:/?#\s]*)?@)?{_HOST}(,{_HOST})*(/[^/@\s?#]*)?(\?[^\s#]*)?")
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class PostgresPlace:
    """A Postgres database. Shown without what lets somebody in."""

    url: Secret
    is_meant: bool = True
    """It was named for Stepwell. Otherwise it may be some other program's, and nothing is made among what is there."""

    def __str__(self) -> str:
        named = urlsplit(self.url.reveal())
        return f"Postgres {named.hostname or 'on this machine'}{unquote(named.path)}"


def database_place(url: str | None, settings: Settings) -> Path | PostgresPlace:
    """What `--database-url` names, or else `STEPWELL_DATABASE_URL` or `DATABASE_URL`; without them, the usual file in the data folder.

    `sqlite:///name.db` lies in the working folder, `sqlite:////var/lib/name.db` where it says.
    """
    chosen = url or (settings.database_url.reveal() if settings.database_url else None)
    if chosen is None:
        return settings.data_folder / DATABASE_NAME
    if chosen.startswith(_POSTGRES):
        if not _ADDRESS.fullmatch(chosen) or _BROKEN_PERCENT.search(chosen):
            raise ConfigurationError(
                "The address of the Postgres database cannot be read. Write it as postgresql://user:password@host:port/name; in a user or "
                "a password, the characters @ : / ? # % and blanks are written as %40 %3A %2F %3F %23 %25 %20."
            )
        return PostgresPlace(Secret(chosen), is_meant=url is not None or settings.database_is_meant)
    path = unquote(chosen.removeprefix(_FILE))
    if not chosen.startswith(_FILE) or not path or path == ":memory:":
        raise ConfigurationError(
            "The database's address must name a file or a Postgres database: sqlite:///path/to/file.db, with one more slash from the root "
            "on, or postgresql://user@host/name. It is given by --database-url, STEPWELL_DATABASE_URL or DATABASE_URL."
        )
    _require_folder(Path(path))
    return Path(path)


def _require_folder(file: Path) -> None:
    """Only the file is made: a folder that is not there is more likely a slip, and three slashes where four were meant the usual one."""
    folder = file.parent
    if folder.is_dir():
        return
    if file.is_absolute():
        raise ConfigurationError(
            f"There is no folder '{folder}' for the database. Make it first, or name another in {_FILE}{file}."
        )
    raise ConfigurationError(
        f"There is no folder '{folder}' below the working folder for the database. After three slashes a path starts in the working "
        f"folder, after four at the root: {_FILE}/{file}. Or make the folder first."
    )
