"""Evidence in memory: for tests, and for a replay, whose result is compared and thrown away."""

from __future__ import annotations

from stepwell.clock import Clock, SystemClock, timestamp
from stepwell.errors import EvidenceMissingError
from stepwell.research.audit.canonical import sha256 as hash_of
from stepwell.research.audit.trail import GENESIS, Entry, NewEntry, from_line, match_stored, seal, to_line


class MemoryVault:
    """An `EvidenceVault` whose contents end with the process. It never awaits inside, so two appends cannot interleave."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._blobs: dict[str, bytes] = {}
        self._lines: list[bytes] = []
        self._places: dict[str, int] = {}
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
        if new.key in self._places:
            return match_stored(self._at(new.key), new)
        entry = seal(new, seq=len(self._lines) + 1, at=timestamp(self._clock), previous=self._head)
        self._places[entry.key] = len(self._lines)
        self._lines.append(to_line(entry))
        self._head = entry.hash
        return self._at(entry.key)

    async def entries(self, after: int = 0) -> list[Entry]:
        return [from_line(line) for line in self._lines[after:]]

    async def find(self, key: str) -> Entry | None:
        return self._at(key) if key in self._places else None

    def _at(self, key: str) -> Entry:
        return from_line(self._lines[self._places[key]])
