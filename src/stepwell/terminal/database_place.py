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
# We check this instead of libpq, whose errors quote the part it cannot parse. That part may belong to an unescaped password.
_ADDRESS = re.compile(rf"postgres(ql)?://([^@:/?#\s]*(:[^@:/?#\s]*)?@)?{_HOST}(,{_HOST})*(/[^/@\s?#]*)?(\?[^\s#]*)?")
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class PostgresPlace:
    """A Postgres database. `str()` leaves out user and password."""

    url: Secret
    is_meant: bool = True
    """Whether the user named this database for Stepwell. Otherwise it may belong to another program, and we create no tables next to
    existing ones."""

    def __str__(self) -> str:
        named = urlsplit(self.url.reveal())
        return f"Postgres {named.hostname or 'on this machine'}{unquote(named.path)}"


def database_place(url: str | None, settings: Settings) -> Path | PostgresPlace:
    """The database of `--database-url`, `STEPWELL_DATABASE_URL` or `DATABASE_URL`, in this order. Default: a file in the data folder.

    `sqlite:///name.db` is relative to the working folder, `sqlite:////var/lib/name.db` is absolute.
    """
    chosen = url or (settings.database_url.reveal() if settings.database_url else None)
    if chosen is None:
        return settings.data_folder / DATABASE_NAME
    if chosen.startswith(_POSTGRES):
        if not _ADDRESS.fullmatch(chosen) or _BROKEN_PERCENT.search(chosen):
            raise ConfigurationError(
                "The address of the Postgres database is invalid. Write it as postgresql://user:password@host:port/name; in the user and "
                "the password, escape the characters @ : / ? # % and spaces as %40 %3A %2F %3F %23 %25 %20."
            )
        return PostgresPlace(Secret(chosen), is_meant=url is not None or settings.database_is_meant)
    path = unquote(chosen.removeprefix(_FILE))
    if not chosen.startswith(_FILE) or not path or path == ":memory:":
        raise ConfigurationError(
            "The database's address must name a file or a Postgres database: sqlite:///path/to/file.db (four slashes for an absolute path) "
            "or postgresql://user@host/name. Set it with --database-url, STEPWELL_DATABASE_URL or DATABASE_URL."
        )
    _require_folder(Path(path))
    return Path(path)


def _require_folder(file: Path) -> None:
    """We create the file but not its folder: a missing folder is probably a typo, usually three slashes instead of four."""
    folder = file.parent
    if folder.is_dir():
        return
    if file.is_absolute():
        raise ConfigurationError(
            f"There is no folder '{folder}' for the database. Create it first, or use another folder in {_FILE}{file}."
        )
    raise ConfigurationError(
        f"There is no folder '{folder}' below the working folder for the database. After three slashes a path starts in the working "
        f"folder, after four at the root: {_FILE}/{file}. Or create the folder first."
    )
