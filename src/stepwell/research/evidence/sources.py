"""Turns pages and notes into sources: `s1`, `s2` ... in order of arrival, each with its text stored once.

All applications create their sources here. A thread's trail holds the sources of all its branches; the application remembers which
of them a branch has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stepwell.clock import Clock, timestamp
from stepwell.errors import EntryConflictError
from stepwell.research.audit.evidence import Source, fit_parts, parts_from
from stepwell.research.audit.excerpts import DeviceDocument
from stepwell.research.audit.exchanges.redaction import without_secrets_in_url
from stepwell.research.audit.ledger import record_source
from stepwell.research.audit.vault import EvidenceVault
from stepwell.secrets.text import hide_secrets
from stepwell.tools.documents.parts import Part
from stepwell.tools.web.fetch import FetchedPage

Place = tuple[object, object, object, tuple[Part, ...]]
"""Identifies a source: its kind, its address (or its title, if it has none), the hash of its text, and its parts."""


class SourceBook:
    """The sources of a vault. It reads each entry of the trail once."""

    def __init__(self, vault: EvidenceVault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock
        self._read_to = 0
        self._count = 0
        self._ids: dict[Place, str] = {}

    async def keep_pages(
        self, pages: Iterable[FetchedPage], *, engine: str | None = None, read: set[str] | None = None
    ) -> list[str]:
        """Store pages as evidence; returns their source ids. The same page with the same text is the same source.

        Pages whose address is in `read` are not stored, whatever their text is now; the addresses of stored pages are added to `read`.
        Without `read`, a page that has changed is another source.
        """
        kept = []
        for page in pages:
            addresses = {page.url, page.final_url}
            if read is not None:
                if read & addresses:
                    continue
                read |= addresses
            kept.append(await self._keep_page(page, engine))
        return kept

    async def keep_notes(self, text: str, *, title: str) -> str:
        """Store the user's notes; returns their source id. The same notes under the same title are the same source."""
        return await self._keep_own(hide_secrets(text), title, ())

    async def keep_document(self, document: DeviceDocument) -> str:
        """Store what came along of a document on the user's device; returns its source id."""
        return await self._keep_own(document.text, document.title, document.parts)

    async def _keep_own(self, text: str, title: str, parts: tuple[Part, ...]) -> str:
        stored = await self._vault.put(text.encode())
        at = timestamp(self._clock)
        return await self._keep(
            ("device", title, stored, parts),
            lambda name: Source(name, "device", None, None, title, "text/plain", None, at, stored, stored, parts=parts),
        )

    async def _keep_page(self, page: FetchedPage, engine: str | None) -> str:
        parts = fit_parts(page.parts)
        content, text = await self._vault.put(page.content), await self._vault.put(page.text.encode())
        return await self._keep(
            ("web", without_secrets_in_url(page.final_url), text, parts),  # the form in the trail
            lambda name: Source(
                name, "web", page.url, page.final_url, page.title, page.media_type, page.status,
                page.fetched_at, content, text, page.found_by or engine, page.robots, parts,
            ),
        )  # fmt: skip

    async def _keep(self, place: Place, make: Callable[[str], Source]) -> str:
        while True:
            await self._catch_up()
            if known := self._ids.get(place):
                return known
            source = make(f"s{self._count + 1}")
            try:
                await record_source(self._vault, source)
            except EntryConflictError:
                continue  # another step or agent has taken the number in the meantime
            return source.source_id

    async def _catch_up(self) -> None:
        for entry in await self._vault.entries(self._read_to):
            if entry.seq > self._read_to:
                self._read_to = entry.seq
                if entry.kind == "source":
                    self._count += 1
                    where = entry.data.get("final_url") or entry.data.get("title")
                    place = entry.data.get("kind"), where, entry.data.get("text_sha256"), parts_from(entry.data["parts"])
                    self._ids.setdefault(place, str(entry.data["source_id"]))
