"""Evidence in a folder: for programs, the command line, and graphs on a server that has no vault of its own.

```
trail.jsonl      the trail, one line per entry     blobs/ab/abcd...   bytes under their sha256
lock             held by the writer
```

Any number of vaults, threads and processes may share a folder: one of them writes at a time, and the system releases the lock when
its holder dies. Disk work runs in threads; after a cancelled call the data may still be stored, and repeating the call is
harmless.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stepwell.clock import Clock, SystemClock, timestamp
from stepwell.errors import EvidenceDamagedError, EvidenceError, EvidenceMissingError
from stepwell.private_files import make_private_folder, open_private, sync_folder
from stepwell.research.audit.canonical import sha256 as hash_of
from stepwell.research.audit.trail import Entry, NewEntry
from stepwell.research.audit.trail_file import TrailFile


class FolderVault:
    """An `EvidenceVault` in a folder, which is created when something is first stored."""

    def __init__(self, path: str | Path, clock: Clock | None = None) -> None:
        self._folder = Path(path)
        self._clock = clock or SystemClock()
        self._blobs = BlobFolder(self._folder / "blobs")
        self._trail = TrailFile(self._folder / "trail.jsonl")

    async def put(self, content: bytes) -> str:
        return await asyncio.to_thread(self._put, bytes(content))

    async def get(self, sha256: str) -> bytes:
        return await asyncio.to_thread(self._blobs.get, sha256)

    async def append(self, new: NewEntry) -> Entry:
        return await asyncio.to_thread(self._append, new)

    async def entries(self, after: int = 0) -> list[Entry]:
        return await asyncio.to_thread(self._entries, after)

    async def find(self, key: str) -> Entry | None:
        return await asyncio.to_thread(self._find, key)

    def _put(self, content: bytes) -> str:
        name = hash_of(content)
        if not self._blobs.has(name):
            with hold_lock(self._lock()):
                self._blobs.put(name, content)
        return name

    def _append(self, new: NewEntry) -> Entry:
        with hold_lock(self._lock()):
            return self._trail.append(new, timestamp(self._clock))

    def _entries(self, after: int) -> list[Entry]:
        with hold_lock(self._lock()):
            return self._trail.entries(after)

    def _find(self, key: str) -> Entry | None:
        with hold_lock(self._lock()):
            return self._trail.find(key)

    def _lock(self) -> Path:
        try:
            make_private_folder(self._folder / "blobs")
        except OSError as error:
            raise EvidenceError(f"The evidence folder '{self._folder.name}' cannot be made ({error.strerror}).") from error
        return self._folder / "lock"


_NAME = re.compile(r"[0-9a-f]{64}")
_ASIDE = "unfinished"


class BlobFolder:
    """Bytes as files named by their hash. Writers hold the folder's lock; readers need none.

    A file appears under its name only when all of it is on disk (write to a temporary file, sync, rename, sync the folder), so every named
    file is complete. The next writer overwrites what a dead writer has left behind.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str) -> bool:
        return self._at(name).exists()

    def put(self, name: str, content: bytes) -> None:
        target = self._at(name)
        if target.exists():
            return
        aside = self._folder / _ASIDE
        try:
            if not target.parent.exists():
                make_private_folder(target.parent)
                sync_folder(self._folder)
            aside.unlink(missing_ok=True)
            with open_private(aside) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, target)
            sync_folder(target.parent)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise EvidenceError(f"A page could not be stored ({error.strerror}). Nothing of it was kept.") from error

    def get(self, name: str) -> bytes:
        try:
            content = self._at(name).read_bytes()
        except FileNotFoundError:
            raise EvidenceMissingError(f"Nothing is stored under sha256 {name}.") from None
        if hash_of(content) != name:
            raise EvidenceDamagedError(f"What is stored under sha256 {name} has another hash: it was changed.")
        return content

    def _at(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise EvidenceMissingError("A name of stored bytes is a sha256 of 64 lower-case hexadecimal digits.")
        return self._folder / name[:2] / name


LOCK_TIMEOUT_S = 30.0


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock file. Every holder opens the file anew, so that two threads exclude each other just as two processes do."""
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
