"""Evidence in memory: for tests, and for a replay, whose result is compared and thrown away."""

from __future__ import annotations

from stepwell.audit.canonical import sha256 as hash_of
from stepwell.audit.trail import GENESIS, Entry, NewEntry, from_line, seal, to_line
from stepwell.clock import Clock, SystemClock, timestamp
from stepwell.errors import EvidenceMissingError


class MemoryVault:
    """An `EvidenceVault` that ends with the process. Nothing awaits inside, so that no two appends can mix."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._blobs: dict[str, bytes] = {}
        self._lines: dict[str, bytes] = {}
        self._head = GENESIS

    async def put(self, content: bytes) -> str:
        name = hash_of(content)
        self._blobs[name] = bytes(content)
        return name

    async def get(self, sha256: str) -> bytes:
        try:
            return self._blobs[sha256]
        except KeyError:
            raise EvidenceMissingError(f"Nothing is stored under sha256 {sha256[:64]}.") from None

    async def append(self, new: NewEntry) -> Entry:
        if new.key in self._lines:
            return from_line(self._lines[new.key])
        entry = seal(new, seq=len(self._lines) + 1, at=timestamp(self._clock), previous=self._head)
        self._lines[entry.key] = to_line(entry)
        self._head = entry.hash
        return from_line(self._lines[entry.key])

    async def entries(self) -> list[Entry]:
        return [from_line(line) for line in self._lines.values()]

    async def find(self, key: str) -> Entry | None:
        line = self._lines.get(key)
        return from_line(line) if line is not None else None
