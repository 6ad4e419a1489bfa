"""Extracts the text and title of a page, in the calling process. `reader_pool` calls it in a separate process.

A hostile page can make our parsers (lxml, trafilatura and pypdf) take any time and memory, so call nothing here where that would
matter. An extraction without words is a failure, never an empty page.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.errors import FetchFailedError, needs_extra
from stepwell.tools.documents.content import ContentKind, decode_text, kind_of
from stepwell.tools.documents.parts import Part
from stepwell.tools.documents.plain_html import is_hidden, title_of, words_of
from stepwell.tools.documents.visible import normalise, one_line

MOST_PDF_PAGES = 300
MOST_CHARACTERS = 4_000_000
_FEWEST_LETTERS = 2
_SHARE_FOR_PDF = 0.8
"""The share of the time limit after which we stop reading a long PDF and return what was read, before the reader is killed."""


@dataclass(frozen=True)
class PageText:
    """What a reader would see."""

    media_type: str
    title: str
    text: str
    note: str = ""
    """What was left out, in one sentence."""
    parts: tuple[Part, ...] = ()
    """Pages of a PDF, slides, rows of sheets, messages; empty for a text without parts."""


def read_page(content: bytes, content_type: str | None, timeout_s: float) -> PageText:
    """The text. Raises `FetchRefusedError` for a type that we do not read, `FetchFailedError` if the page has no text."""
    deadline = time.monotonic() + _SHARE_FOR_PDF * timeout_s
    kind, media_type = kind_of(content, content_type)
    parts: tuple[Part, ...] = ()
    note = ""
    if kind == "pdf":
        title, leaves, note = _read_pdf(content, deadline)
        text, parts = join_pages(leaves)
    else:
        title, text = _read_markup(kind, content, content_type)
        text = normalise(text[:MOST_CHARACTERS])
    if len(re.findall(r"\w", text[:1000])) < _FEWEST_LETTERS:
        raise FetchFailedError("The page was received, but there is no text in it (it may need a browser).", "empty")
    return PageText(media_type, one_line(title), text, note, parts)


def join_pages(leaves: Sequence[str]) -> tuple[str, tuple[Part, ...]]:
    """One normalised text, and where each page begins in it. A page without words begins where the next one does."""
    parts, begins, length = [], [], 0
    for leaf in map(normalise, leaves):
        begins.append(length)
        if leaf:
            parts.append(leaf)
            length += len(leaf) + 2
    text = "\n\n".join(parts)[:MOST_CHARACTERS].rstrip()
    return text, tuple(Part(begin, f"page {number}") for number, begin in enumerate(begins, 1) if begin <= len(text))


def warm_up() -> None:
    """Load everything needed for reading, so that the first page does not wait for it."""
    _article("<html><body><p>Some words, so that everything is loaded once.</p></body></html>")
    with needs_extra("Reading PDF files", "research"):
        import pypdf  # noqa: F401  only loaded


def _read_markup(kind: ContentKind, content: bytes, content_type: str | None) -> tuple[str, str]:
    text = decode_text(content, content_type, html=kind == "html")[:MOST_CHARACTERS]
    return ("", text) if kind == "text" else (title_of(text), _article(text) or words_of(text))


def _article(html: str) -> str:
    with needs_extra("Reading web pages", "research"):
        from lxml import etree  # type: ignore[import-untyped]  # lxml ships without types
        from lxml.html import HTMLParser, document_fromstring  # type: ignore[import-untyped]  # the same
        from trafilatura import extract
    if not html.strip():
        return ""
    try:
        tree = document_fromstring(html.encode("utf-8", "replace"), parser=HTMLParser(encoding="utf-8"))
    except (etree.LxmlError, ValueError, AssertionError):
        return ""  # it has no tree; `words_of` still finds its words
    _drop_hidden(tree)
    # Recall before precision: a sentence that is left out cannot be quoted. We keep repeated text, or repeated numbers would be lost.
    return extract(tree, include_comments=False, include_tables=True, favor_recall=True, deduplicate=False) or ""


def _drop_hidden(tree: Any) -> None:
    """Remove hidden elements: their text does not belong to the page's, but trafilatura's last resort would include it."""
    for element in list(tree.iter("*")):
        if is_hidden(dict(element.attrib)) and element.getparent() is not None and element.tag not in ("html", "body"):
            element.drop_tree()


def _read_pdf(content: bytes, deadline: float) -> tuple[str, list[str], str]:
    with needs_extra("Reading PDF files", "research"):
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    try:
        reader = PdfReader(io.BytesIO(content), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise FetchFailedError("The PDF is locked with a password.", "unreadable")
        pages = list(_pdf_pages(reader, deadline))
        count = len(reader.pages)
        title = str(reader.metadata.title or "") if reader.metadata else ""
    except FetchFailedError:
        raise
    except (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, OSError) as error:
        # Which error pypdf raises for a damaged file depends on where the damage is.
        raise FetchFailedError(f"The PDF is damaged: {type(error).__name__}.", "unreadable") from error
    note = f"Only the first {len(pages)} of {count} pages were read." if len(pages) < count else ""
    return title, pages, note


def _pdf_pages(reader: Any, deadline: float) -> Iterator[str]:
    length = 0
    for number, page in enumerate(reader.pages):
        if number >= MOST_PDF_PAGES or length > MOST_CHARACTERS or time.monotonic() > deadline:
            return
        text = page.extract_text()
        length += len(text)
        yield text
