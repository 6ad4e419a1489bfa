"""Where evidence is kept: bytes under their hash, and the trail. One vault belongs to one thread.

Rules of every implementation (`stepwell.testing.VaultConformance` checks them):

- `put` and `append` have happened, durably, when they return; a crash leaves all of an entry or nothing.
- The same bytes, or the same entry, again: the same answer, and nothing is written. A known key with other data is refused.
- Entries are never changed or removed. Several writers, also of several processes, make one chain.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Protocol

from stepwell.audit.trail import Entry, NewEntry
from stepwell.errors import EntryConflictError

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
        """Seal an entry at the end of the trail. If it is there already, the stored one; `EntryConflictError` if its key stands for
        another kind or other data."""
        ...

    async def entries(self, after: int = 0) -> list[Entry]:
        """The trail behind entry number `after`, in order; the whole of it from 0. The caller may change what it gets."""
        ...

    async def find(self, key: str) -> Entry | None:
        """The entry with this key."""
        ...


async def append_beside(vault: EvidenceVault, new: NewEntry) -> Entry:
    """Append an entry where others may have taken its key: under `key`, or else `key:2`, `key:3` ... The same data come back as they are.

    Branches of a thread share one trail, and what they say at the same place differs.
    """
    for number in count(1):
        key = new.key if number == 1 else f"{new.key}:{number}"
        try:
            return await vault.append(replace(new, key=key))
        except EntryConflictError:
            continue
    raise AssertionError("there is always another number")
