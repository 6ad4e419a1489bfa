"""A report on a database file: its schema version (`form`), size and contents. It only reads, so a server may be using the file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from time import time

from stepwell.database.condition import Condition, count_contents, look_at_driving
from stepwell.database.sqlite.database import free_bytes
from stepwell.database.sqlite.migrate import find_missing, require_known
from stepwell.database.sqlite.opening import opening
from stepwell.database.sqlite.process_lock import ProcessLock
from stepwell.sql import SqliteConnection


def inspect_database(database: Path) -> Condition:
    """Raises `ConfigurationError` if the file can't be read, or has a form that this version does not know."""
    with opening(database), closing(_connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("BEGIN")
        forms = require_known(connection)
        return Condition(
            form=forms.platform,
            missing=tuple(find_missing(forms)),
            size_bytes=sum(file.stat().st_size for file in (database, _log(database)) if file.exists()),
            free_bytes=free_bytes(connection),
            contents=count_contents(connection, forms.platform),
            driving=look_at_driving(connection, forms.platform, time()),
            in_use="by a server" if is_in_use(database) else "no",
        )


def _connect(database: Path) -> SqliteConnection:
    return sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, factory=SqliteConnection)


def is_in_use(database: Path) -> bool:
    """Whether a server holds the database."""
    lock = ProcessLock(database.with_name(database.name + ".lock"))
    if not lock.try_acquire():
        return True
    lock.release()
    return False


def _log(database: Path) -> Path:
    return database.with_name(database.name + "-wal")
