"""Pages and notes become sources in one place: numbered without a gap, each once, whoever else writes at the same time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from stepwell.clock import SystemClock
from stepwell.research.audit.excerpts import documents_of
from stepwell.research.audit.ledger import read_evidence
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.trail import Entry, NewEntry
from stepwell.research.evidence.sources import SourceBook
from stepwell.tools.documents.parts import Part
from stepwell.tools.web.fetch import FetchedPage


class YieldingVault(MemoryVault):
    """Lets others run in between, as a vault on a disk does."""

    async def entries(self, after: int = 0) -> list[Entry]:
        found = await super().entries(after)
        await asyncio.sleep(0)
        return found

    async def append(self, new: NewEntry) -> Entry:
        await asyncio.sleep(0)
        return await super().append(new)


def page(name: str, text: str = "Words.") -> FetchedPage:
    url = f"https://{name}.example/"
    return FetchedPage(url, url, 200, "text/html", text.encode(), text, name, "allowed", (), "2026-01-01T00:00:00+00:00")


def book_of(vault: MemoryVault) -> SourceBook:
    return SourceBook(vault, SystemClock())


async def test_writers_at_the_same_time_get_numbers_of_their_own() -> None:
    """Notes used to fail where a page took their number in between."""
    vault = YieldingVault()
    pages = [book_of(vault).keep_pages([page(name)]) for name in "abc"]
    notes = [book_of(vault).keep_notes(text, title="Your notes (q1)") for text in ("one", "two")]
    kept = [name for names in await asyncio.gather(*pages) for name in names] + list(await asyncio.gather(*notes))
    assert sorted(kept) == ["s1", "s2", "s3", "s4", "s5"]
    assert list(read_evidence(await vault.entries()).sources) == ["s1", "s2", "s3", "s4", "s5"]


async def test_notes_and_pages_at_the_same_time() -> None:
    vault = YieldingVault()
    [first], second = await asyncio.gather(
        book_of(vault).keep_pages([page("a")]), book_of(vault).keep_notes("mine", title="Your notes (q1)")
    )
    assert {first, second} == {"s1", "s2"}


async def test_the_same_again_is_the_same_source() -> None:
    book = book_of(MemoryVault())
    assert await book.keep_pages([page("a"), page("a"), page("b")]) == ["s1", "s1", "s2"]
    assert await book.keep_notes("mine", title="Your notes (q1)") == "s3"
    assert await book.keep_notes("mine", title="Your notes (q1)") == "s3"
    assert await book.keep_notes("mine", title="Your notes (q2)") == "s4"


async def test_a_page_that_changed_is_another_source_unless_its_address_counts_as_read() -> None:
    book, read = book_of(MemoryVault()), {"https://known.example/"}
    assert await book.keep_pages([page("known"), page("a")], read=read) == ["s1"]
    assert await book.keep_pages([page("a", "Other words.")], read=read) == []
    assert read == {"https://known.example/", "https://a.example/"}
    assert await book.keep_pages([page("a", "Other words.")]) == ["s2"]


async def test_the_parts_of_a_document_are_stored_with_it() -> None:
    vault = MemoryVault()
    rows = (Part(0, "sheet Sales", "A2:C2"), Part(9, "sheet Sales", "A3:C3"))
    sheet = replace(page("a"), parts=rows)
    assert await book_of(vault).keep_pages([sheet]) == await book_of(vault).keep_pages([sheet]) == ["s1"]
    assert read_evidence(await vault.entries()).sources["s1"].parts == rows
    assert (await vault.entries())[0].data["parts"] == [[0, "sheet Sales", "A2:C2"], [9, "sheet Sales", "A3:C3"]]


async def test_a_document_of_the_device_with_other_places_is_another_source() -> None:
    book = book_of(MemoryVault())
    excerpt = {"id": "c1", "document_id": "d1", "label": "a.pdf", "place": "page 2", "text": "Words.", "start": 0, "end": 6}
    for place, expected in (("page 2", "s1"), ("page 3", "s2"), ("page 2", "s1")):
        (document,) = documents_of([{**excerpt, "place": place}])
        assert await book.keep_document(document) == expected
