"""Space on the disk that the database is on: below a mark no new run is let in, and a little is kept back for deleting.

Deleting writes first: what goes is overwritten, in SQLite's log. On a disk without a single byte left nothing could be deleted. So a
server keeps a file of a few megabytes beside its database, the *reserve*. When deleting finds the disk full, the reserve is lent to it
for one transaction; whatever else waits for room cannot have it, because the one writer does this itself. It is there while a server
runs, and is left behind by one that was killed, for the next to start with.

A deletion first empties SQLite's log into the file, which may grow by what is only in the log so far. If that needed more than the
reserve, nothing could ever be deleted. So a write is refused when the log could not be copied any more with half of the reserve; the
other half is for the deletion itself.
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
"""Of a small disk, no more than this part is kept free."""
_RESERVE_BYTES = 4 * 1024 * 1024
_RESERVE_SHARE = 12
_SLACK_BYTES = 64 * 1024
"""Left free when the reserve is filled, for a lock file and the like."""


class _Disk(NamedTuple):
    total: int
    free: int


class DiskSpace:
    """The disk of one database. `least_free`: refuse new runs below so many bytes; 0 never does; `None` is the usual mark."""

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
        """`StorageUnavailableError` when there is too little room to begin something new."""
        disk = self._disk()
        if disk.free < (mark := self._mark(disk)):
            raise StorageUnavailableError(
                f"The disk of the database is nearly full: {disk.free / MB:.1f} MB are free, and new runs need {mark / MB:.1f} MB. "
                "Runs under way go on. Delete threads, or let the operator make room with `stepwell db prune`."
            )

    def can_copy_log(self, grown_to: int, unwritten: int) -> bool:
        """Whether the log would still fit into the file, which then has `grown_to` bytes, after `unwritten` more were written to it."""
        try:
            growth = max(0, grown_to - self._database.stat().st_size)
            return growth + unwritten <= self._disk().free + self._reserved() // 2
        except OSError:
            return True  # the file or its disk is gone, and the commit itself will say so

    def keep_reserve(self) -> None:
        """From now on there is a reserve, as large as the disk allows."""
        self._keeps = True
        self._fill_reserve()

    def drop_reserve(self) -> None:
        self._keeps = False
        self._reserve.unlink(missing_ok=True)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Give the reserve's room to whoever works inside, and take it back as far as there is any."""
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
            with suppress(OSError):  # somebody was quicker: it is tried again after the next deletion
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
        # What an ordinary user may still write; a part of the disk is often kept for root.
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
