"""Numbers written as words: "twenty-one", "two hundred and fifty thousand", "zwölf"; and fractions: "a fifth of", "two-thirds".

"One" alone is too often a pronoun to count as a number, and "once" counts as the English word, not as the Spanish eleven. "Half" and
"quarter" are not read here: `directions` treats them as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from stepwell.research.audit.facts.words.units import MULTIPLIER_OF
from stepwell.words import Word

_FROM_ZERO = (
    "zero null cero|one|two zwei deux dos|three drei trois tres|four vier quatre cuatro|five fünf cinq cinco|six sechs seis|"
    "seven sieben sept siete|eight huit ocho|nine neun neuf nueve|ten zehn dix diez|eleven elf onze|"
    "twelve zwölf douze doce dozen|thirteen dreizehn|fourteen vierzehn|fifteen fünfzehn quinze quince|sixteen|seventeen|"
    "eighteen|nineteen|twenty zwanzig vingt veinte"
)
_SMALL = {word: value for value, forms in enumerate(_FROM_ZERO.split("|")) for word in forms.split()}
_TENS = {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "dreißig": 30,
    "vierzig": 40,
}
_TENS |= {"trente": 30, "treinta": 30, "fünfzig": 50, "cinquante": 50, "twenty": 20}
_HUNDRED = Decimal(100)


def read_number(tokens: list[Word], position: int) -> tuple[Decimal, int] | None:
    """The number that begins at a token, and the position after it."""
    total, part, here = Decimal(0), Decimal(0), position
    said: list[str] = []
    while here < len(tokens):
        pieces = tokens[here].text.casefold().split("-")
        if (
            said
            and pieces == ["and"]
            and here + 1 < len(tokens)
            and _is_number(tokens[here + 1].text)
            and said[-1] in MULTIPLIER_OF
        ):
            here += 1
            continue
        if not all(_is_number(piece) for piece in pieces) or (not said and pieces[0] in MULTIPLIER_OF):
            break
        if said and said[-1] not in MULTIPLIER_OF and pieces[0] not in MULTIPLIER_OF and said[-1] not in _TENS:
            break  # "five six": two numbers
        for piece in pieces:
            total, part = _add(total, part, piece)
        said += pieces
        here += 1
    if not said or said == ["one"]:
        return None
    return total + part, here


def _is_number(word: str) -> bool:
    return all(
        piece in _SMALL or piece in _TENS or (piece in MULTIPLIER_OF and len(piece) > 3) for piece in word.casefold().split("-")
    )


def _add(total: Decimal, part: Decimal, piece: str) -> tuple[Decimal, Decimal]:
    if piece in MULTIPLIER_OF:
        factor = MULTIPLIER_OF[piece]
        if factor == _HUNDRED:
            return total, (part or Decimal(1)) * factor
        return total + (part or Decimal(1)) * factor, Decimal(0)
    return total, part + Decimal(_TENS.get(piece, _SMALL.get(piece, 0)))


FRACTION = "fraction"
_PARTS = {"third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "hundredth": 100}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_FRACTION = re.compile(
    rf"\b(?P<count>{'|'.join(_COUNTS)})[\s-](?P<part>{'|'.join(_PARTS)})(?P<plural>s?)\b"
    r"(?=(?P<after>\s+(?:of|less|more|fewer|below|above|under|over|smaller|larger|lower|higher|went|were|was)\b|\s*[.,;:)]|\s*$)?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fraction:
    """A fraction, and its place in the text."""

    value: Decimal
    start: int
    end: int


def fractions(text: str) -> Iterator[Fraction]:
    """The fractions in a text. "A third season" is not a fraction, so the word that follows matters too."""
    for match in _FRACTION.finditer(text):
        if match["plural"] or match["after"] is not None:
            value = Decimal(_COUNTS[match["count"].lower()]) / Decimal(_PARTS[match["part"].lower()])
            yield Fraction(value, match.start(), match.end())
