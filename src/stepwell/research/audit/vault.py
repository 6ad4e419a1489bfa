"""Where evidence is stored: bytes under their hash, and the trail. One vault belongs to one thread.

Rules of every implementation (`VaultConformance` checks them):

- When `put` and `append` return, their effect is durable; a crash leaves all of an entry or nothing.
- Storing the same bytes or the same entry again returns the same result and writes nothing. A known key with other data is refused.
- Entries are never changed or removed. Several writers, even in several processes, make one chain.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Protocol

from stepwell.errors import EntryConflictError
from stepwell.research.audit.trail import Entry, NewEntry

VAULT = "__stepwell_vault"
"""The key in `config["configurable"]` under which an engine passes the thread's vault to a graph."""


class EvidenceVault(Protocol):
    """Stores bytes and entries."""

    async def put(self, content: bytes) -> str:
        """Store bytes; returns their sha256 in hexadecimal, which `get` takes."""
        ...

    async def get(self, sha256: str) -> bytes:
        """The bytes, checked; `EvidenceMissingError` if they are missing, `EvidenceDamagedError` if they have changed."""
        ...

    async def append(self, new: NewEntry) -> Entry:
        """Seal an entry at the end of the trail. If it is already there, returns the stored one; `EntryConflictError` if its key has
        another kind or other data."""
        ...

    async def entries(self, after: int = 0) -> list[Entry]:
        """The entries after number `after`, in order; 0 gives the whole trail. The caller may modify the result."""
        ...

    async def find(self, key: str) -> Entry | None:
        """The entry with this key."""
        ...


async def append_beside(vault: EvidenceVault, new: NewEntry) -> Entry:
    """Append an entry whose key another branch may have taken: under `key`, or else under `key:2`, `key:3` ... If the same data are
    already stored under one of these, returns that entry.

    This is needed because branches of a thread share one trail, but may write different things at the same place.
    """
    for number in count(1):
        key = new.key if number == 1 else f"{new.key}:{number}"
        try:
            return await vault.append(replace(new, key=key))
        except EntryConflictError:
            continue
    raise AssertionError("there is always another number")
