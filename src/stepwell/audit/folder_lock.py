"""One writer at a time to a folder, among threads and processes. The system lets go of the lock when its holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stepwell.errors import EvidenceError

LOCK_TIMEOUT_S = 30.0


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock file. Every holder opens it anew, so that two threads exclude each other as two processes do."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        _wait(descriptor)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int) -> None:
    deadline, pause_s = time.monotonic() + LOCK_TIMEOUT_S, 0.0005
    while not _try_lock(descriptor):
        if time.monotonic() > deadline:
            raise EvidenceError(
                f"Another process has held the evidence folder for {LOCK_TIMEOUT_S:.0f} s. Stop it and try again."
            )
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.02)


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
