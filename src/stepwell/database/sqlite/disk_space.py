"""Space on the database's disk: below a threshold no new runs are admitted, and a little is reserved for deleting.

Deleting needs space at first, because SQLite overwrites deleted data, and does so in its log. So on a completely full disk nothing could be
deleted. That is why a server keeps a file of a few megabytes beside its database, the *reserve*. When a deletion finds the disk full, it
gets the reserve's space for one transaction; no other write can use that space, because the only writer thread lends it itself. The reserve
exists while a server runs; a killed server leaves it behind for the next one.

A deletion first copies SQLite's log into the file, which may grow by everything that was only in the log. If that needed more space than
the reserve, nothing could ever be deleted. So a write is refused once the log could no longer be copied with half of the reserve; the other
half is for the deletion itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from stepwell.errors import StorageUnavailableError

MB = 1_000_000
LEAST_FREE_BYTES = 64 * MB
_LARGEST_SHARE = 20
"""On a small disk, the threshold is at most the disk's size divided by this."""
_RESERVE_BYTES = 4 * 1024 * 1024
_RESERVE_SHARE = 12
_SLACK_BYTES = 64 * 1024
"""How much is left free for lock files and the like when the reserve is filled."""


class _Disk(NamedTuple):
    total: int
    free: int


class DiskSpace:
    """The disk of one database. `least_free`: refuse new runs below this many bytes; 0 never refuses; `None` is the default threshold."""

    def __init__(self, database: Path, *, least_free: int | None = None) -> None:
        self._database = database
        self._folder = database.parent
        self._reserve = database.with_name(database.name + ".reserve")
        self._least_free = least_free
        self._keeps = False

    @property
    def free_bytes(self) -> int:
        return self._disk().free

    @property
    def is_low(self) -> bool:
        disk = self._disk()
        return disk.free < self._mark(disk)

    def require(self) -> None:
        """Raise `StorageUnavailableError` when there is too little space to start something new."""
        disk = self._disk()
        if disk.free < (mark := self._mark(disk)):
            raise StorageUnavailableError(
                f"The disk of the database is nearly full: {disk.free / MB:.1f} MB are free, and new runs need {mark / MB:.1f} MB. "
                "Runs under way continue. Delete threads, or ask the operator to free space with `stepwell db prune`."
            )

    def can_copy_log(self, grown_to: int, unwritten: int) -> bool:
        """Whether the log, after `unwritten` more bytes, could still be copied into the file, which then has `grown_to` bytes."""
        try:
            growth = max(0, grown_to - self._database.stat().st_size)
            return growth + unwritten <= self._disk().free + self._reserved() // 2
        except OSError:
            return True  # the file or its disk is gone; the commit itself will report that

    def keep_reserve(self) -> None:
        """From now on keep a reserve, as large as the disk allows."""
        self._keeps = True
        self._fill_reserve()

    def drop_reserve(self) -> None:
        self._keeps = False
        self._reserve.unlink(missing_ok=True)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Free the reserve's space for the code inside, then take back as much as possible."""
        there = self._reserved() > 0
        if there:
            os.truncate(self._reserve, 0)
        try:
            yield
        finally:
            if there or self._keeps:
                self._fill_reserve()

    def _fill_reserve(self) -> None:
        disk, there = self._disk(), self._reserved()
        size = min(_RESERVE_BYTES, disk.total // _RESERVE_SHARE, there + disk.free - _SLACK_BYTES)
        if size > there:
            with suppress(OSError):  # something else took the space: retried after the next deletion
                _allocate(self._reserve, size)

    def _reserved(self) -> int:
        try:
            return self._reserve.stat().st_size
        except FileNotFoundError:
            return 0

    def _mark(self, disk: _Disk) -> int:
        return min(LEAST_FREE_BYTES, disk.total // _LARGEST_SHARE) if self._least_free is None else self._least_free

    def _disk(self) -> _Disk:
        if sys.platform == "win32":
            import shutil

            usage = shutil.disk_usage(self._folder)
            return _Disk(usage.total, usage.free)
        found = os.statvfs(self._folder)
        # The space that an ordinary user may still use; part of the disk is often reserved for root.
        return _Disk(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def _allocate(file: Path, size: int) -> None:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform == "linux":
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.write(descriptor, bytes(size))
    finally:
        os.close(descriptor)
