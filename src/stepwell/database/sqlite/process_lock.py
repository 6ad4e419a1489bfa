"""A lock that lets one process at a time use a database. The operating system releases it when its holder dies, however it dies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from stepwell.database.sqlite.opening import opening
from stepwell.errors import ConfigurationError
from stepwell.private_files import make_private_folder


class ProcessLock:
    """An advisory lock on a separate file; the file stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = path.with_name(path.name.removesuffix(".lock"))
        self._descriptor: int | None = None

    def acquire(self) -> None:
        if not self.try_acquire():
            raise ConfigurationError(
                f"Another process uses the database '{self._database.absolute()}'. Stop it, "
                "or give this one another folder with STEPWELL_DATA_DIR."
            )

    def try_acquire(self) -> bool:
        """Returns False if another process has it."""
        with opening(self._database):
            make_private_folder(self._path.parent)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
