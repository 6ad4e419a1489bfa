"""The words of an HTML page in order, without any selection: used if trafilatura finds no article, and for search results.

It leaves out what no reader sees (scripts, styles, hidden elements) and knows nothing about layout.

Rule to keep: Python's own parser can take quadratic time or worse, so call `words_of` and `title_of` only where pages are read
(`reader_child`). `without_tags` may be called anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from html.parser import HTMLParser
from itertools import islice

_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "select", "textarea"})
_BLOCKS = frozenset({
    "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ul",
    "ol", "dl", "dt", "dd", "table", "tr", "br", "hr", "pre", "blockquote", "figure", "figcaption", "form", "title",
})  # fmt: skip
_SEPARATING = _BLOCKS | {"td", "th"}
_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]{0,20})(?:[\s/][^<>]{0,2000})?>|<![^<>]{0,2000}>")
_EMPTY = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
_MAX_BEFORE_TITLE = 300_000
_LONGEST_TITLE = 2_000
_MAX_TITLES = 20
"""How many opening tags we try. A page has one title; more are an attempt to keep us busy."""
_TITLES = tuple((re.compile(rf"<{name}\b[^>]{{0,500}}>", re.I), re.compile(rf"</{name}\b", re.I)) for name in ("title", "h1"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])", re.I)


def title_of(html: str) -> str:
    """The text of `<title>`, or of the first heading; empty if there is neither."""
    for opening, closing in _TITLES:
        for begin in islice(opening.finditer(html, 0, _MAX_BEFORE_TITLE), _MAX_TITLES):
            end = closing.search(html, begin.end(), begin.end() + _LONGEST_TITLE)
            text = words_of(f"<p>{html[begin.end() : end.start()]}</p>") if end else ""
            if text:
                return " ".join(text.split())
    return ""


def without_tags(text: str) -> str:
    """An excerpt without its markup; tags that separate words become a space."""
    return unescape(_TAG.sub(lambda tag: " " if (tag[1] or "").lower() in _SEPARATING else "", text))


def words_of(html: str) -> str:
    """The visible text, one line per block."""
    reader = _Words()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent: list[str] = []
        """The element that is not shown, and elements of the same name inside it."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent:
            if tag == self._silent[0]:
                self._silent.append(tag)
        elif tag not in _EMPTY and (tag in _SILENT or is_hidden(dict(attrs))):
            self._silent = [tag]
        elif tag in _BLOCKS:
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            if tag == self._silent[0]:
                self._silent.pop()
            elif tag == "html":
                self._silent = []
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data.replace("\n", " "))


def is_hidden(attributes: Mapping[str, str | None]) -> bool:
    """Whether an element's own attributes hide it."""
    return (
        "hidden" in attributes or attributes.get("aria-hidden") == "true" or bool(_HIDDEN.search(attributes.get("style") or ""))
    )
