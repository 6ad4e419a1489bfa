"""The terms of a text, and how well they match those of a question (BM25)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from stepwell.research.audit.facts.dates import MONTHS
from stepwell.research.audit.facts.words import is_function, stem, words

_SATURATION, _LENGTH = 1.2, 0.75
_SPACELESS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d)"
_NAMED_MONTH = re.compile(rf"\b(?P<month>[^\W\d_]{{3,10}})\.?,? (?:\d\d?(?:st|nd|rd|th)?,? )?{_YEAR}\b")
_NUMBERED_MONTH = re.compile(rf"\b{_YEAR}-(?P<month>0[1-9]|1[0-2])(?:-\d\d)?\b")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
Terms = Mapping[str, int]


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


class WordScores:
    """How well each of some texts matches a question by its words. Rare terms count more, and long texts do not win by their length."""

    def __init__(self, texts: Sequence[Terms]) -> None:
        self._texts = texts
        self._spread = Counter(term for text in texts for term in text)

    def weight(self, term: str) -> float:
        """How much a term tells; 0 if no text has it."""
        spread = self._spread[term]
        return math.log(1 + (len(self._texts) - spread + 0.5) / (spread + 0.5)) if spread else 0.0

    def score(self, asked: Iterable[str]) -> list[float]:
        """The score of each text, from 0 to 1 for the best one."""
        weights = {term: weight for term in sorted(set(asked)) if (weight := self.weight(term))}
        found = [self._score(text, length, weights) for text, length in zip(self._texts, self._lengths, strict=True)]
        best = max(found, default=0.0)
        return [score / best for score in found] if best else found

    def _score(self, text: Terms, length: float, weights: Mapping[str, float]) -> float:
        room = _SATURATION * (1 - _LENGTH + _LENGTH * length)
        return sum(
            weight * count * (_SATURATION + 1) / (count + room)
            for term, weight in weights.items()
            if (count := text.get(term, 0))
        )

    @cached_property
    def _lengths(self) -> list[float]:
        """The lengths of the texts; 1 is the average."""
        lengths = [sum(text.values()) for text in self._texts]
        average = sum(lengths) / len(lengths) if lengths else 0
        return [length / average for length in lengths] if average else [1.0] * len(lengths)
