"""Seals bundles anew with something changed, as a forger would: every hash in them is right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepwell.research.audit.bundle import BundleReader, write_bundle
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.signing import Signer, SigningKey
from stepwell.research.audit.trail import Entry, NewEntry

Data = dict[str, Any]


@dataclass
class Forgery:
    """The trail of a bundle, to be changed, and its bytes by their hashes."""

    entries: list[Entry]
    bodies: list[bytes]
    report: str
    _vault: MemoryVault = field(default_factory=MemoryVault)

    def of_kind(self, kind: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind == kind]

    def body(self, sha256: str) -> bytes:
        return asyncio.run(self._vault.get(sha256))

    def put(self, content: bytes) -> str:
        return asyncio.run(self._vault.put(content))

    def drop(self, *gone: Entry) -> None:
        self.entries = [entry for entry in self.entries if entry not in gone]

    def insert_after(self, entry: Entry, kind: Any, key: str, data: Data) -> None:
        place = self.entries.index(entry) + 1
        self.entries.insert(place, Entry(0, kind, key, "", data, "", ""))

    def change_words(self, old: str, new: str) -> None:
        """Everywhere: in entries, pages, texts and the report, with every hash that follows from it."""
        assert len(old) == len(new), "offsets of quotes stay as they are"
        before = {body: body.replace(old.encode(), new.encode()) for body in self.bodies}
        self.report = self.report.replace(old, new)
        text = json.dumps([[entry.kind, entry.key, entry.data] for entry in self.entries])
        text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
        for was, now in before.items():
            text = text.replace(self.put(was), self.put(now))
            self.report = self.report.replace(self.put(was)[:12], self.put(now)[:12])
        self.entries = [Entry(0, kind, key, "", data, "", "") for kind, key, data in json.loads(text)]

    def seal(self, file: Path, signer: Signer | None = None) -> Path:
        stored = self.put(self.report.encode())
        self.of_kind("report")[-1].data["sha256"] = stored

        async def write() -> None:
            for entry in self.entries:
                await self._vault.append(NewEntry(entry.kind, entry.key, entry.data))
            await write_bundle(self._vault, file, signer)

        asyncio.run(write())
        return file


Change = Callable[[Forgery], None]


def take_apart(bundle: Path) -> Forgery:
    with BundleReader(bundle) as opened:
        made = Forgery(opened.entries(), [opened.read(name) for name in opened.members], opened.read("report.md").decode())
    for body in made.bodies:
        made.put(body)
    return made


def owner_of(bundle: Path) -> SigningKey:
    return SigningKey(bundle.parent)
