"""Chooses the blocks to read for a question: words and meaning together, then what the first ones lead to.

```
score    0.5 words (BM25) + 0.5 meaning (embedder), each from 0 to 1; for several queries the best of them
choose   one by one: the highest score, plus links from blocks already chosen, plus words of the question that none of them has,
         less what it repeats
```
A block that repeats a chosen one in nearly the same words is left out. The same question, texts and embedder give the same choice; ties
go to the earlier source and place.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from stepwell.models.embedding.embedder import Embedder
from stepwell.research.finding.blocks import Block
from stepwell.research.finding.names import NAMES_TITLE, Links
from stepwell.research.finding.terms import figures_of, terms_of
from stepwell.word_scores import Terms, WordScores

MOST_EMBEDDED = 600
"""How many blocks are compared by meaning, because embedding is slow: those with the most telling words of the question."""
_MOST_COMPARED = 300
"""How many of them are compared with each other, because that takes quadratic time."""
_WORDS = 0.5
_OWN = 0.8
"""The weight of a block's own score; the rest is that of the best blocks of its document, because a document on the subject lends
weight."""
_BEST_OF_DOCUMENT = 3
_STEP = 0.9
"""The weight of a further query; the question itself has 1."""
_UNCOVERED = 0.3
"""What a block gains that has all of the question's words which no chosen block has."""
_ALIKE = 1.0
"""What a block would lose that has all its terms in common with a chosen one; it falls with the square of what they share."""
_SAME = 0.85
"""A block with at least this share of its terms in common with a chosen one, and the same figures, repeats it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A chosen block, its score, and the name that led to it, if it was not its own score alone. `is_named`: that name is the title of
    one of the two, not only a name that both have."""

    block: Block
    score: float
    by: str = ""
    is_named: bool = False


@dataclass(frozen=True)
class Limits:
    """What may be chosen. `None` means no limit."""

    blocks: int
    characters: int | None = None
    per_source: int | None = None
    sources: int | None = None
    follow: bool = True
    """Whether to follow names to further blocks: the second round."""


async def choose_blocks(queries: Sequence[str], blocks: Sequence[Block], embedder: Embedder, limits: Limits) -> list[Found]:
    """The blocks to read for a question, the best first. `queries` are the question and, after it, further queries."""
    asked = [query for query in queries if query.strip()]
    if not asked or not blocks or limits.blocks < 1:
        return []
    terms = await asyncio.to_thread(lambda: [terms_of(block.in_context) for block in blocks])
    words = WordScores(terms)
    by_words = [words.score(terms_of(query)) for query in asked]
    near = sorted(sorted(range(len(blocks)), key=lambda at: -max(each[at] for each in by_words))[:MOST_EMBEDDED])
    vectors = await embedder.aembed([*asked, *(blocks[at].in_context for at in near)])
    wanted, held = vectors[: len(asked)], vectors[len(asked) :]

    def choose() -> list[Found]:
        scores = _combine([[one[at] for at in near] for one in by_words], wanted, held)
        scores = _lend([blocks[at].source_id for at in near], scores)
        best = sorted(sorted(range(len(near)), key=lambda each: -scores[each])[:_MOST_COMPARED])
        here = [near[each] for each in best]
        pile = _Pile(asked[0], [blocks[at] for at in here], [terms[at] for at in here], words, [scores[each] for each in best])
        return pile.choose(limits)

    return await asyncio.to_thread(choose)


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """Similarity of two vectors of length 1, rounded so that ties do not depend on the last bit."""
    nearness: float = sum(map(mul, one, other))
    return round(nearness, 6)


def _combine(
    by_words: Sequence[Sequence[float]], wanted: Sequence[Sequence[float]], held: Sequence[Sequence[float]]
) -> list[float]:
    """One score from 0 to 1 for each block: that of the query it fits best."""
    rows = []
    for number, (words, query) in enumerate(zip(by_words, wanted, strict=True)):
        near = [max(0.0, dot(query, vector)) for vector in held]
        best = max(near, default=0.0) or 1.0
        weight = _STEP if number else 1.0
        rows.append([weight * (_WORDS * word + (1 - _WORDS) * one / best) for word, one in zip(words, near, strict=True)])
    return [round(max(each), 6) for each in zip(*rows, strict=True)]


def _lend(documents: Sequence[str], scores: Sequence[float]) -> list[float]:
    """The scores of blocks, each moved a little towards the average of the best ones of its document."""
    own: dict[str, list[float]] = {}
    for document, score in zip(documents, scores, strict=True):
        own.setdefault(document, []).append(score)
    best = {document: sorted(each)[-_BEST_OF_DOCUMENT:] for document, each in own.items()}
    lent = {document: sum(each) / len(each) for document, each in best.items()}
    return [_OWN * score + (1 - _OWN) * lent[document] for document, score in zip(documents, scores, strict=True)]


@dataclass
class _Standing:
    """What the blocks chosen so far mean for another one."""

    link: float = 0.0
    by: str = ""
    likeness: float = 0.0


class _Pile:
    """Blocks to choose from, with everything that the choice compares."""

    def __init__(
        self, question: str, blocks: Sequence[Block], terms: Sequence[Terms], words: WordScores, scores: Sequence[float]
    ) -> None:
        self._blocks, self._terms, self._scores = blocks, terms, scores
        self._links = Links(question, blocks)
        self._figures = [figures_of(block.text) for block in blocks]
        asked = {term: weight for term in sorted(terms_of(question)) if (weight := words.weight(term))}
        self._uncovered = {term: weight / sum(asked.values()) for term, weight in asked.items()}
        """The question's words that no chosen block has, each with its share."""

    def choose(self, limits: Limits) -> list[Found]:
        chosen: list[Found] = []
        left = {at: _Standing() for at in range(len(self._blocks))}
        taken: Counter[str] = Counter()
        room = limits.characters
        while left and len(chosen) < limits.blocks:
            gain, at = max((self._gain(each, left[each], limits.follow), -each) for each in left)
            at = -at
            standing, block = left.pop(at), self._blocks[at]
            if room is not None:
                if len(block.text) > room:
                    continue
                room -= len(block.text)
            chosen.append(Found(block, gain, standing.by, standing.link >= NAMES_TITLE))
            taken[block.source_id] += 1
            self._uncovered = {term: share for term, share in self._uncovered.items() if term not in self._terms[at]}
            left = {each: left[each] for each in left if _has_room(self._blocks[each].source_id, taken, limits)}
            self._compare(at, left, limits.follow)
        return chosen

    def _compare(self, newest: int, left: dict[int, _Standing], follow: bool) -> None:
        """Tells the other blocks what the newest choice means for them, and drops those that only repeat it."""
        for at, standing in list(left.items()):
            likeness = self._likeness(at, newest)
            if likeness >= _SAME and self._figures[at] == self._figures[newest]:
                del left[at]
                continue
            standing.likeness = max(standing.likeness, likeness)
            if follow:
                link, by = self._links.between(newest, at)
                if link > standing.link:
                    standing.link, standing.by = link, by

    def _gain(self, at: int, standing: _Standing, follow: bool) -> float:
        gain = self._scores[at] - _ALIKE * standing.likeness**2
        if follow:
            gain += standing.link + _UNCOVERED * sum(
                share for term, share in self._uncovered.items() if term in self._terms[at]
            )
        return round(gain, 6)

    def _likeness(self, one: int, other: int) -> float:
        """The share of terms that two blocks have in common."""
        here, there = self._terms[one].keys(), self._terms[other].keys()
        together = len(here | there)
        return len(here & there) / together if together else 1.0


def _has_room(source_id: str, taken: Counter[str], limits: Limits) -> bool:
    """Whether another block of the source may be chosen."""
    if limits.per_source is not None and taken[source_id] >= limits.per_source:
        return False
    return limits.sources is None or source_id in taken or len(taken) < limits.sources
