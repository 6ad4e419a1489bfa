"""Explains why a database file cannot be opened, as a sentence for the operator who named it. It opens nothing itself."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stepwell.errors import ConfigurationError

_ELSEWHERE = "choose another folder with STEPWELL_DATA_DIR, or another file with --database-url."


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Raise `ConfigurationError` instead of the disk's or SQLite's errors while a file is opened. The message contains no host path."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise ConfigurationError(f"The database '{path.name}' cannot be opened: {error}. Fix that, or {_ELSEWHERE}") from error
    except sqlite3.DatabaseError as error:
        raise ConfigurationError(
            f"The database '{path.name}' cannot be read: {error}. Restore a backup with `stepwell db restore`, or {_ELSEWHERE}"
        ) from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise ConfigurationError(f"The database '{path.name}' cannot be opened: {reason}. Fix that, or {_ELSEWHERE}") from error
