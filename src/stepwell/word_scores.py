"""How well texts match a question by their words (BM25). What counts as a word is for the caller to say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

_SATURATION, _LENGTH = 1.2, 0.75
Terms = Mapping[str, int]
"""The words of a text, with their counts."""


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
