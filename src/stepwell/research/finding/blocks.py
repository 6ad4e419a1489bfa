"""Cuts documents into blocks: some paragraphs of one section, some rows of one table, a slide, a message.

A block stays within its section and its part of the document (page, slide, sheet, message), unless that is very short, and is cut only
between paragraphs, rows or sentences. It carries the title of its document and the headings above it, because a paragraph often does not
repeat what it is about.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stepwell.research.audit.sentences import passages
from stepwell.tools.documents.parts import Part

MAX_CHARACTERS = 1_000
"""About as much as an embedder reads: it would compare only the beginning of a longer block."""
_FEWEST = 250
"""A smaller block takes in what follows too, if there is room: the next section, slide or message."""
_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_LONGEST_HEADING = 200
_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n(?![ \t]*(?:\n|$|#{1,6} ))[^\n]*)*")
_SHORT_LINE = 80
_CLOSED = re.compile(r"[.!?…:;,。！？\-–][\"'”’»)\]]*$")


def readable_name(name: str) -> str:
    """A file's name, without its extension, as words: `sales_plan-2026` becomes `sales plan 2026`. A title stays as it is."""
    return name if " " in name else " ".join(name.replace("_", " ").replace("-", " ").split())


@dataclass(frozen=True, slots=True)
class Block:
    """Part of a document's text: `text == whole[start:end]`."""

    source_id: str
    start: int
    end: int
    text: str
    title: str = ""
    section: str = ""

    @property
    def in_context(self) -> str:
        """The text below its title and headings, for comparing it with a question."""
        above = ". ".join(dict.fromkeys(each for each in (self.title, self.section) if each))
        return f"{above}. {self.text}" if above else self.text


@dataclass(frozen=True, slots=True)
class _Piece:
    """Something that is not cut: a paragraph, or a sentence of a long one."""

    start: int
    end: int
    section: str
    part: str


def cut_blocks(
    source_id: str, text: str, *, title: str = "", parts: Sequence[Part] = (), most: int = MAX_CHARACTERS
) -> list[Block]:
    """The blocks of a document in order, each at most `most` characters long, unless a single sentence or row is longer."""
    pieces = [piece for paragraph in _paragraphs(text, parts) for piece in _pieces(text, paragraph, most)]
    return [
        Block(source_id, packed[0].start, packed[-1].end, text[packed[0].start : packed[-1].end], title, packed[0].section)
        for packed in _pack(pieces, most)
    ]


def _paragraphs(text: str, parts: Sequence[Part]) -> Iterator[_Piece]:
    """Paragraphs with their headings. A heading with nothing below it, such as the only words of a slide, counts as a paragraph."""
    headings: list[tuple[int, str]] = []
    bare: _Piece | None = None  # the newest heading, as long as nothing stands below it
    for start, end in _spans(text):
        heading = _HEADING.fullmatch(text, start, end)
        level, words = (len(heading[1]), heading[2]) if heading else (6, text[start:end])
        if heading or _looks_like_a_heading(text, start, end):
            if bare is not None and level <= headings[-1][0]:
                yield bare
            headings = [*(each for each in headings if each[0] < level), (level, words.strip()[:_LONGEST_HEADING])]
            above = " > ".join(each for _, each in headings[:-1])
            bare = _Piece(heading.start(2) if heading else start, end, above, _part_at(parts, start))
        else:
            bare = None
            yield _Piece(start, end, " > ".join(each for _, each in headings), _part_at(parts, start))
    if bare is not None:
        yield bare


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs, and lines that look like headings inside them: a PDF has no blank lines."""
    for found in _PARAGRAPH.finditer(text):
        start, end = found.span()
        line_start = start
        for line_end in [*(start + at.start() for at in re.finditer("\n", found.group())), end]:
            if line_start != start or line_end != end:
                is_heading = _HEADING.match(text, line_start, line_end) or (
                    _begins_anew(text, line_start) and _looks_like_a_heading(text, line_start, line_end)
                )
                if is_heading:
                    if line_start > start:
                        yield start, line_start - 1
                    yield line_start, line_end
                    start = line_end + 1
            line_start = line_end + 1
        if start < end:
            yield start, end


def _begins_anew(text: str, start: int) -> bool:
    """Whether the line before this one ends a sentence, or there is none."""
    before = text[max(0, start - 4) : start].rstrip()
    return not before or _CLOSED.search(before) is not None


def _looks_like_a_heading(text: str, start: int, end: int) -> bool:
    """Whether a line is short, begins with a capital, is no sentence, and has text below it."""
    line = text[start:end]
    if len(line) > _SHORT_LINE or "\n" in line or ": " in line or not line[:1].isupper() or _CLOSED.search(line):
        return False
    below = text[end : end + 200].lstrip()
    return len(line.split()) <= 10 and bool(below) and len(below.split("\n", 1)[0]) > len(line) // 2


def _part_at(parts: Sequence[Part], offset: int) -> str:
    at = bisect_right(parts, offset, key=lambda part: part.start) - 1
    return parts[at].name if at >= 0 else ""


def _pieces(text: str, paragraph: _Piece, most: int) -> Iterator[_Piece]:
    start, end = paragraph.start, len(text[paragraph.start : paragraph.end].rstrip()) + paragraph.start
    if end - start <= most:
        yield _Piece(start, end, paragraph.section, paragraph.part)
        return
    for sentence in passages(text[start:end]):
        yield _Piece(start + sentence.start, start + sentence.end, paragraph.section, paragraph.part)


def _pack(pieces: Iterable[_Piece], most: int) -> Iterator[list[_Piece]]:
    """Joins neighbouring pieces of one part and section up to the limit."""
    packed: list[_Piece] = []
    for piece in pieces:
        if packed and not _fits(packed, piece, most):
            yield packed
            packed = []
        packed.append(piece)
    if packed:
        yield packed


def _fits(packed: Sequence[_Piece], piece: _Piece, most: int) -> bool:
    first, last = packed[0], packed[-1]
    if piece.end - first.start > most:
        return False
    if piece.part == first.part and piece.section == last.section:
        return True
    return _kind(piece.part) == _kind(first.part) and last.end - first.start < _FEWEST


def _kind(part: str) -> str:
    """`message` for `message 4 (Ann Lee)`."""
    return part.partition(" ")[0]
