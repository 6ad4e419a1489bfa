"""Where the server's database is. It opens nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from stepwell.errors import ConfigurationError
from stepwell.settings import Settings

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
