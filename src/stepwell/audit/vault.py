"""Where evidence is kept: bytes under their hash, and the trail. One vault belongs to one thread.

Rules of every implementation (`stepwell.testing.VaultConformance` checks them):

- `put` and `append` have happened, durably, when they return; a crash leaves all of an entry or nothing.
- The same bytes, or the same key, again: the same answer, and nothing is written.
- Entries are never changed or removed. Several writers, also of several processes, make one chain.
"""

from __future__ import annotations

from typing import Protocol

from stepwell.audit.trail import Entry, NewEntry

VAULT = "__stepwell_vault"
"""The name in `config["configurable"]` under which an engine hands a graph the vault of its thread."""


class EvidenceVault(Protocol):
    """Keeps bytes and entries."""

    async def put(self, content: bytes) -> str:
        """Keep bytes; their sha256 in hexadecimal is the name to `get` them by."""
        ...

    async def get(self, sha256: str) -> bytes:
        """The bytes, checked; `EvidenceMissingError` if there are none, `EvidenceDamagedError` if they have changed."""
        ...

    async def append(self, new: NewEntry) -> Entry:
        """Seal an entry at the end of the trail. If its key is there already, the stored entry; the new data are ignored."""
        ...

    async def entries(self) -> list[Entry]:
        """The whole trail, in order; the caller may change what it gets."""
        ...

    async def find(self, key: str) -> Entry | None:
        """The entry with this key."""
        ...
