"""Cuts a text into sentences, with their offsets. It works in any language, because it uses only marks, capitals, line ends, and a list
of abbreviations.

A missing cut only gives a longer quote, but a cut in the middle of "Dr. Smith" or "3.5" destroys the meaning. So when in doubt we do not
cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_PASSAGE = 800
_WRAPPED_LINE = 60
"""A line of at least this length without a closing mark counts as wrapped (PDF); a shorter one as a heading or an item."""

# Each pattern matches only at the beginning of a run of its characters, not at every one: a page may contain a million dots.
_END = re.compile(r"(?<![.!?…。！？])[.!?…。！？]+[\"'”’»)\]]*(?=\s|$)|[。！？]")
_ITEMS = ("- ", "• ", "* ")
_LINES = re.compile(r"(?<![ \t])[ \t]*\n\s*")
_LAST_WORD = re.compile(r"([\w.'’-]+)$")
_ABBREVIATION_WORDS = (
    "dr mr mrs ms prof sr jr st mt no nos nr vol vols fig figs eq ch sec art pp ed eds al etc vs cf ca approx est dept gen col lt sgt "
    "rev hon gov sen rep pres inc ltd co corp bros univ jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun "
    "z.b bzw usw u.a d.h vgl abs bd hrsg jh mio mrd tel str evtl ggf inkl sog bspw p.ex env av apr.j.-c mme mlle m sra srta ud uds "
    "pág núm dott sig"
)
_ABBREVIATIONS = frozenset(_ABBREVIATION_WORDS.split())
_MONTHS = re.compile(
    r"(?:jan|feb|fév|mär|mar|apr|avr|may|mai|maj|jun|juin|jul|juil|aug|août|ago|sep|oct|okt|nov|dec|dez|déc|dic|ene)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text: `text == whole[start:end]`."""

    start: int
    end: int
    text: str


def passages(text: str) -> list[Passage]:
    """The sentences of a text in order, trimmed; none is longer than `MAX_PASSAGE`, unless a single word is."""
    found: list[Passage] = []
    start = 0
    for cut in [*_cuts(text), len(text)]:
        found += _trim(text, start, cut)
        start = cut
    return found


def cuts_a_word(text: str, offset: int) -> bool:
    """Whether an offset is inside a word or a number."""
    if not 0 < offset < len(text):
        return False
    before, after = text[offset - 1], text[offset]
    if before.isdigit() and after.isdigit():
        return True
    if _is_cased(before) and _is_cased(after):
        return True  # not for scripts without capitals: they often have no spaces, so a cut there means nothing
    if before.isdigit() and after in ".,'’" and text[offset + 1 : offset + 2].isdigit():
        return True
    if after.isdigit() and before in ".,'’" and text[offset - 2 : offset - 1].isdigit():
        return True
    return after.isdigit() and before in "-−+" and not text[offset - 2 : offset - 1].isalnum()


def _cuts(text: str) -> list[int]:
    """The offsets at which a sentence ends."""
    ends = {match.end() for match in _END.finditer(text) if _closes(text, match)}
    ends |= {match.start() for match in _LINES.finditer(text) if _separates(text, match)}
    return sorted(ends)


def _closes(text: str, mark: re.Match[str]) -> bool:
    after = text[mark.end() : mark.end() + 80].lstrip()[:12]
    if not after or mark.group()[0] in "。！？":
        return True
    if mark.group()[0] in "!?…" or mark.group()[:2] == "..":
        return not after[0].islower()
    if after[0].islower():
        return False
    before = _LAST_WORD.search(text, max(0, mark.start() - 24), mark.start())
    return before is None or not _is_abbreviation(before[1], after)


def _is_abbreviation(word: str, after: str) -> bool:
    bare = word.strip(".'’-").lower()
    if bare in _ABBREVIATIONS:
        return True
    if len(bare) == 1 and bare.isalpha() and word[-1].isupper():
        return True  # an initial
    if re.fullmatch(r"(?:\w\.)+\w", bare) and not after[0].isdigit():
        return after[0].islower()  # after "U.S." or "e.g." only the next word can tell
    return bare.isdigit() and len(bare) <= 2 and _MONTHS.match(after) is not None  # the 3. of March


def _separates(text: str, gap: re.Match[str]) -> bool:
    if gap.group().count("\n") > 1:
        return True
    after, line_start = text[gap.end() : gap.end() + 1], text.rfind("\n", 0, gap.start()) + 1
    if text[gap.end() : gap.end() + 2] in _ITEMS:
        return True
    if not after or after.islower():
        return False
    last = text[gap.start() - 1 : gap.start()]
    if last in "-,–—" and last:
        return False
    return last in ".!?…:;" or gap.start() - line_start < _WRAPPED_LINE


def _trim(text: str, start: int, end: int) -> Iterator[Passage]:
    while start < end:
        cut = end if end - start <= MAX_PASSAGE else _cut_inside(text, start, end)
        piece = text[start:cut]
        if bare := piece.strip():
            begin = start + piece.index(bare)
            yield Passage(begin, begin + len(bare), bare)
        start = cut


def _cut_inside(text: str, start: int, end: int) -> int:
    """Where to cut a passage that is too long: after a space if there is one, and never inside a word."""
    cut = max(text.rfind(mark, start + MAX_PASSAGE // 2, start + MAX_PASSAGE) for mark in "; \n") + 1
    if cut > start:
        return cut
    cut = start + MAX_PASSAGE
    while cut < end and cuts_a_word(text, cut):
        cut += 1
    return cut


def _is_cased(character: str) -> bool:
    return character.lower() != character.upper()
