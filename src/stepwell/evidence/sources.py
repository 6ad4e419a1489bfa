"""How pages become sources: numbered in the order in which they come, each page with its text once.

A thread's trail holds the sources of all its branches. Which of them a branch has read stands in its state.
"""

from __future__ import annotations

from stepwell.audit.evidence import Source
from stepwell.audit.ledger import record_source
from stepwell.audit.vault import EvidenceVault
from stepwell.errors import EntryConflictError
from stepwell.tools.web.fetch import FetchedPage


class SourceBook:
    """The sources of a vault. It reads each entry of the trail once."""

    def __init__(self, vault: EvidenceVault) -> None:
        self._vault = vault
        self._read_to = 0
        self._count = 0
        self._ids: dict[tuple[object, object], str] = {}

    async def keep(self, page: FetchedPage, engine: str | None = None) -> str:
        """Keep a page as evidence; its source id. The same page with the same text again is the same source."""
        content, text = await self._vault.put(page.content), await self._vault.put(page.text.encode())
        while True:
            await self._catch_up()
            if known := self._ids.get((page.final_url, text)):
                return known
            source = Source(
                f"s{self._count + 1}", "web", page.url, page.final_url, page.title, page.media_type, page.status,
                page.fetched_at, content, text, engine, page.robots,
            )  # fmt: skip
            try:
                await record_source(self._vault, source)
            except EntryConflictError:
                continue  # another step or agent took the number in between
            return source.source_id

    async def _catch_up(self) -> None:
        for entry in await self._vault.entries(self._read_to):
            if entry.seq > self._read_to:
                self._read_to = entry.seq
                self._count += entry.kind == "source"
                if entry.kind == "source":
                    place = entry.data.get("final_url"), entry.data.get("text_sha256")
                    self._ids.setdefault(place, str(entry.data["source_id"]))
