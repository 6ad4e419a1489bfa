"""The terms of a text. How well they match those of a question is `word_scores`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from stepwell.research.audit.facts.reading.dates import MONTHS
from stepwell.words import is_function, stem, words

_SPACELESS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d)"
_NAMED_MONTH = re.compile(rf"\b(?P<month>[^\W\d_]{{3,10}})\.?,? (?:\d\d?(?:st|nd|rd|th)?,? )?{_YEAR}\b")
_NUMBERED_MONTH = re.compile(rf"\b{_YEAR}-(?P<month>0[1-9]|1[0-2])(?:-\d\d)?\b")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def figures_of(text: str) -> frozenset[str]:
    """The figures of a text, as they are written. Texts with the same words and other figures say different things."""
    return frozenset(_FIGURE.findall(text))


def terms_of(text: str) -> Counter[str]:
    """Stems of the content words and figures, with their counts; for a script without spaces, pairs of characters.

    A month is a term of its own, and the same one as `January 2025`, `31 January 2025` and `2025-01-31`.
    """
    found = Counter(stem(word.text) for word in words(text) if not is_function(word.text))
    if not text.isascii():
        found.update(run[at : at + 2] for run in _SPACELESS.findall(text) for at in range(len(run) - 1))
    found.update(_months(text))
    return found


def _months(text: str) -> Iterator[str]:
    for match in _NAMED_MONTH.finditer(text):
        if month := MONTHS.get(match["month"].casefold()):
            yield f"{match['year']}-{month:02}"
    for match in _NUMBERED_MONTH.finditer(text):
        yield match["year"]
        if match.group() != f"{match['year']}-{match['month']}":  # such a one is a word already
            yield f"{match['year']}-{match['month']}"
