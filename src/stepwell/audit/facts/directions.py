"""Words that turn a statement round: more and less, before and after; and words that widen or narrow it.

A claim that says *rose* where its quote says *fell* is contradicted; one that says *all* where the quote does not says more than its
quote. What is denied, or only may be so, is `negations`' and `hedges`'.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from stepwell.audit.facts.opposites import LOOSE, STRICT
from stepwell.audit.facts.words import fold, stem, words

_ALL = (*STRICT, *LOOSE)
_PHRASES = (
    (r"\b(?:switch|turn)\w* on\b", r"\b(?:switch|turn)\w* off\b"),
    (r"\bboth\b(?!\s+[^.,;]*\band\b)", r"\bonly one\b|\bneither\b|\bnot both\b"),
)
"""What is said in more than one word."""


def _sides(form: Callable[[str], str]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for number, sides in enumerate(_ALL):
        for sign, side in zip((1, -1), sides, strict=True):
            for word in side.split():
                found.setdefault(form(word), []).append((number, sign))
    return found


_STEMS, _EXACT = _sides(stem), _sides(fold)
_STRONG_WORDS = (
    "all every always never none only half twice double triple quarter entire entirely exclusively majority most first last unique "
    "whole wholly sole solely everyone everybody everything anyone completely totally "
    "alle immer nie niemals nur tous toujours jamais seulement todos siempre nunca sólo"
)
_STRONG = frozenset(_STRONG_WORDS.split())
_COUNT = (
    r"\S?\d|an? (?:third|quarter|fifth|sixth|tenth|half|dozen|hundred|thousand|million)\b|"
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|[a-z]+teen|[a-z]+ty)\b"
)
_BOUND = re.compile(rf"\b(?:more|less|fewer|greater|higher|lower|mehr|weniger) (?:than|als) (?={_COUNT})", re.IGNORECASE)
_NO_DIRECTION = re.compile(
    r"\b(?:ma[dk]es?|making|sets?|takes?|took|ends?|ended|calls?|called|built) up\b|\bup to\b", re.IGNORECASE
)
_THAN = re.compile(r"\b(?:than|als|que|before|after)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Direction:
    """A word of a pair, and which side it is of."""

    pair: int
    sign: int
    word: str
    strict: bool = True


def directions(text: str) -> list[Direction]:
    """The words of a text that have an opposite."""
    # A bound of a figure is the figure's business, and "make up" goes nowhere.
    plain = _NO_DIRECTION.sub(" ", _BOUND.sub(" ", text))
    found = [
        Direction(pair, sign, word.text, pair < len(STRICT))
        for word in words(plain)
        for pair, sign in _EXACT.get(fold(word.text)) or _STEMS.get(stem(word.text)) or ()
    ]
    for number, sides in enumerate(_PHRASES, len(_ALL)):
        for sign, form in zip((1, -1), sides, strict=True):
            found += [Direction(number, sign, match.group(), False) for match in re.finditer(form, plain, re.IGNORECASE)]
    return found


def strong_words(text: str) -> set[str]:
    """Words that claim a whole, a part, or a rank."""
    return {word.text.casefold() for word in words(text)} & _STRONG


def sides_of_comparison(text: str) -> tuple[str, str] | None:
    """What stands before and after `than`, `before` or `after`, if the text compares once."""
    parts = _THAN.split(text)
    return (parts[0], parts[1]) if len(parts) == 2 else None
