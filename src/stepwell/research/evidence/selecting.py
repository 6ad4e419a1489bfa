"""Chooses the passages of all sources that are relevant to a question: ranked, without repetition, from many sources.

```
sources -> quotable passages -> closest to the question -> one by one: close to it, and unlike those already chosen -> e1, e2 ...
```

No model is involved. The same question, texts and embedder give the same quotes with the same ids; ties go to the earlier source
and place. A passage that repeats a chosen one in nearly the same words (a mirror, a boilerplate sentence) is left out;
one with another figure is another fact and is kept.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import mul

from stepwell.models.embedding.embedder import Embedder
from stepwell.research.audit.evidence import Quote
from stepwell.research.audit.facts.words import content_stems
from stepwell.research.audit.sentences import Passage, passages
from stepwell.research.evidence.quotable import leans_back, quotable

MOST_QUOTES = 60
MOST_PER_SOURCE = 8

_READ_PER_SOURCE, _READ_IN_ALL = 100, 1200
"""How many passages we embed, per source and in total, because embedding is slow. We take those that share most words with the question."""
_CONSIDERED = 6
"""The choice is made among the closest passages, this many times `most`."""
_LEAST_NEAR = {True: 0.2, False: 0.06}
"""By whether the embedder is semantic: the least similarity at which a passage is relevant."""
_LEAST_SHARE = 0.3
"""A relevant passage must also have at least this share of the closest passage's similarity."""
_NEARNESS = 0.65
"""The weight of closeness in the choice; the rest is the weight of being unlike those already chosen."""
_OWN = 0.85
"""The weight of a passage's own closeness; the rest is the weight of its source's best passage, because a page on the subject lends
weight."""
_UNNAMED = 0.5
"""The factor for a passage whose source names nothing from the question while others do."""
_ITSELF = 0.4
"""The weight of the words from the question that the passage itself names."""
_LEANING = 0.8
"""The factor for a passage that begins with `It` or `They`, because the reader cannot tell who that is."""
_SAME_WORDS = 0.85
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class _Candidate:
    source_id: str
    passage: Passage
    stems: frozenset[str]
    figures: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Ranked:
    candidate: _Candidate
    vector: Sequence[float]
    nearness: float


async def select_quotes(
    question: str,
    texts: Mapping[str, str],
    embedder: Embedder,
    *,
    most: int = MOST_QUOTES,
    per_source: int = MOST_PER_SOURCE,
    steps: Sequence[str] = (),
) -> list[Quote]:
    """At most `most` quotes from the texts (source id -> extracted text), the best first. `steps` are further search texts."""
    asked = [each for each in (question, *steps) if each.strip()]
    if not asked or most < 1 or per_source < 1:
        return []
    candidates = await asyncio.to_thread(_candidates, asked, texts)
    if not candidates:
        return []
    # A passage is as close as its closest sentence, because its other sentences must not hide the one that answers.
    pieces = [_pieces(candidate.passage.text) for candidate in candidates]
    vectors = iter(await embedder.aembed([*asked, *(piece for each in pieces for piece in each)]))
    wanted = [next(vectors) for _ in asked]
    found = [[next(vectors) for _ in each] for each in pieces]
    least = _LEAST_NEAR[embedder.is_semantic]

    def choose() -> list[Quote]:
        return _choose(_rank(candidates, wanted, found, _names(question, texts), least), most, per_source)

    return await asyncio.to_thread(choose)


class QuoteBook:
    """Gives ids to quotes. They continue from those of the thread, and the same place is the same quote."""

    def __init__(self, known: Mapping[str, Quote]) -> None:
        self._places = {(quote.source_id, quote.start, quote.end): quote for quote in known.values()}
        self._count = len(known)

    def name(self, quote: Quote) -> Quote:
        """The quote at this place, under its existing id or the next one."""
        place = quote.source_id, quote.start, quote.end
        if place not in self._places:
            self._count += 1
            self._places[place] = replace(quote, quote_id=f"e{self._count}")
        return self._places[place]


def natural(source_id: str) -> tuple[str, int]:
    """The order of ids: `s2` before `s10`."""
    number = re.search(r"(?<!\d)\d+$", source_id)
    return (source_id[: number.start()], int(number.group())) if number else (source_id, 0)


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """Similarity of two vectors of length 1, rounded so that ties do not depend on the last bit."""
    nearness: float = sum(map(mul, one, other))
    return round(nearness, 6)


def says_the_same(one: str, other: str) -> bool:
    """Whether two passages have nearly the same words, and the same figures."""
    return _repeats(_fingerprint(one), _fingerprint(other))


def _candidates(asked: Sequence[str], texts: Mapping[str, str]) -> list[_Candidate]:
    wanted = {stem for each in asked for stem in content_stems(each)}
    room = min(_READ_PER_SOURCE, max(MOST_PER_SOURCE, _READ_IN_ALL // max(1, len(texts))))
    found = []
    for source_id in sorted(texts, key=natural):
        own = [_Candidate(source_id, passage, *_fingerprint(passage.text)) for passage in quotable(texts[source_id])]
        found += _shorten(own, wanted, room)
    return found


def _pieces(passage: str) -> list[str]:
    """The whole passage, then its sentences if it has several."""
    sentences = [each.text for each in passages(passage)]
    return [passage, *sentences] if len(sentences) > 1 else [passage]


def _shorten(candidates: list[_Candidate], wanted: set[str], room: int) -> list[_Candidate]:
    if len(candidates) <= room:
        return candidates
    best = sorted(candidates, key=lambda each: (-len(each.stems & wanted), each.passage.start))[:room]
    return sorted(best, key=lambda each: each.passage.start)


@dataclass(frozen=True, slots=True)
class _Names:
    """The question's words, each with its weight. Words that few sources have weigh more: among pages about bridges, a bridge's name."""

    weights: Mapping[str, float]
    sources: Mapping[str, float]
    """Source id -> a factor for how many of these words the source has: from `_UNNAMED` for none to 1 for the source that has most."""

    def share(self, stems: Container[str]) -> float:
        total = sum(self.weights.values())
        return sum(weight for stem, weight in self.weights.items() if stem in stems) / total if total else 0.0


def _names(question: str, texts: Mapping[str, str]) -> _Names:
    held = {source_id: frozenset(content_stems(text)) for source_id, text in texts.items()}
    often = {stem: sum(stem in stems for stems in held.values()) for stem in sorted(set(content_stems(question)))}
    names = _Names({stem: math.log(1 + len(texts) / count) for stem, count in often.items() if count}, {})
    shares = {source_id: names.share(stems) for source_id, stems in held.items()}
    best = max(shares.values(), default=0.0) or 1.0
    return replace(names, sources={name: _UNNAMED + (1 - _UNNAMED) * share / best for name, share in shares.items()})


def _choose(ranked: Sequence[_Ranked], most: int, per_source: int) -> list[Quote]:
    chosen = _diverse(ranked[: most * _CONSIDERED], most, per_source)
    return [
        Quote(f"e{number}", each.source_id, each.passage.start, each.passage.end, each.passage.text)
        for number, each in enumerate(chosen, 1)
    ]


def _rank(
    candidates: Sequence[_Candidate],
    wanted: Sequence[Sequence[float]],
    found: Sequence[Sequence[Sequence[float]]],
    names: _Names,
    least: float,
) -> list[_Ranked]:
    """The relevant passages, closest first."""
    near = [max(_nearness(vector, wanted) for vector in vectors) for vectors in found]
    own = [nearness * _standing(each, names) for each, nearness in zip(candidates, near, strict=True)]
    best: dict[str, float] = {}
    for candidate, nearness in zip(candidates, own, strict=True):
        best[candidate.source_id] = max(best.get(candidate.source_id, 0.0), nearness)
    share = _LEAST_SHARE * max(own)
    ranked = [
        _Ranked(candidates[at], found[at][0], round(_OWN * own[at] + (1 - _OWN) * best[candidates[at].source_id], 6))
        for at in range(len(candidates))
        if near[at] >= least and own[at] >= share
    ]
    return sorted(ranked, key=_order)


def _standing(candidate: _Candidate, names: _Names) -> float:
    """The factor that reduces a passage's closeness, because a vector neither tells names apart nor shows who `It` is."""
    leaning = _LEANING if leans_back(candidate.passage.text) else 1.0
    itself = 1 - _ITSELF + _ITSELF * names.share(candidate.stems)
    return leaning * itself * names.sources[candidate.source_id]


def _nearness(vector: Sequence[float], wanted: Sequence[Sequence[float]]) -> float:
    """Closeness to the question itself, or, slightly reduced, to one of the steps."""
    return max(dot(vector, wanted[0]), *(0.9 * dot(vector, step) for step in wanted[1:]), 0.0)


def _order(each: _Ranked) -> tuple[float, tuple[str, int], int]:
    return -each.nearness, natural(each.candidate.source_id), each.candidate.passage.start


def _diverse(ranked: Sequence[_Ranked], most: int, per_source: int) -> list[_Candidate]:
    """Chooses by maximal marginal relevance: each next passage is close to the question and unlike those already chosen."""
    left = dict.fromkeys(range(len(ranked)), 0.0)  # index -> similarity to the most similar chosen passage
    chosen: list[_Candidate] = []
    taken: Counter[str] = Counter()
    while left and len(chosen) < most:
        index = max(left, key=lambda each: (round(_NEARNESS * ranked[each].nearness - (1 - _NEARNESS) * left[each], 6), -each))
        del left[index]
        newest = ranked[index]
        chosen.append(newest.candidate)
        taken[newest.candidate.source_id] += 1
        full = taken[newest.candidate.source_id] >= per_source
        left = {
            each: max(likeness, dot(ranked[each].vector, newest.vector))
            for each, likeness in left.items()
            if not (full and ranked[each].candidate.source_id == newest.candidate.source_id)
            and not _repeats(_marks(ranked[each].candidate), _marks(newest.candidate))
        }
    return chosen


_Marks = tuple[frozenset[str], frozenset[str]]


def _fingerprint(text: str) -> _Marks:
    return frozenset(_words(text)), frozenset(_DIGITS.findall(text))


def _words(text: str) -> Iterable[str]:
    """Content words; for a script without spaces, pairs of characters."""
    stems = content_stems(text)
    if len(stems) > 2 or text.isascii():
        return stems
    bare = "".join(character for character in text if character.isalpha())
    return [bare[at : at + 2] for at in range(len(bare) - 1)]


def _marks(candidate: _Candidate) -> _Marks:
    return candidate.stems, candidate.figures


def _repeats(one: _Marks, other: _Marks) -> bool:
    if one[1] != other[1]:
        return False
    together = one[0] | other[0]
    return not together or len(one[0] & other[0]) >= _SAME_WORDS * len(together)
