"""`stepwell db`: database maintenance for operators. `status`, `backup` and `prune` work while a server is running; on a SQLite file,
`migrate` and `restore` refuse to work then. Postgres databases are backed up with Postgres's own tools."""

from __future__ import annotations

import sqlite3
import sys
import uuid
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TextIO

from stepwell.clock import SystemClock
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.condition import Condition
from stepwell.database.database import SqlDatabase
from stepwell.database.sqlite import backup as copies
from stepwell.database.sqlite.condition import inspect_database, is_in_use
from stepwell.database.sqlite.database import Database, free_bytes
from stepwell.database.sqlite.disk_space import DiskSpace
from stepwell.database.sqlite.migrate import refuse_newer
from stepwell.database.sqlite.process_lock import ProcessLock
from stepwell.database.upkeep.maintenance import maintenance_of
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.upkeep.housekeeping import RetentionRules
from stepwell.runs.upkeep.retention import Retention, RetentionReport
from stepwell.settings import Settings
from stepwell.sql import SqliteConnection
from stepwell.terminal.database_file import database_file, require_database, require_file, with_database
from stepwell.terminal.database_place import PostgresPlace
from stepwell.terminal.own_command import spell_command

_DUMP = "Back it up with `pg_dump --format=custom --file=FILE`, even while servers are running."
_LOAD = "Restore it with `pg_restore`, into an empty database and with all servers stopped."


def status(*, database_url: str | None) -> int:
    """Show the state of the database."""
    database = require_database(database_url, Settings.load())
    found = _inspect(database)
    contents = found.contents
    free = "" if found.free_bytes is None else f", of which free {_bytes(found.free_bytes)}"
    print(f"database     {database}")
    print(f"in use       {found.in_use}")
    print(f"schema       version {found.form}{_behind(len(found.missing))}")
    print(f"size         {_bytes(found.size_bytes)}{free}")
    for table, rows in contents.rows.items():
        print(f"{table:12} {rows}")
    print(f"under way    {contents.open_runs} runs, {contents.open_interrupts} open questions")
    if contents.unreadable_runs:
        print(f"set aside    {contents.unreadable_runs} runs that cannot be read (table unreadable_runs)")
    if contents.half_erased:
        print(
            f"erasing      {contents.half_erased} deleted threads have rows left; a server or `stepwell db prune` deletes the rest"
        )
    return 0


def _inspect(database: Path | PostgresPlace) -> Condition:
    """The state of the database; `ConfigurationError` if its schema is newer than this version knows."""
    if isinstance(database, PostgresPlace):
        from stepwell.database.postgres.condition import inspect_postgres

        found = inspect_postgres(database.url.reveal())
    else:
        found = inspect_database(database)
    refuse_newer(found.form)
    return found


def migrate(*, database_url: str | None) -> int:
    """Upgrade the database to the newest schema version. A SQLite file is backed up next to it first."""
    database = require_database(database_url, Settings.load())
    before = _inspect(database)
    if not before.missing:
        print(f"Nothing to do: the database already has the newest schema version, {before.form}.")
        return 0
    for step in before.missing:
        print(f"schema version {step.number}: {step.name.replace('_', ' ')}")
    if isinstance(database, PostgresPlace):
        _migrate_postgres(database)
    else:
        _migrate_file(database, before.form)
    print(f"The database now has schema version {_inspect(database).form}.")
    return 0


def _migrate_postgres(database: PostgresPlace) -> None:
    from stepwell.database.postgres.database import PostgresDatabase

    PostgresDatabase(database.url.reveal(), is_meant=database.is_meant).close()


def _migrate_file(database: Path, form: int) -> None:
    lock = _lock(database)
    try:
        copy = database.with_name(f"{database.name}.form-{form}-{_stamp()}")
        copies.back_up(database, copy, progress=_progress(sys.stderr))
        print(f"A backup of the old database is in '{copy.name}'.")
        Database(database).close()
    finally:
        lock.release()


def backup(*, file: Path, force: bool, database_url: str | None) -> int:
    """Copy the database, even while it is in use."""
    database = require_file(database_url, Settings.load(), _DUMP)
    made = copies.back_up(database, file, force=force, progress=_progress(sys.stderr))
    print(f"Backup '{file}': {_bytes(made.size_bytes)}, schema version {made.form}, checked.")
    return 0


def restore(*, file: Path, database_url: str | None) -> int:
    """Replace the database with a backup."""
    database = database_file(database_url, Settings.load(), _LOAD)
    database.parent.mkdir(parents=True, exist_ok=True)
    aside = copies.restore(file, database, kept_as=f"before-restore-{_stamp()}", progress=_progress(sys.stderr))
    print(f"The database was restored from '{file.name}'.")
    if aside:
        print(f"The previous one is in '{aside.name}'; delete it when you no longer need it.")
    print("Runs that were active when the backup was made resume at the next start.")
    return 0


def prune(
    *,
    older_than: timedelta | None,
    keep_last: int | None,
    dry_run: bool,
    compact: bool,
    graphs: Path | None,
    database_url: str | None,
) -> int:
    """Delete old threads and checkpoints, by the rules of the command line or else of the environment."""
    settings = Settings.load()
    database = require_database(database_url, settings)
    rules = RetentionRules(older_than, keep_last)
    if rules.empty:
        rules = _rules_of(settings)
    registry = _registry(graphs) if graphs else None
    report = with_database(database, lambda opened: _prune(opened, rules, registry, dry_run=dry_run))
    _tell(report, dry_run=dry_run)
    if compact and not dry_run:
        _compact(database)
    return 0


def _compact(database: Path | PostgresPlace) -> None:
    if isinstance(database, PostgresPlace):
        print("Postgres reuses the freed space automatically. To return it to the disk, stop all servers and run VACUUM FULL.")
    else:
        print(f"Returned to the disk: {_bytes(_give_back(database))}.")


async def _prune(
    opened: SqlDatabase, rules: RetentionRules, registry: GraphRegistry | None, *, dry_run: bool
) -> RetentionReport:
    clock = SystemClock()
    maintenance = maintenance_of(opened, clock, lambda: str(uuid.uuid4()))
    if not dry_run:
        await maintenance.sweep()
    return await Retention(maintenance, registry, SqlSaver(opened, clock=clock), clock).apply(rules, dry_run=dry_run)


def _tell(report: RetentionReport, *, dry_run: bool) -> None:
    done = "Would delete" if dry_run else "Deleted"
    print(
        f"{done}: {report.threads_erased} threads, {report.checkpoints_deleted} checkpoints of {report.threads_shrunk} more, "
        f"{report.events_deleted} events, {report.notes_deleted} notes."
    )
    for thread_id, reason in report.left_alone.items():
        print(f"Left alone: thread '{thread_id}'. {reason}", file=sys.stderr)


def _give_back(database: Path) -> int:
    before = _size(database)
    if is_in_use(database) or not _has_room_for_a_copy(database):
        with_database(database, _give_back_in_place)
    else:
        lock = _lock(database)
        try:
            with closing(sqlite3.connect(database, isolation_level=None)) as connection:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # for files without this setting; VACUUM applies it
                connection.execute("VACUUM")
        finally:
            lock.release()
    with closing(sqlite3.connect(database, timeout=10, isolation_level=None, factory=SqliteConnection)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        left = free_bytes(connection)
    if left:
        print(
            f"Still free inside the file: {_bytes(left)}. To return all of it, stop the server, make room for a copy and try again."
        )
    return max(before - _size(database), 0)


def _has_room_for_a_copy(database: Path) -> bool:
    """Whether the disk has room for VACUUM, which writes the whole database a second time, and a third time into its log."""
    return DiskSpace(database).free_bytes > 3 * _size(database)


async def _give_back_in_place(opened: SqlDatabase) -> None:
    await maintenance_of(opened, SystemClock(), lambda: str(uuid.uuid4())).give_back_space()


def _registry(graphs: Path) -> GraphRegistry:
    from stepwell.cli.compose import graphs_to_serve  # imports the web framework, which nothing else here needs

    return graphs_to_serve(graphs).registry


def _rules_of(settings: Settings) -> RetentionRules:
    from stepwell.server.settings import ServerSettings

    server = ServerSettings.load(settings.server)
    days = server.retention_days
    return RetentionRules(None if days is None else timedelta(days=days), server.retention_checkpoints)


def _lock(database: Path) -> ProcessLock:
    lock = ProcessLock(database.with_name(database.name + ".lock"))
    lock.acquire()
    return lock


def _progress(screen: TextIO) -> Callable[[int, int], None] | None:
    """A line that redraws itself; `None` without a terminal."""
    if not screen.isatty():
        return None

    def show(done: int, total: int) -> None:
        screen.write(f"\r{done * 100 // max(total, 1):3d} % of {total} pages" + ("\n" if done >= total else ""))
        screen.flush()

    return show


def _stamp() -> str:
    return f"{SystemClock().now():%Y%m%dT%H%M%S}"


def _behind(steps: int) -> str:
    return f", {steps} behind: run `{spell_command('db migrate')}`" if steps else ", the newest"


def _size(database: Path) -> int:
    return sum(file.stat().st_size for file in (database, database.with_name(database.name + "-wal")) if file.exists())


def _bytes(count: int) -> str:
    return f"{count} bytes" if count < 10_000 else f"{count / 1_000_000:.2f} MB"
