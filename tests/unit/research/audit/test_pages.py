"""Documents with pages: a quote knows its page, the list of sources names it, and a page that is not quoted is found out."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit.pdfs import make_pdf
from tests.unit.research.audit.trails import ask, fetch, write

from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.evidence import Source, source_from, to_data
from stepwell.research.audit.export import export_bundle
from stepwell.research.audit.ledger import record_quote, record_source
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.quoting import make_quote
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.audit.writing.references import check_references
from stepwell.tools.documents.page import join_pages, read_page

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LEAVES = ["Wells of the north.", "   ", "The Kessel well has 12 steps.", "It was dug in 1890 by hand."]


class Still:
    def now(self) -> datetime:
        return NOW


def test_every_page_of_a_pdf_begins_where_its_words_do():
    page = read_page(make_pdf(*LEAVES), "application/pdf", 10)
    assert [page.text[begin:].split("\n")[0] for begin, *_ in page.parts] == [LEAVES[0], LEAVES[2], LEAVES[2], LEAVES[3]]


def test_a_text_without_pages_has_none():
    assert read_page(b"Some plain words.", "text/plain", 10).parts == ()


def test_a_page_that_is_cut_off_has_no_beginning(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stepwell.tools.documents.page.MOST_CHARACTERS", 25)
    text, parts = join_pages(LEAVES)
    assert (text, [part.start for part in parts]) == ("Wells of the north.\n\nThe", [0, 21, 21])


def make_source(stored: str, text: str, begins: tuple[int, ...]) -> Source:
    url = "https://wells.example/report.pdf"
    return Source("s1", "web", url, url, "Wells", "application/pdf", 200, NOW.isoformat(), stored, text, None, "n/a", begins)


@pytest.mark.parametrize(("offset", "page"), [(0, 1), (18, 1), (21, 3), (60, 4), (9_999, 4)])
def test_a_place_of_the_text_is_on_a_page(offset: int, page: int):
    assert make_source("a", "b", (0, 21, 21, 52)).page_at(offset) == page


def test_what_has_no_pages_says_so():
    source = replace(make_source("a", "b", ()), pages=())
    assert to_data(source)["pages"] == []
    assert source_from(to_data(source)) == source


@pytest.mark.parametrize("pages", [[3, 1], ["0"], [True]])
def test_pages_that_cannot_be_are_refused(pages: list[object]):
    with pytest.raises((TypeError, ValueError)):
        source_from({**to_data(make_source("a", "b", (0,))), "pages": pages})


async def make_bundle(file: Path) -> str:
    """A report that cites two pages of a document; gives its text."""
    vault = MemoryVault(Still())
    url = "https://wells.example/report.pdf"
    await ask(vault, [url])
    document = make_pdf(*LEAVES)
    await fetch(vault, 1, url, document)
    text, parts = join_pages(LEAVES)
    source = make_source(await vault.put(document), await vault.put(text.encode()), tuple(part.start for part in parts))
    await record_source(vault, source)
    quotes = {}
    for number, leaf in enumerate((LEAVES[2], LEAVES[3]), 1):
        start = text.index(leaf)
        quotes[f"e{number}"] = make_quote(f"e{number}", source, text, start, start + len(leaf))
        await record_quote(vault, quotes[f"e{number}"])
    draft = "# Wells\n\nThe Kessel well has 12 steps [e1]. It was dug in 1890 by hand [e2]."
    report = await write(vault, draft, quotes, {"s1": source})
    assert check_references(report, {"s1": source}, quotes) == []
    wrong = report.replace("pages 3, 4", "pages 3, 7")
    assert check_references(wrong, {"s1": source}, quotes) == ["names page 7 of source 1, of which nothing is quoted"]
    await write_bundle(vault, file)
    return report


async def test_a_report_names_the_pages_and_verifies(tmp_path: Path):
    report = await make_bundle(tmp_path / "b.zip")
    assert "1. [Wells](https://wells.example/report.pdf), pages 3, 4, fetched 2026-01-02" in report
    assert verify_bundle(tmp_path / "b.zip").ok
    assert "page 3, characters 21 to 50" in export_bundle(tmp_path / "b.zip", "html").decode()


async def test_sources_go_into_a_library_of_literature(tmp_path: Path):
    await make_bundle(tmp_path / "b.zip")
    entry = export_bundle(tmp_path / "b.zip", "bib").decode()
    assert entry.startswith("@online{wells_example_s1,\n  title = {{Wells}},\n  url = {https://wells.example/report.pdf},")
    assert "  urldate = {2026-01-02},\n  pages = {3, 4}," in entry
    (item,) = json.loads(export_bundle(tmp_path / "b.zip", "json"))
    assert item["accessed"] == {"date-parts": [[2026, 1, 2]]}
    assert (item["id"], item["type"], item["page"]) == ("wells_example_s1", "webpage", "3, 4")
