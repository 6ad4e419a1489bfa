"""Documents with parts: a quote knows its place, the list of sources names it, and a place that is not quoted is found out."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit.pdfs import make_pdf
from tests.unit.research.audit.trails import ask, fetch, write

from stepwell.research.audit.bundle import BundleReader, write_bundle
from stepwell.research.audit.evidence import (
    MAX_CELLS,
    MAX_PART_NAME,
    MOST_PARTS,
    Quote,
    Source,
    fit_parts,
    parts_from,
    source_from,
    to_data,
)
from stepwell.research.audit.export import export_bundle
from stepwell.research.audit.forms import check_forms
from stepwell.research.audit.ledger import Evidence, read_evidence, record_quote, record_source
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.quoting import make_quote
from stepwell.research.audit.story import story_of
from stepwell.research.audit.trail import NewEntry
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.audit.writing.compared import compare_numbered
from stepwell.research.audit.writing.references import (
    check_references,
    cited_places,
    list_places,
    reference_line,
    reference_section,
    without_places,
)
from stepwell.research.http.evidence_schemas import ReportResponse, report_wire
from stepwell.tools.documents.page import read_page
from stepwell.tools.documents.parts import Part
from stepwell.tools.documents.pieces import MOST_CHARACTERS, Piece, compose

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


def join_pages(most: int = MOST_CHARACTERS) -> tuple[str, tuple[Part, ...]]:
    text, parts, _ = compose((Piece(leaf, f"page {number}") for number, leaf in enumerate(LEAVES, 1)), most=most)
    return text, parts


def test_a_page_that_is_cut_off_has_no_beginning():
    text, parts = join_pages(25)
    assert (text, [part.start for part in parts]) == ("Wells of the north.\n\nThe", [0, 21, 21])


PAGES = tuple(Part(start, f"page {number}") for number, start in enumerate((0, 21, 21, 52), 1))
ROWS = [(0, "Sales", "A2:F2"), (100, "Sales", "A3:F3"), (200, "Sales", "A9:F9"), (300, "Costs", "B2:C2")]
SHEETS = tuple(Part(start, f"sheet {name}", cells) for start, name, cells in ROWS)


def make_source(stored: str, text: str, parts: tuple[Part, ...]) -> Source:
    url = "https://wells.example/report.pdf"
    return Source("s1", "web", url, url, "Wells", "application/pdf", 200, NOW.isoformat(), stored, text, None, "n/a", parts)


def quotes_at(*places: tuple[int, int]) -> dict[str, Quote]:
    return {f"e{n}": Quote(f"e{n}", "s1", start, end, "words") for n, (start, end) in enumerate(places, 1)}


@pytest.mark.parametrize(
    ("start", "end", "place"),
    [(0, 5, "page 1"), (18, 20, "page 1"), (21, 30, "page 3"), (30, 60, "pages 3 to 4"), (9_999, 10_000, "page 4")],
)
def test_a_passage_is_on_a_page(start: int, end: int, place: str):
    assert make_source("a", "b", PAGES).place_at(start, end) == place


def test_a_document_without_parts_has_no_places():
    source = make_source("a", "b", ())
    assert (source.place_at(0, 5), to_data(source)["parts"]) == ("", [])
    assert source_from(to_data(source)) == source


def test_a_trail_stores_parts_as_lists():
    source = make_source("a", "b", SHEETS[:2])
    assert to_data(source)["parts"] == [[0, "sheet Sales", "A2:F2"], [100, "sheet Sales", "A3:F3"]]
    assert source_from(json.loads(json.dumps(to_data(source)))) == source


MALFORMED: list[object] = [
    [[3, "page 1", ""], [1, "page 2", ""]],
    [["0", "page 1", ""]],
    [[True, "page 1", ""]],
    [[-1, "page 1", ""]],
    [[0, "", ""]],
    [[0, 1, ""]],
    [[0, "page 1"]],
    [[0, "page 1", None]],
    [0, 21],
    "page 1",
    [[0, "n" * (MAX_PART_NAME + 1), ""]],
    [[0, "sheet Sales", "A" * (MAX_CELLS + 1)]],
    [[n, "page", ""] for n in range(MOST_PARTS + 1)],
]


@pytest.mark.parametrize("parts", MALFORMED, ids=range(len(MALFORMED)))
async def test_malformed_parts_are_refused(parts: object):
    vault = MemoryVault(Still())
    data = {**to_data(make_source("a" * 64, "b" * 64, ())), "parts": parts}
    with pytest.raises((TypeError, ValueError)):
        source_from(data)
    entry = await vault.append(NewEntry("source", "source:s1", data))
    (defect,) = check_forms([entry])
    assert "parts" in defect.fact


def test_the_parts_of_a_long_sheet_fit_into_a_trail():
    rows = [Part(10 * n, "sheet Sales", f"A{n}:F{n}") for n in range(1, 2 * MOST_PARTS + 2)]
    parts = fit_parts(rows)
    assert len(parts) <= MOST_PARTS
    assert parts[0] == Part(10, "sheet Sales", "A1:F3")
    assert fit_parts(parts) == parts
    assert parts_from([list(part) for part in parts]) == parts


def test_the_names_of_parts_are_cut_and_hold_no_key():
    (one, other) = fit_parts([Part(0, "chapter " + "x" * 500), Part(5, "sheet sk-" + "a1B2" * 10)])
    assert len(one.name) == MAX_PART_NAME
    assert "a1B2" not in other.name


@pytest.mark.parametrize(
    ("parts", "quoted", "listed"),
    [
        (PAGES, [(60, 65), (21, 30), (22, 25)], "pages 3, 4"),
        (PAGES, [(30, 60)], "pages 3, 4"),
        (PAGES, [(60, 65)], "page 4"),
        ((Part(0, "slide 2"), Part(9, "slide 5")), [(0, 5), (10, 12)], "slides 2, 5"),
        (
            (Part(0, "message 4 (Ann Lee, 3 May 2025)"), Part(9, "message 7 (Bo, 4 May 2025)")),
            [(0, 5), (10, 12)],
            "messages 4, 7",
        ),
        (SHEETS, [(0, 150)], "sheet Sales, A2:F3"),
        (SHEETS, [(10, 20), (210, 220), (310, 320)], "sheet Sales, A2:F2, A9:F9; sheet Costs, B2:C2"),
        ((Part(0, "chapter Tides; a story"), Part(9, "chapter [Wells](x)")), [(0, 5), (10, 12)], None),
        ((Part(0, "page 3"), Part(9, "pages 3 to 4")), [(0, 5), (10, 12)], "pages 3, 3 to 4"),
        ((Part(0, "pages 3 to 4"),), [(0, 5)], "pages 3 to 4"),
    ],
)
def test_the_list_of_sources_names_cited_places(parts: tuple[Part, ...], quoted: list[tuple[int, int]], listed: str | None):
    sources, quotes = {"s1": make_source("a" * 64, "b" * 64, parts)}, quotes_at(*quoted)
    report = f"A sentence [1].\n\n{reference_section([sources['s1']], cited_places(quotes.values(), sources))}"
    named = listed or r"chapter Tides, a story; chapter Wells"
    assert f"1. [Wells](https://wells.example/report.pdf), {named}, read 2 January 2026" in report
    assert check_references(report, sources, quotes) == []
    assert without_places(report.splitlines()[-1]) == reference_line(1, sources["s1"])
    (fault, *_) = check_references(report, sources, {})
    assert "of source 1, of which nothing is quoted" in fault


@pytest.mark.parametrize(
    ("parts", "written", "said"),
    [
        (PAGES, "pages 3, 7", "names page 7 of source 1"),
        (PAGES, "page 3; slide 2", "names slide 2 of source 1"),
        (SHEETS, "sheet Sales, A2:F2, A7:F7", "names sheet Sales, A7:F7 of source 1"),
        (SHEETS, "sheet Costs, B2:C2", "names sheet Costs, B2:C2 of source 1"),
        (SHEETS, "the best page of all", "names the best page of all of source 1"),
        ((), "page 1", "names page 1 of source 1"),
    ],
)
def test_a_place_that_is_not_quoted_is_found_out(parts: tuple[Part, ...], written: str, said: str):
    sources = {"s1": make_source("a" * 64, "b" * 64, parts)}
    line = reference_line(1, sources["s1"]).replace(", read", f", {written}, read")
    report = f"A sentence [1].\n\n## Sources\n\n{line}"
    assert check_references(report, sources, quotes_at((25, 30))) == [f"{said}, of which nothing is quoted"]


def test_a_line_with_very_many_places_costs_no_more_than_it_is_long():
    """A stranger's report may have a line of two megabytes."""
    parts = tuple(Part(10 * n, f"chapter {n}, and more") for n in range(MOST_PARTS))
    sources = {"s1": make_source("a" * 64, "b" * 64, parts)}
    quotes = quotes_at(*((10 * n, 10 * n + 5) for n in range(2_000)))
    longest = len(list_places(cited_places(quotes.values(), sources)["s1"]))

    def check(places: str) -> list[str]:
        line = reference_line(1, sources["s1"]).replace(", read", f", {places}, read")
        return check_references(f"A sentence [1].\n\n## Sources\n\n{line}", sources, quotes)

    assert check("chapter x; " * 180_000) == ["names more places of source 1 than are quoted"]
    assert check(", ".join("x" for _ in range(longest // 3)))
    assert check("; ".join("x" for _ in range(longest // 3)))


async def make_bundle(file: Path, kind: str = "page") -> str:
    """A report that cites two pages of a document; gives its text."""
    vault = MemoryVault(Still())
    url = "https://wells.example/report.pdf"
    await ask(vault, [url])
    document = make_pdf(*LEAVES)
    await fetch(vault, 1, url, document)
    text, pages = join_pages()
    parts = tuple(part._replace(name=part.name.replace("page", kind)) for part in pages)
    source = make_source(await vault.put(document), await vault.put(text.encode()), parts)
    await record_source(vault, source)
    quotes = {}
    for number, leaf in enumerate((LEAVES[2], LEAVES[3]), 1):
        start = text.index(leaf)
        quotes[f"e{number}"] = make_quote(f"e{number}", source, text, start, start + len(leaf))
        await record_quote(vault, quotes[f"e{number}"])
    draft = "# Wells\n\nThe Kessel well has 12 steps [e1]. It was dug in 1890 by hand [e2]."
    report = await write(vault, draft, quotes, {"s1": source})
    assert check_references(report, {"s1": source}, quotes) == []
    wrong = report.replace("s 3, 4", "s 3, 7")
    assert check_references(wrong, {"s1": source}, quotes) == [f"names {kind} 7 of source 1, of which nothing is quoted"]
    await write_bundle(vault, file)
    return report


async def test_a_report_names_the_pages_and_verifies(tmp_path: Path):
    report = await make_bundle(tmp_path / "b.zip")
    assert "1. [Wells](https://wells.example/report.pdf), pages 3, 4, read 2 January 2026, 03:04 UTC, sha256" in report
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


async def test_slides_are_cited_in_every_format(tmp_path: Path):
    bundle = tmp_path / "b.zip"
    report = await make_bundle(bundle, "slide")
    assert "[Wells](https://wells.example/report.pdf), slides 3, 4, read 2 January 2026, 03:04 UTC, sha256" in report
    assert verify_bundle(bundle).ok
    assert "slides 3, 4" in export_bundle(bundle, "md").decode()
    assert "slide 3, characters 21 to 50" in export_bundle(bundle, "html").decode()
    bibtex = export_bundle(bundle, "bib").decode()
    assert "  note = {slides 3, 4. sha256 " in bibtex
    assert "pages =" not in bibtex
    (item,) = json.loads(export_bundle(bundle, "json"))
    assert item["note"].startswith("slides 3, 4. sha256 ")
    for format in ("docx", "pdf"):
        (tmp_path / f"b.{format}").write_bytes(export_bundle(bundle, format))
        page = read_page((tmp_path / f"b.{format}").read_bytes(), "application/pdf", 60) if format == "pdf" else None
        words = page.text if page else zipfile.ZipFile(tmp_path / "b.docx").read("word/document.xml").decode()
        assert "slide 3, characters 21 to 50" in " ".join(words.split())


async def test_a_report_that_names_another_place_does_not_verify(tmp_path: Path):
    """The list of sources has to name the quoted places: all of them, and no others."""
    bundle = tmp_path / "b.zip"
    report = await make_bundle(bundle)
    told = evidence_in(bundle)
    for wrong in ("page 3", "pages 3, 4, 4", "pages 4, 3", "pages 3 to 4"):
        changed = report.replace("pages 3, 4", wrong)
        claims = list(told.claims.values())
        assert compare_numbered(changed, claims, told.quotes, told.sources, (), of_quotes=False), wrong
    assert compare_numbered(report, list(told.claims.values()), told.quotes, told.sources, (), of_quotes=False) == []


def evidence_in(bundle: Path) -> Evidence:
    with BundleReader(bundle) as reader:
        return read_evidence(reader.entries())


async def test_the_server_names_the_place_of_each_quote(tmp_path: Path):
    report = await make_bundle(tmp_path / "b.zip")
    with BundleReader(tmp_path / "b.zip") as reader:
        entries = reader.entries()
    shown = report_wire(entries, story_of(entries), evidence_in(tmp_path / "b.zip"), report)
    assert [(quote["place"], quote["passage"]) for quote in shown["quotes"]] == [("page 3", None), ("page 4", None)]
    assert shown["references"] == ["s1"], "a line with places is still that of its source"
    ReportResponse.model_validate(shown)
