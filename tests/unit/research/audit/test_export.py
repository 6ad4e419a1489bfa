"""A research as documents: what a reader sees, and what a hostile page cannot do to it."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import docx
import pypdf
import pytest
from tests.unit.research.audit.trails import ask, fetch, write, write_quotes

from stepwell.errors import BundleError, ConfigurationError
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.evidence import Source
from stepwell.research.audit.exchanges.refusals import record_refusal
from stepwell.research.audit.export import FORMATS, export_bundle, format_of
from stepwell.research.audit.export.markdown import blocks, spans
from stepwell.research.audit.ledger import record_quote, record_source
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.quoting import make_quote
from stepwell.research.audit.trail import NewEntry
from stepwell.research.commands import arguments
from stepwell.research.http.evidence_schemas import MEDIA_TYPES

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HOSTILE = '<script>alert(1)</script> "quoted" & \u202eturned \x1b[2J'
URL = "https://wells.example/a?b=1&c=<x>"


class Still:
    def now(self) -> datetime:
        return NOW


async def make_bundle(file: Path, text: str = "The well has 12 steps. Καλημέρα Дом 水.", *, mode: str = "written") -> Path:
    vault = MemoryVault(Still())
    query = f"How deep? {HOSTILE}"
    said = {"output": "duckduckgo found 1 result.", "reason": HOSTILE, "policy": b"# Policy\n\n- **J1** Be kind <b>\n"}
    await ask(vault, [HOSTILE], query, mode=mode, tool="web_search", **said)
    await fetch(vault, 1, "https://duckduckgo.example/", b"found", why="search:duckduckgo")
    await fetch(vault, 1, URL, text.encode())
    await record_refusal(vault, "q1:r2", url="https://closed.example/", step="q1:1", rule="robots", reason="No programs.")
    body = await vault.put(text.encode())
    source = Source(
        "s1", "web", URL, URL, f"Wells {HOSTILE}", "text/plain", 200, NOW.isoformat(), body, body, "duckduckgo", "n/a"
    )
    await record_source(vault, source)
    quote = make_quote("e1", source, text, 0, len(text))
    await record_quote(vault, quote)
    if mode == "extractive":
        await write_quotes(vault, {"e1": quote}, {"s1": source})
    else:
        draft = "# Wells\n\nThe well has 12 steps [e1]. It has 900 windows [e1].\n\n- Καλημέρα Дом 水 [e1]."
        await write(vault, draft, {"e1": quote}, {"s1": source}, query)
    await write_bundle(vault, file)
    return file


@pytest.fixture
async def bundle(tmp_path: Path) -> Path:
    return await make_bundle(tmp_path / "b.zip")


class Page(HTMLParser):
    """Tags, attributes and visible text of a page; every tag that is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_report_claims_sources_plan_policy_and_receipt(bundle: Path):
    page = Page(export_bundle(bundle, "html").decode())
    for part in (
        "The well has 12 steps",
        "Word for word or nearly",
        "How many of 100 such sentences are true",
        "Not in its source",
        "Be kind",
        "2 requests, ",
        "1 request was refused and not sent.",
        "robots: No programs.",
        "Καλημέρα Дом 水",
    ):
        assert part in page.text
    assert page.text.count("2 January 2026, 03:04 UTC") >= 3, "when it was asked, approved and read"
    assert "fetched" not in page.text
    assert page.tags.count("details") >= 2, "quotes open on demand"
    assert "duckduckgo found 1 result." in page.text


def test_nothing_of_a_page_or_a_model_becomes_markup(bundle: Path):
    content = export_bundle(bundle, "html").decode()
    page = Page(content)
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in content
    assert "\x1b" not in content
    assert not [value for _, name, value in page.attributes if name.startswith("on")]
    assert all((value or "").startswith(("https://", "http://", "#")) for _, name, value in page.attributes if name == "href")


def test_the_page_needs_and_asks_for_nothing_else(bundle: Path):
    page = Page(export_bundle(bundle, "html").decode())
    assert not {"link", "img", "iframe", "object", "form", "input", "video"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name in ("src", "srcset", "style", "ping")]
    [policy] = [value for _, name, value in page.attributes if name == "content" and "default-src" in (value or "")]
    assert "default-src 'none'" in str(policy)


def test_the_page_can_be_walked_through_with_a_reader(bundle: Path):
    page = Page(export_bundle(bundle, "html").decode())
    ids = {value for _, name, value in page.attributes if name == "id"}
    inner = {str(value)[1:] for _, name, value in page.attributes if name == "href" and str(value).startswith("#")}
    assert inner <= ids, "every reference inside the page leads somewhere"
    assert {"main", "nav", "header", "footer", "caption", "title"} <= set(page.tags)
    assert ("html", "lang", "en") in page.attributes


def test_the_pdf_has_the_text_and_says_what_it_cannot_show(bundle: Path):
    reader = pypdf.PdfReader(io.BytesIO(export_bundle(bundle, "pdf")))
    text = "\n".join(page.extract_text() for page in reader.pages)
    assert "The well has 12 steps" in text
    assert "Καλημέρα Дом" in text, "Greek and Cyrillic are in the embedded font"
    assert "水" not in text
    assert "characters of this document are of scripts that it cannot show" in text
    assert "<script>alert(1)</script>" in text
    links = [
        note.get_object()["/A"]["/URI"]
        for page in reader.pages
        for note in page.get("/Annots", [])
        if "/A" in note.get_object()
    ]
    assert links
    assert all(link.startswith("https://wells.example/") for link in links)
    fonts = {str(font.get_object()["/BaseFont"]) for page in reader.pages for font in page["/Resources"]["/Font"].values()}
    assert any("FiraGO" in name and "+" in name for name in fonts), "a subset of the font is embedded"


async def test_a_pdf_that_shows_everything_has_no_such_note(tmp_path: Path):
    content = export_bundle(await make_bundle(tmp_path / "b.zip", "The well has 12 steps."), "pdf")
    text = pypdf.PdfReader(io.BytesIO(content)).pages[0].extract_text()
    assert "The well has 12 steps" in text


def test_the_docx_reads_back_with_its_links(bundle: Path):
    document = docx.Document(io.BytesIO(export_bundle(bundle, "docx")))
    text = "\n".join(paragraph.text for paragraph in document.paragraphs)
    assert "The well has 12 steps [1]." in text
    assert "Καλημέρα Дом 水" in text
    assert "<script>alert(1)</script>" in text
    assert "Not in its source" in text
    targets = {relation.target_ref for relation in document.part.rels.values() if relation.is_external}
    assert targets
    assert all(target.startswith("https://wells.example/") for target in targets)
    assert [cell.text for cell in document.tables[0].rows[1].cells][1].startswith("GET https://duckduckgo.example/")


def test_markdown_and_zip_are_the_stored_bytes(bundle: Path):
    assert export_bundle(bundle, "zip") == bundle.read_bytes()
    assert export_bundle(bundle, "md").startswith(b"# Wells\n")


def test_the_same_bundle_gives_the_same_bytes(bundle: Path):
    for form in ("html", "pdf", "md", "zip"):
        assert export_bundle(bundle, form) == export_bundle(bundle, form), form


async def test_a_report_without_a_writing_model_is_labelled_once_in_every_format(tmp_path: Path):
    file = await make_bundle(tmp_path / "b.zip", mode="extractive")
    label = "No model wrote this"
    assert export_bundle(file, "html").decode().count(label) == 1
    assert label in pypdf.PdfReader(io.BytesIO(export_bundle(file, "pdf"))).pages[0].extract_text()
    document = docx.Document(io.BytesIO(export_bundle(file, "docx")))
    assert label in "\n".join(paragraph.text for paragraph in document.paragraphs)


@pytest.mark.parametrize("form", FORMATS)
def test_a_changed_bundle_is_not_exported(bundle: Path, form: str):
    content = bytearray(bundle.read_bytes())
    content[content.index(b"12 steps")] ^= 1
    bundle.write_bytes(content)
    with pytest.raises(BundleError, match="does not hold"):
        export_bundle(bundle, form)  # type: ignore[arg-type]


async def test_a_research_that_has_not_ended_is_not_exported(tmp_path: Path):
    vault = MemoryVault(Still())
    await vault.append(
        NewEntry(
            "question", "deep:1", {"query": "How deep?", "mode": "deep", "policy_sha256": await vault.put(b"x"), "after": ""}
        )
    )
    await write_bundle(vault, tmp_path / "b.zip")
    with pytest.raises(BundleError, match="had not ended"):
        export_bundle(tmp_path / "b.zip", "html")


def test_the_format_follows_from_the_name():
    assert format_of(None, None) == "md"
    assert format_of(Path("a.PDF"), None) == "pdf"
    assert format_of(Path("a.txt"), "html") == "html"
    with pytest.raises(ConfigurationError, match="no format 'txt'"):
        format_of(Path("a.txt"), None)


def test_only_the_markdown_of_our_reports_is_read():
    lines = ["# A *b*", "", "> **Mind** this", "", "One [1, 2] and", "**two** \\*three\\*.", "", "- `code` <b>"]
    [heading, note, paragraph, item, numbered] = blocks("\n".join([*lines, "1. [Title \\[x\\]](https://a.example/b), read"]))
    assert (heading.kind, heading.level, heading.text) == ("heading", 1, "A b")
    assert (note.kind, note.text) == ("note", "Mind this")
    assert [span.style for span in paragraph.spans] == ["plain", "reference", "plain", "strong", "plain"]
    assert paragraph.text == "One [1, 2] and two *three*."
    assert item.text == "code <b>"
    assert numbered.level == 1
    assert (numbered.spans[0].text, numbered.spans[0].target) == ("Title [x]", "https://a.example/b")


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https://a b"])
def test_what_is_no_address_is_no_link(address: str):
    assert [span.style for span in spans(f"[x]({address})")] == ["plain"]


def test_long_patterns_do_not_take_for_ever():
    for text in ("*" * 50_000, "[" * 50_000, "`" * 50_001, "**a" * 20_000, "[a](" * 20_000):
        assert json.dumps("".join(span.text for span in spans(text)))


async def test_what_a_page_calls_itself_does_not_leave_its_field_in_bibtex(bundle: Path):
    entry = export_bundle(bundle, "bib").decode()
    bare = entry.replace("\\{", "").replace("\\}", "")
    assert bare.count("{") == bare.count("}")
    assert [line for line in entry.splitlines() if line.startswith("@")] == ["@online{wells_example_s1,"]


def test_every_place_that_names_the_formats_names_the_same():
    """The command line lists them without importing what makes them, and the server does not know who does."""
    assert arguments.FORMATS == FORMATS == tuple(MEDIA_TYPES)
