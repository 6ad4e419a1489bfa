"""Parses the Markdown of our own reports, and no other Markdown, for export to other formats.

Blocks: headings, paragraphs, list items, numbered lines, notes (`>`). Inside: `*emphasis*`, `**strong**`, `` `code` ``, links
to http and https, escapes, and references such as `[1, 2]`. Everything else is text, so nothing from a page can become markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stepwell.research.audit.export.dossier import clean

BlockKind = Literal["heading", "paragraph", "item", "numbered", "note"]
Style = Literal["plain", "emphasis", "strong", "code", "link", "reference"]

_HEADING = re.compile(r"(#{1,6}) ++(.*)")
_ITEM = re.compile(r"[-*] ++(.*)")
_NUMBERED = re.compile(r"(\d{1,4})\. ++(.*)")
_NOTE = re.compile(r"> ++(.*)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_INLINE = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|\[(?P<label>(?:\\.|[^\\\[\]])*)\]\((?P<address>https?://[^\s()<>]+)\)"
    r"|\[(?P<reference>\d{1,4}(?:, \d{1,4})*)\]"
    r"|\*\*(?P<strong>[^\s*](?:[^*]*[^\s*])?)\*\*"
    r"|\*(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)\*"
    r"|`(?P<code>[^`]+)`"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text in one style. `target` is a link's address."""

    text: str
    style: Style = "plain"
    target: str = ""

    @property
    def numbers(self) -> list[str]:
        """The sources that a reference names."""
        return self.text.split(", ")


@dataclass(frozen=True, slots=True)
class Block:
    kind: BlockKind
    spans: tuple[Span, ...]
    level: int = 0
    """For a heading: 1 to 6. For a numbered line: its number."""

    @property
    def text(self) -> str:
        return "".join(f"[{span.text}]" if span.style == "reference" else span.text for span in self.spans)


def blocks(markdown: str) -> list[Block]:
    """The blocks of a report, in order."""
    found: list[Block] = []
    waiting: list[str] = []
    for line in [*clean(markdown).split("\n"), ""]:
        block = _own_line(line.strip())
        if waiting and (block or not line.strip()):
            found.append(Block("paragraph", spans(" ".join(waiting))))
            waiting = []
        if block:
            found.append(block)
        elif line.strip():
            waiting.append(line.strip())
    return found


def spans(text: str) -> tuple[Span, ...]:
    """The runs of a line; adjacent runs of one style are joined."""
    joined: list[Span] = []
    for span in _runs(text):
        if joined and span.style == joined[-1].style == "plain":
            joined[-1] = Span(joined[-1].text + span.text)
        elif span.text:
            joined.append(span)
    return tuple(joined)


def _own_line(line: str) -> Block | None:
    if match := _HEADING.fullmatch(line):
        return Block("heading", spans(match[2]), len(match[1]))
    if match := _ITEM.fullmatch(line):
        return Block("item", spans(match[1]))
    if match := _NUMBERED.fullmatch(line):
        return Block("numbered", spans(match[2]), int(match[1]))
    if match := _NOTE.fullmatch(line):
        return Block("note", spans(match[1]))
    return None


def _runs(text: str) -> Iterator[Span]:
    place = 0
    for match in _INLINE.finditer(text):
        yield Span(text[place : match.start()])
        yield _span(match)
        place = match.end()
    yield Span(text[place:])


def _span(match: re.Match[str]) -> Span:
    if match["escape"]:
        return Span(match["escape"][1])
    if match["address"]:
        return Span(unescape(match["label"]) or match["address"], "link", match["address"])
    if match["reference"]:
        return Span(match["reference"], "reference")
    if match["strong"]:
        return Span(unescape(match["strong"]), "strong")
    if match["emphasis"]:
        return Span(unescape(match["emphasis"]), "emphasis")
    return Span(match["code"], "code")


def unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
