"""Evidence in a folder: for programs, the command line, and graphs under a server that brings no vault.

```
trail.jsonl      the trail, a line an entry        blobs/ab/abcd...   bytes under their sha256
lock             held by whoever writes
```

Any number of vaults, threads and processes may share a folder. Disk work happens in threads; a caller that is cancelled may find the
thing stored all the same, and asking again is harmless.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from stepwell.audit.blob_folder import BlobFolder
from stepwell.audit.canonical import sha256 as hash_of
from stepwell.audit.folder_lock import hold_lock
from stepwell.audit.trail import Entry, NewEntry
from stepwell.audit.trail_file import TrailFile
from stepwell.clock import Clock, SystemClock, timestamp
from stepwell.errors import EvidenceError


class FolderVault:
    """An `EvidenceVault` in a folder, which is made when something is first stored."""

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
            (self._folder / "blobs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EvidenceError(f"The evidence folder '{self._folder.name}' cannot be made ({error.strerror}).") from error
        return self._folder / "lock"
