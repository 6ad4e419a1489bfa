"""The frame of a word: the words of meaning on both sides of it. Where a claim and a quote agree on a frame and not on what stands in it,
something was replaced: "the mill was *burnt* in 1890", "the mill was *bought* in 1890".

A frame has two sides, and the beginning or end of a clause is a side too; at least one of the two must be a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.audit.facts.words import Word, fold, is_function, stem, words

EDGE = ""
_MARKS = ".,;:!?()–—"


@dataclass(frozen=True, slots=True)
class Framed:
    """A stretch of a sentence and the words of meaning beside it; `EDGE` where its clause begins or ends."""

    start: int
    end: int
    left: str
    right: str

    def fits(self, other: Framed) -> bool:
        return (self.left, self.right) == (other.left, other.right) and (self.left, self.right) != (EDGE, EDGE)


def frame(text: str, start: int, end: int, own: Sequence[Word] | None = None) -> Framed:
    """The frame of a stretch of a text. `own` are its words of meaning, where the caller has them already."""
    spoken = own if own is not None else meant(text)
    before = next((word for word in reversed(spoken) if word.end <= start), None)
    after = next((word for word in spoken if word.start >= end), None)
    left = EDGE if before is None or _is_cut(text, before.end, start) else key(before.text)
    right = EDGE if after is None or _is_cut(text, end, after.start) else key(after.text)
    return Framed(start, end, left, right)


def find_replaced(text: str, word: Word, quotes: Sequence[str]) -> str:
    """The word that stands in a quote where the claim has this one; empty if no quote has the frame. An edge is no frame for a word: too
    much begins and ends alike."""
    own = meant(text)
    here = frame(text, word.start, word.end, own)
    if EDGE in (here.left, here.right):
        return ""
    spoken = {key(each.text) for each in own}
    for quote in quotes:
        theirs = meant(quote)
        for before, each, after in zip(theirs, theirs[1:], theirs[2:], strict=False):
            if (key(before.text), key(after.text)) == (here.left, here.right) and key(each.text) not in spoken:
                return each.text
    return ""


def meant(text: str) -> list[Word]:
    return [word for word in words(text) if not is_function(word.text)]


def key(word: str) -> str:
    return fold(word) if word[0].isdigit() else stem(word)


def _is_cut(text: str, start: int, end: int) -> bool:
    return any(mark in text[start:end] for mark in _MARKS)
