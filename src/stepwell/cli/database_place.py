"""Where the server's database is: a SQLite file, or a Postgres database that several processes share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from stepwell.errors import ConfigurationError
from stepwell.settings import Secret, Settings

DATABASE_NAME = "stepwell.db"
_FILE = "sqlite:///"
_POSTGRES = ("postgres://", "postgresql://")


@dataclass(frozen=True)
class PostgresPlace:
    """A Postgres database. Shown without what lets somebody in."""

    url: Secret

    def __str__(self) -> str:
        named = urlsplit(self.url.reveal())
        return f"Postgres {named.hostname or 'on this machine'}{named.path}"


def database_place(url: str | None, settings: Settings) -> Path | PostgresPlace:
    """What `--database-url` names, or else `DATABASE_URL`; without both, the usual file in the data folder.

    `sqlite:///name.db` lies in the working folder, `sqlite:////var/lib/name.db` where it says.
    """
    chosen = url or (settings.database_url.reveal() if settings.database_url else None)
    if chosen is None:
        return settings.data_folder / DATABASE_NAME
    if chosen.startswith(_POSTGRES):
        return PostgresPlace(Secret(chosen))
    path = unquote(chosen.removeprefix(_FILE))
    if not chosen.startswith(_FILE) or not path or path == ":memory:":
        raise ConfigurationError(
            "--database-url must name a file or a Postgres database: sqlite:///path/to/file.db, with one more slash from the root on, "
            "or postgresql://user@host/name."
        )
    return Path(path)
