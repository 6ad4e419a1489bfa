"""Parts of a whole in words: "a fifth of", "nine tenths", "two-thirds". "A third season" is the third one, so what follows counts too.

"Half" and "quarter" are not read here: `directions` looks for them as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

UNIT = "fraction"
_PARTS = {"third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "hundredth": 100}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_FRACTION = re.compile(
    rf"\b(?P<count>{'|'.join(_COUNTS)})[\s-](?P<part>{'|'.join(_PARTS)})(?P<plural>s?)\b"
    r"(?=(?P<after>\s+(?:of|less|more|fewer|below|above|under|over|smaller|larger|lower|higher|went|were|was)\b|\s*[.,;:)]|\s*$)?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fraction:
    """A part of one, and where it stands."""

    value: Decimal
    start: int
    end: int


def fractions(text: str) -> Iterator[Fraction]:
    for match in _FRACTION.finditer(text):
        if match["plural"] or match["after"] is not None:
            value = Decimal(_COUNTS[match["count"].lower()]) / Decimal(_PARTS[match["part"].lower()])
            yield Fraction(value, match.start(), match.end())
