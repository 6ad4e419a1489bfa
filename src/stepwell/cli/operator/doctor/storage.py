"""The data folder, the database, Redis, and object storage."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stepwell.cli.operator.doctor.extras import missing_packages
from stepwell.cli.operator.doctor.finding import Check, Finding, Installation, count
from stepwell.database.condition import Condition
from stepwell.database.sqlite.disk_space import MB, DiskSpace
from stepwell.errors import StepwellError
from stepwell.settings import BucketSettings
from stepwell.terminal.database_place import PostgresPlace
from stepwell.terminal.own_command import spell_command
from stepwell.variables import Variables, is_loopback

_LITTLE_BYTES = 1000 * MB
"""Less than this is soon used up by models and uploads."""
_SKEW_S = 30.0
"""As much as tokens of an identity provider may differ."""
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "vboxsf", "davfs"})
_NETWORK_FUSE = frozenset({"sshfs", "rclone", "s3fs", "gcsfuse", "glusterfs", "davfs", "smbnetfs"})


def _check_data_folder(here: Installation) -> Iterator[Finding]:
    folder = here.settings.data_folder
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not place.is_dir() or not _is_writable(place):
        yield Finding(
            "problem",
            f"The data folder '{folder}' is not writable.",
            "Models, keys and the database cannot be stored there.",
            "Give this user write access, or choose another with STEPWELL_DATA_DIR.",
        )
        return
    free = shutil.disk_usage(place).free
    if free < _LITTLE_BYTES:
        yield Finding(
            "warning",
            f"The disk of the data folder '{folder}' has {free / MB:,.0f} MB free.",
            "Models and uploads will not fit.",
            "Free space, or choose another folder with STEPWELL_DATA_DIR.",
        )
    else:
        yield Finding("ok", f"The data folder is '{folder}', with {free / 1e9:,.0f} GB free.")


def _is_writable(folder: Path) -> bool:
    """Tries to write an unnamed file, because permission bits always allow a superuser to write, even on a read-only disk."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _check_database(here: Installation) -> Iterator[Finding]:
    place, found = here.place, here.condition
    if isinstance(place, PostgresPlace) and missing_packages("postgres"):
        return  # reported by `extras`
    if isinstance(place, StepwellError):
        yield Finding(
            "problem", "The database's address cannot be used.", str(place), "Correct or unset STEPWELL_DATABASE_URL."
        )
    elif isinstance(found, StepwellError):
        name = str(place) if isinstance(place, PostgresPlace) else f"'{place.absolute()}'"
        yield Finding(
            "problem", f"The database {name} cannot be used.", str(found), f"Then look again: {spell_command('db status')}"
        )
    elif isinstance(place, Path) and found is None:
        yield Finding("ok", "There is no database yet; the first start of the server creates it.")
    elif isinstance(found, Condition):
        yield _describe(place, found)


def _describe(place: Path | PostgresPlace, found: Condition) -> Finding:
    name = str(place) if isinstance(place, PostgresPlace) else f"'{place.absolute()}'"
    if not found.form:
        return Finding("ok", f"The database {name} is still empty; the first start of a server creates its tables.")
    rows = found.contents.rows
    return Finding(
        "ok",
        f"The database is {name}: {found.size_bytes / 1e6:,.1f} MB, schema version {found.form}, "
        f"{count(rows.get('threads', 0), 'thread', 'threads')}, {count(rows.get('api_keys', 0), 'key', 'keys')}.",
    )


def _check_migration(here: Installation) -> Iterator[Finding]:
    found = here.condition
    if isinstance(found, Condition) and found.form and found.missing:
        yield Finding(
            "warning",
            f"The database's schema version {found.form} is {count(len(found.missing), 'step', 'steps')} behind.",
            "The next start of a server upgrades it; a backup beforehand is wise.",
            spell_command("db migrate"),
        )


def _check_disk(here: Installation) -> Iterator[Finding]:
    place = here.place
    if not isinstance(place, Path) or not place.parent.is_dir():
        return
    yield from _judge_mount(place.parent.resolve(), _MOUNTS)
    if not _is_writable(place.parent):
        yield Finding(
            "problem",
            f"The folder of the database '{place.absolute()}' is not writable.",
            "SQLite writes its log beside the file.",
            "Give this user write access, or choose another folder with STEPWELL_DATA_DIR.",
        )
        return
    least = Variables(here.settings.server).whole("STEPWELL_MIN_FREE_MB", None, least=0)
    disk = DiskSpace(place, least_free=None if least is None else least * MB)
    if disk.is_low:
        yield Finding(
            "problem",
            f"The disk of the database is nearly full: {disk.free_bytes / MB:,.0f} MB are free.",
            "A server admits no new runs.",
            f"Free space: {spell_command('db prune --older-than 30d --compact')}, or lower STEPWELL_MIN_FREE_MB.",
        )


def _judge_mount(folder: Path, mounts: Path) -> Iterator[Finding]:
    kind, options = _mount_of(folder, mounts)
    if kind in _NETWORK or kind.removeprefix("fuse.") in _NETWORK_FUSE:
        yield Finding(
            "warning",
            f"The database is on a network file system ({kind}).",
            "SQLite's locks do not work reliably there, and two processes can damage the file.",
            "Put it on a local disk with STEPWELL_DATA_DIR, or use Postgres.",
        )
    if "ro" in options:
        yield Finding(
            "problem",
            "The database is on a file system that is mounted read-only.",
            "Nothing can be stored.",
            "Mount it for writing, or choose another folder with STEPWELL_DATA_DIR.",
        )


def _mount_of(folder: Path, mounts: Path) -> tuple[str, tuple[str, ...]]:
    """Type and options of the file system with this folder; both empty where that is not known."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "", ()
    best, found = -1, ("", ())
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        point = Path(fields[4].replace("\\040", " "))
        if (folder == point or point in folder.parents) and len(point.parts) >= best:
            best, found = len(point.parts), (after.split()[0], tuple(fields[5].split(",")))  # type: ignore[assignment]
    return found


def _check_postgres(here: Installation) -> Iterator[Finding]:
    place = here.place
    if not isinstance(place, PostgresPlace) or not isinstance(here.condition, Condition):
        return
    from stepwell.database.postgres.condition import OLDEST_VERSION, PER_PROCESS, inspect_server

    server = inspect_server(place.url.reveal())
    if server.version < OLDEST_VERSION:
        yield Finding(
            "warning",
            f"Postgres {server.version} is older than {OLDEST_VERSION}.",
            "It is not tested, and statements may fail.",
            f"Upgrade Postgres to {OLDEST_VERSION} or newer.",
        )
    if server.free_connections < PER_PROCESS:
        yield Finding(
            "warning",
            f"Postgres has {max(server.free_connections, 0)} of {server.max_connections} connections left.",
            f"A server or worker uses up to {PER_PROCESS}.",
            "Raise max_connections in Postgres, or stop other programs.",
        )
    if abs(server.ahead_s) > _SKEW_S:
        yield Finding(
            "warning",
            f"This machine's clock and the database's differ by {abs(server.ahead_s):,.0f} s.",
            "Runs follow the database's clock, but tokens and certificates this machine's.",
            "Switch on time synchronisation (NTP) on both machines.",
        )


def _check_redis(here: Installation) -> Iterator[Finding]:
    url = here.settings.redis_url
    if url is None or missing_packages("redis"):
        return
    if isinstance(here.place, Path):
        yield Finding(
            "warning",
            "STEPWELL_REDIS_URL is ignored.",
            "With SQLite there is only one process, so there are no others to notify.",
            "unset STEPWELL_REDIS_URL, or use Postgres",
        )
        return
    from stepwell.database.postgres.redis_fan_out import find_fault

    if fault := asyncio.run(find_fault(url.reveal())):
        yield Finding(
            "problem",
            "Redis cannot be used.",
            f"{fault} Until then events go through Postgres, more slowly.",
            "Start Redis, or correct or unset STEPWELL_REDIS_URL.",
        )
    else:
        yield Finding("ok", "Redis answers.")


def _check_objects(here: Installation) -> Iterator[Finding]:
    buckets = here.settings.buckets
    if not buckets or missing_packages("objects"):
        return
    from stepwell.backends.objects import open_bucket
    from stepwell.backends.objects.bucket import ObjectsUnavailableError, Patience

    variables = ", ".join((buckets[0].variable, *buckets[0].variables))
    try:
        bucket = open_bucket(here.settings, Patience(request_s=5.0, connect_s=3.0, retries=0, total_s=8.0))
    except StepwellError as error:
        yield Finding("problem", "The bucket's settings cannot be used.", str(error), f"Correct {variables}.")
        return
    if bucket is None or not (here.online or _is_local(buckets[0])):
        return
    try:
        asyncio.run(bucket.list_folder("stepwell-doctor/"))
    except ObjectsUnavailableError as error:
        yield Finding("problem", f"The bucket of {buckets[0].variable} cannot be used: {error}.", "", f"Check {variables}.")
    else:
        yield Finding("ok", f"The bucket of {buckets[0].variable} answers, and accepts the credentials.")


def _is_local(bucket: BucketSettings) -> bool:
    from urllib.parse import urlsplit

    endpoint = bucket.options.get("endpoint")
    return endpoint is not None and is_loopback(urlsplit(endpoint.reveal()).hostname or "")


CHECKS = (
    Check(
        "data-folder",
        "the data folder is not writable, or its disk has less than 1 GB free",
        "`STEPWELL_DATA_DIR`; free space",
        _check_data_folder,
    ),
    Check(
        "database",
        "the database cannot be opened: an invalid address, no permission, a lock of another program, a newer schema; for Postgres: "
        "unreachable, a wrong password, no such database, no connections left",
        "as the finding says; `stepwell db status`",
        _check_database,
    ),
    Check("database-schema", "the schema is older than this version", "`stepwell db migrate`", _check_migration),
    Check(
        "database-disk",
        "the SQLite file is on a full, read-only or network file system, or in a folder that is not writable",
        "`stepwell db prune`, `STEPWELL_DATA_DIR`, or Postgres",
        _check_disk,
    ),
    Check(
        "postgres",
        "Postgres is older than 15, has fewer than 8 connections left, or its clock differs by more than 30 seconds",
        "upgrade; raise `max_connections`; NTP",
        _check_postgres,
    ),
    Check(
        "redis",
        "Redis does not answer, rejects the password, or is ignored because the database is SQLite",
        "start Redis; correct or unset `STEPWELL_REDIS_URL`",
        _check_redis,
    ),
    Check(
        "object-storage",
        "the bucket's settings are invalid; with `--online`, or if it is on this machine: it does not answer, does not exist, or "
        "rejects the credentials",
        "correct the bucket's variables",
        _check_objects,
    ),
)
