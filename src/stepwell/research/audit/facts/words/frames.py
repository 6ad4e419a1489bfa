"""The frame of a word: the content words on both sides of it. If a claim and a quote have the same frame with something else in it, a
word was replaced: "the mill was *burnt* in 1890", "the mill was *bought* in 1890".

A frame has two sides, and the beginning or end of a clause counts as a side too; at least one of the two must be a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from stepwell.words import Word, fold, is_function, stem, words

EDGE = ""
_MARKS = ".,;:!?()–—"


@dataclass(frozen=True, slots=True)
class Framed:
    """A stretch of a sentence and the content words beside it; `EDGE` where its clause begins or ends."""

    start: int
    end: int
    left: str
    right: str

    def fits(self, other: Framed) -> bool:
        return (self.left, self.right) == (other.left, other.right) and (self.left, self.right) != (EDGE, EDGE)


def frame(text: str, start: int, end: int, own: Sequence[Word] | None = None) -> Framed:
    """The frame of a stretch of a text. `own` are its content words, if the caller has them already."""
    spoken = own if own is not None else meant(text)
    before = next((word for word in reversed(spoken) if word.end <= start), None)
    after = next((word for word in spoken if word.start >= end), None)
    left = EDGE if before is None or _is_cut(text, before.end, start) else key(before.text)
    right = EDGE if after is None or _is_cut(text, end, after.start) else key(after.text)
    return Framed(start, end, left, right)


def find_replaced(text: str, word: Word, quotes: Sequence[str]) -> str:
    """The word that stands in a quote where this word stands in the claim (the same frame); empty if no quote has that frame.

    Many clauses begin and end alike, so if one side is the edge of a clause, two words must agree on the other.
    """
    own = meant(text)
    here = _sides(text, own, own.index(word))
    spoken = {key(each.text) for each in own}
    for quote in quotes:
        theirs = meant(quote)
        for place, each in enumerate(theirs):
            if key(each.text) not in spoken and _is_same_place(here, _sides(quote, theirs, place)):
                return each.text
    return ""


_Sides = tuple[tuple[str, str], tuple[str, str]]


def _sides(text: str, own: Sequence[Word], place: int) -> _Sides:
    """The nearest and the next word on each side, within the clause."""
    left = _towards(text, own[max(0, place - 2) : place + 1][::-1])
    return left, _towards(text, own[place : place + 3])


def _towards(text: str, path: Sequence[Word]) -> tuple[str, str]:
    found: list[str] = []
    for one, two in pairwise(path):
        if _is_cut(text, min(one.end, two.end), max(one.start, two.start)):
            break
        found.append(key(two.text))
    return (*found, EDGE, EDGE)[0], (*found, EDGE, EDGE)[1]


def _is_same_place(here: _Sides, there: _Sides) -> bool:
    (left, further_left), (right, further_right) = here
    if (left, right) != (there[0][0], there[1][0]):
        return False
    if left != EDGE and right != EDGE:
        return True
    nearest, further = (right, (further_right, there[1][1])) if left == EDGE else (left, (further_left, there[0][1]))
    return nearest != EDGE and further[0] == further[1] != EDGE


def meant(text: str) -> list[Word]:
    return [word for word in words(text) if not is_function(word.text)]


def key(word: str) -> str:
    return fold(word) if word[0].isdigit() else stem(word)


def _is_cut(text: str, start: int, end: int) -> bool:
    return any(mark in text[start:end] for mark in _MARKS)
