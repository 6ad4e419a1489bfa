"""Bytes of a page to its text and title. In a thread, with limits: a page is somebody else's program for our parsers.

A thread cannot be ended from outside; what is read is bounded in size and pages instead, and the time-out only frees the
caller. An extraction that gives no words is a failure, never an empty page.
"""

from __future__ import annotations

import asyncio
import io
import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from stepwell.errors import FetchFailedError, MissingExtraError
from stepwell.tools.web.content import Kind, decoded, kind_of
from stepwell.tools.web.plain_html import is_hidden, title_of, words_of
from stepwell.tools.web.visible import one_line, settled

MOST_PDF_PAGES = 300
_MOST_CHARACTERS = 4_000_000
_FEWEST_LETTERS = 2


@dataclass(frozen=True)
class PageText:
    """What a reader would see."""

    media_type: str
    title: str
    text: str
    note: str = ""
    """What was left out, in a sentence."""


async def read_page(content: bytes, content_type: str | None, timeout_s: float = 20.0) -> PageText:
    """The text; `FetchRefusedError` for a type that is not read, `FetchFailedError` when there is none in it."""
    kind, media_type = kind_of(content, content_type)
    try:
        async with asyncio.timeout(timeout_s):
            title, text, note = await asyncio.to_thread(_read, kind, content, content_type, time.monotonic() + timeout_s)
    except TimeoutError as error:
        raise FetchFailedError(f"Reading the page took longer than {timeout_s:g} s.", "time") from error
    except RecursionError as error:
        raise FetchFailedError("The page is nested too deeply to be read.", "unreadable") from error
    text = settled(text[:_MOST_CHARACTERS])
    if len(re.findall(r"\w", text[:1000])) < _FEWEST_LETTERS:
        raise FetchFailedError("The page came, but there is no text in it (it may need a browser).", "empty")
    return PageText(media_type, one_line(title), text, note)


def _read(kind: Kind, content: bytes, content_type: str | None, deadline: float) -> tuple[str, str, str]:
    if kind == "pdf":
        return _read_pdf(content, deadline)
    text = decoded(content, content_type, html=kind == "html")[:_MOST_CHARACTERS]
    if kind == "text":
        return "", text, ""
    return title_of(text), _article(text) or words_of(text), ""


def _article(html: str) -> str:
    try:
        from lxml import etree  # type: ignore[import-untyped]  # lxml ships without types
        from lxml.html import HTMLParser, document_fromstring  # type: ignore[import-untyped]  # the same
        from trafilatura import extract
    except ImportError as error:
        raise MissingExtraError("Reading web pages", "research") from error
    if not html.strip():
        return ""
    try:
        tree = document_fromstring(html.encode("utf-8", "replace"), parser=HTMLParser(encoding="utf-8"))
    except (etree.LxmlError, ValueError, AssertionError):
        return ""  # nothing that has a tree; `words_of` still finds its words
    _drop_hidden(tree)
    # Recall before precision: a sentence that is left out cannot be quoted. Repeated text stays, so that numbers do.
    return extract(tree, include_comments=False, include_tables=True, favor_recall=True, deduplicate=False) or ""


def _drop_hidden(tree: Any) -> None:
    """What no reader sees is not the page's text: trafilatura's last resort takes it along."""
    for element in list(tree.iter("*")):
        if is_hidden(dict(element.attrib)) and element.getparent() is not None and element.tag not in ("html", "body"):
            element.drop_tree()


def _read_pdf(content: bytes, deadline: float) -> tuple[str, str, str]:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MissingExtraError("Reading PDF files", "research") from error
    with _quiet("pypdf"):
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
            # What pypdf raises for a damaged file depends on where the damage is.
            raise FetchFailedError(f"The PDF is damaged: {type(error).__name__}.", "unreadable") from error
    note = f"Only the first {len(pages)} of {count} pages were read." if len(pages) < count else ""
    return title, "\n\n".join(pages), note


def _pdf_pages(reader: Any, deadline: float) -> Iterator[str]:
    length = 0
    for number, page in enumerate(reader.pages):
        if number >= MOST_PDF_PAGES or length > _MOST_CHARACTERS or time.monotonic() > deadline:
            return
        text = page.extract_text()
        length += len(text)
        yield text


@contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """Damaged files make pypdf log a line for each fault; the caller gets one sentence."""
    quiet, log = _Silence(), logging.getLogger(logger)
    log.addFilter(quiet)
    try:
        yield
    finally:
        log.removeFilter(quiet)


class _Silence(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return False
