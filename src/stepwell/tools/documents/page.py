"""Extracts the text and title of a document, in the calling process. `reader_pool` calls it in a separate process.

A hostile document can make our parsers (lxml, trafilatura and pypdfium2) take any time and memory, so call nothing here where that would
matter. An extraction without words is a failure, never an empty page.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stepwell.errors import FetchFailedError, needs_extra
from stepwell.tools.documents.archive import Archive
from stepwell.tools.documents.content import decode_text, kind_of
from stepwell.tools.documents.formats.delimited import read_delimited
from stepwell.tools.documents.formats.epub import read_epub
from stepwell.tools.documents.formats.mail import read_mail, read_mailbox
from stepwell.tools.documents.formats.markdown import read_markdown
from stepwell.tools.documents.formats.markup import mark_structure, parse_html
from stepwell.tools.documents.formats.pdf import read_pdf
from stepwell.tools.documents.formats.records import read_json, read_json_lines
from stepwell.tools.documents.formats.sheets import read_workbook
from stepwell.tools.documents.formats.slides import read_slides
from stepwell.tools.documents.formats.word import read_word
from stepwell.tools.documents.kinds import ContentKind
from stepwell.tools.documents.parts import Part
from stepwell.tools.documents.pieces import MOST_CHARACTERS, Document, compose
from stepwell.tools.documents.plain_html import is_hidden, title_of, words_of
from stepwell.tools.documents.visible import normalise, one_line

_FEWEST_LETTERS = 2
_LONGEST_NOTE = 4_000
_HEADING = re.compile(r"#{1,6} ")
_SHARE = 0.7
"""The share of the time limit after which we stop reading a long document and return what was read, before the reader is killed."""


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


def read_page(content: bytes, content_type: str | None, timeout_s: float, name: str = "") -> PageText:
    """The text. Raises `FetchRefusedError` for a type that we do not read, `FetchFailedError` if the document has no text. The file's
    `name` decides where the type says nothing."""
    deadline = time.monotonic() + _SHARE * timeout_s
    kind, media_type = kind_of(content, content_type, name)
    if kind in ("html", "text"):
        title, text = _read_markup(kind, content, content_type)
        return _checked(PageText(media_type, one_line(title), normalise(text[:MOST_CHARACTERS])), "it may need a browser")
    document = _READERS[kind](content, content_type)
    composed = compose(document.pieces, deadline, MOST_CHARACTERS)
    notes = list(document.notes)
    if not composed.is_whole:
        where = f" The last part is {composed.parts[-1].name}." if composed.parts else ""
        notes.insert(0, f"Only the beginning was read, because it is very long.{where}")
    return _checked(
        PageText(media_type, one_line(document.title), composed.text, one_line(" ".join(notes), _LONGEST_NOTE), composed.parts),
        "it may consist of pictures",
    )


def _checked(page: PageText, why: str) -> PageText:
    if len(re.findall(r"\w", page.text[:1000])) < _FEWEST_LETTERS:
        raise FetchFailedError(f"The page was received, but there is no text in it ({why}).", "empty")
    return page


_READERS: dict[ContentKind, Callable[[bytes, str | None], Document]] = {
    "pdf": lambda content, _: read_pdf(content),
    "docx": lambda content, _: read_word(Archive(content)),
    "pptx": lambda content, _: read_slides(Archive(content)),
    "xlsx": lambda content, _: read_workbook(Archive(content)),
    "epub": lambda content, _: read_epub(Archive(content)),
    "csv": lambda content, said: read_delimited(decode_text(content, said, html=False)),
    "tsv": lambda content, said: read_delimited(decode_text(content, said, html=False), "\t"),
    "json": lambda content, said: read_json(decode_text(content, said, html=False)),
    "jsonl": lambda content, said: read_json_lines(decode_text(content, said, html=False)),
    "mail": lambda content, _: read_mail(content),
    "mbox": lambda content, _: read_mailbox(content),
    "markdown": lambda content, said: read_markdown(decode_text(content, said, html=False)),
}


def warm_up() -> None:
    """Load everything needed for reading, so that the first page does not wait for it."""
    _article("<html><body><p>Some words, so that everything is loaded once.</p></body></html>")
    with needs_extra("Reading PDF files", "research"):
        import pypdfium2  # type: ignore[import-untyped]  # noqa: F401  only loaded; ships without types


def _read_markup(kind: ContentKind, content: bytes, content_type: str | None) -> tuple[str, str]:
    text = decode_text(content, content_type, html=kind == "html")[:MOST_CHARACTERS]
    return ("", text) if kind == "text" else (title_of(text), _article(text) or words_of(text))


def _article(html: str) -> str:
    with needs_extra("Reading web pages", "research"):
        from trafilatura import extract
    tree = parse_html(html)
    if tree is None:
        return ""  # `words_of` still finds its words
    _drop_hidden(tree)
    rows = mark_structure(tree)
    # Recall before precision: a sentence that is left out cannot be quoted. We keep repeated text, or repeated numbers would be lost.
    found = extract(tree, include_comments=False, include_tables=True, favor_recall=True, deduplicate=False) or ""
    return "\n".join(f"\n{line}\n" if line in rows or _HEADING.match(line) else line for line in found.split("\n"))


def _drop_hidden(tree: Any) -> None:
    """Remove hidden elements: their text does not belong to the page's, but trafilatura's last resort would include it."""
    for element in list(tree.iter("*")):
        if is_hidden(dict(element.attrib)) and element.getparent() is not None and element.tag not in ("html", "body"):
            element.drop_tree()
