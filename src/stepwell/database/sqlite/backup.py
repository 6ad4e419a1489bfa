"""Backups of the database. They can be made while a server runs, are checked, and are restored while no server runs.

```
back_up   one snapshot, page by page -> FILE.partial -> integrity check, flushed -> renamed to FILE
restore   FILE -> checked copy beside the database -> the old file gets a second name -> the copy is renamed over it
```

An unfinished copy never has the final name, and there is a database at every moment. Files are readable by their owner only: they contain
everything users wrote.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from stepwell.database.forms import find_newer, refuse_older
from stepwell.database.sqlite.migrate import forms_of, migrations, version_of
from stepwell.database.sqlite.opening import opening
from stepwell.database.sqlite.process_lock import ProcessLock
from stepwell.errors import ConfigurationError
from stepwell.private_files import sync_folder

ReportProgress = Callable[[int, int], None]
"""Pages copied so far, and total pages."""

_PAGES = 256
_BUSY_S = 10.0


@dataclass(frozen=True)
class Backup:
    file: Path
    size_bytes: int
    form: int


def back_up(database: Path, file: Path, *, force: bool = False, progress: ReportProgress | None = None) -> Backup:
    """Copy the database as it is now. It may be in use."""
    _require_database(database)
    if file.exists() and not force:
        raise ConfigurationError(f"There is already a file '{file.name}'. Choose another name, or overwrite it with --force.")
    if not file.parent.is_dir():
        raise ConfigurationError(f"There is no folder '{file.parent.name}' for the backup. Make it first.")
    partial = file.with_name(file.name + ".partial")
    with writing_file(file, partial):
        _copy(database, partial, progress)
        made = Backup(file, partial.stat().st_size, check_copy(partial))
        publish(partial, file, force=force)
    return made


def restore(file: Path, database: Path, *, kept_as: str, progress: ReportProgress | None = None) -> Path | None:
    """Replace the database by a backup. Returns where the previous database is now, if there was one.

    Refused with `ConfigurationError` while a server holds the database, and if the file is not a sound backup.
    """
    _require_database(file)
    if (form := check_copy(file)) == 0:
        raise ConfigurationError(f"'{file.name}' is a database, but not one of Stepwell's.")
    refuse_older(form)
    lock = ProcessLock(database.with_name(database.name + ".lock"))
    lock.acquire()
    try:
        partial = database.with_name(database.name + ".restoring")
        with writing_file(database, partial):
            _copy(file, partial, progress)
            check_copy(partial)
            aside = _set_aside(database, database.with_name(f"{database.name}.{kept_as}")) if database.exists() else None
            os.replace(partial, database)
            sync_folder(database.parent)
            return aside
    finally:
        lock.release()


@contextmanager
def writing_file(file: Path, partial: Path) -> Iterator[None]:
    """Name the file that could not be written, and leave no partial file behind."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigurationError(
            f"'{file.name}' cannot be written: {reason}. Nothing has changed. Free some space, or choose another place."
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def check_copy(file: Path) -> int:
    """Raise `ConfigurationError` unless the file is a complete database of ours that this version can read. Returns its form."""
    newest = migrations()[-1].number
    try:
        with closing(_open(file, write=False)) as connection:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            form = version_of(connection)
            ours = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'checkpoints'").fetchone()
            newer = find_newer("sqlite", forms_of(connection)) if ours else None
    except sqlite3.DatabaseError as error:
        raise ConfigurationError(f"'{file.name}' is not a sound database: {error}. Use another backup.") from error
    if found != "ok":
        raise ConfigurationError(f"'{file.name}' is damaged: {found}. Use another backup.")
    if form > newest:
        raise ConfigurationError(f"'{file.name}' has schema version {form}, and this Stepwell knows versions up to {newest}.")
    if newer is not None:
        raise ConfigurationError(f"'{file.name}' has {newer}.")
    if form and not ours:
        raise ConfigurationError(f"'{file.name}' is a database, but not one of Stepwell's.")
    return form


def _copy(source: Path, target: Path, progress: ReportProgress | None) -> None:
    make_private(target)
    with closing(_open(source, write=False)) as reading, closing(sqlite3.connect(target, isolation_level=None)) as writing:
        # One snapshot for the whole copy, because otherwise SQLite would start over whenever something is written.
        with opening(source):
            reading.execute("BEGIN")
            reading.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        reading.backup(
            writing,
            pages=_PAGES,
            sleep=0,
            progress=(lambda _, left, total: progress(total - left, total)) if progress else None,
        )
        reading.execute("ROLLBACK")
        # So that the copy is one file, without a log beside it.
        writing.execute("PRAGMA journal_mode = DELETE")
    descriptor = os.open(target, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(file: Path) -> None:
    file.unlink(missing_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def publish(partial: Path, file: Path, *, force: bool) -> None:
    if force:
        os.replace(partial, file)
    else:
        try:
            # Unlike a rename, a link fails if another process has created the file meanwhile.
            os.link(partial, file)
        except FileExistsError as error:
            raise ConfigurationError(
                f"A file '{file.name}' has just been created by another program. Choose another name."
            ) from error
    sync_folder(file.parent)


def _set_aside(database: Path, aside: Path) -> Path:
    """Give the old database a second name; it keeps its first name until the new database takes that."""
    # The database may be too damaged to open, which may be why it is being restored: then its log is kept beside it, unchanged.
    with suppress(sqlite3.DatabaseError), closing(_open(database, write=True)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    os.link(database, aside)
    for end in ("-wal", "-shm"):
        beside = database.with_name(database.name + end)
        if beside.exists():  # otherwise SQLite would apply the old log to the new file
            os.replace(beside, aside.with_name(aside.name + end))
    return aside


def _open(file: Path, *, write: bool) -> sqlite3.Connection:
    mode = "rw" if write else "ro"
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode={mode}", uri=True, timeout=_BUSY_S, isolation_level=None)


def _require_database(file: Path) -> None:
    if not file.is_file():
        raise ConfigurationError(
            f"There is no database '{file.name}'. Give the path of one, or start `stepwell serve` once to make one."
        )
