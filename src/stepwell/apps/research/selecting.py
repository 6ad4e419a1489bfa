"""Chooses the passages of all sources that speak to a question: ranked, without repetition, from many sources.

```
sources -> quotable passages -> nearest to the question -> one by one: near to it, and unlike what is chosen already -> e1, e2 ...
```

No model is asked. The same question, texts and embedder give the same quotes with the same ids; ties go to the earlier source
and place. A passage that says the same as a chosen one in nearly the same words (a mirror, a boilerplate sentence) is left out;
one that gives another figure is another fact and stays.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul

from stepwell.apps.research.quotable import leans_back, quotable
from stepwell.audit.evidence import Quote
from stepwell.audit.facts.words import content_stems
from stepwell.audit.sentences import Passage
from stepwell.models.embedding.embedder import Embedder

MOST_QUOTES = 60
MOST_PER_SOURCE = 8

_READ_PER_SOURCE = 150
"""Passages of one source that are embedded. Of longer ones, those that share most words with the question."""
_CONSIDERED = 6
"""Times `most`: so many of the nearest passages take part in the choice."""
_LEAST_NEAR = {True: 0.2, False: 0.06}
"""Semantic embedder or not -> what is further from the question than this has nothing to do with it."""
_LEAST_SHARE = 0.45
"""... and so has what is further than this share of the nearest passage."""
_NEARNESS = 0.75
"""How much nearness counts in the choice; being unlike the chosen ones is the rest."""
_OWN = 0.85
"""How much a passage counts itself; the best passage of its source is the rest: a page on the matter lends weight."""
_UNNAMED = 0.5
"""What is left of a passage whose source names nothing of what the question names, while others do."""
_LEANING = 0.8
"""What is left of a passage that begins with `It` or `They`, and nobody knows who that is."""
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
    """At most `most` quotes of the texts (source id -> extracted text), the best first. `steps` are further things asked for."""
    asked = [each for each in (question, *steps) if each.strip()]
    if not asked or most < 1 or per_source < 1:
        return []
    candidates = await asyncio.to_thread(_candidates, asked, texts)
    if not candidates:
        return []
    vectors = await embedder.aembed([*asked, *(candidate.passage.text for candidate in candidates)])
    wanted, found = vectors[: len(asked)], vectors[len(asked) :]
    least = _LEAST_NEAR[embedder.is_semantic]

    def choose() -> list[Quote]:
        return _choose(_ranked(candidates, wanted, found, _named(question, texts), least), most, per_source)

    return await asyncio.to_thread(choose)


def natural(source_id: str) -> tuple[str, int]:
    """The order of ids: `s2` before `s10`."""
    number = re.search(r"\d+$", source_id)
    return (source_id[: number.start()], int(number.group())) if number else (source_id, 0)


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """Nearness of two vectors of length 1, rounded so that the order of ties does not hang on the last bit."""
    nearness: float = sum(map(mul, one, other))
    return round(nearness, 6)


def says_the_same(one: str, other: str) -> bool:
    """Nearly the same words, and the same figures."""
    return _repeats(_fingerprint(one), _fingerprint(other))


def _candidates(asked: Sequence[str], texts: Mapping[str, str]) -> list[_Candidate]:
    stems = {stem for each in asked for stem in content_stems(each)}
    return [
        candidate
        for source_id in sorted(texts, key=natural)
        for candidate in _shortened([_Candidate(source_id, each, *_fingerprint(each.text)) for each in quotable(texts[source_id])], stems)
    ]  # fmt: skip


def _shortened(candidates: list[_Candidate], wanted: set[str]) -> list[_Candidate]:
    if len(candidates) <= _READ_PER_SOURCE:
        return candidates
    best = sorted(candidates, key=lambda each: (-len(each.stems & wanted), each.passage.start))[:_READ_PER_SOURCE]
    return sorted(best, key=lambda each: each.passage.start)


def _named(question: str, texts: Mapping[str, str]) -> dict[str, float]:
    """Source id -> how much of what the question names it names too, from `_UNNAMED` to 1. Rare words count more: among pages
    about bridges, the name of a bridge does."""
    held = {source_id: set(content_stems(text)) for source_id, text in texts.items()}
    often = {stem: sum(stem in stems for stems in held.values()) for stem in set(content_stems(question))}
    weight = {stem: math.log(1 + len(texts) / count) for stem, count in sorted(often.items()) if count}
    total = sum(weight.values()) or 1.0
    shares = {source_id: sum(weight[stem] for stem in weight if stem in stems) / total for source_id, stems in held.items()}
    best = max(shares.values(), default=0.0) or 1.0
    return {source_id: _UNNAMED + (1 - _UNNAMED) * share / best for source_id, share in shares.items()}


def _choose(ranked: Sequence[_Ranked], most: int, per_source: int) -> list[Quote]:
    chosen = _diverse(ranked[: most * _CONSIDERED], most, per_source)
    return [
        Quote(f"e{number}", each.source_id, each.passage.start, each.passage.end, each.passage.text)
        for number, each in enumerate(chosen, 1)
    ]


def _ranked(
    candidates: Sequence[_Candidate],
    wanted: Sequence[Sequence[float]],
    found: Sequence[Sequence[float]],
    weights: Mapping[str, float],
    least: float,
) -> list[_Ranked]:
    """What has to do with the question, nearest first."""
    near = [_nearness(vector, wanted) for vector in found]
    own = [nearness * weights[each.source_id] * _standing(each) for each, nearness in zip(candidates, near, strict=True)]
    best: dict[str, float] = {}
    for candidate, nearness in zip(candidates, own, strict=True):
        best[candidate.source_id] = max(best.get(candidate.source_id, 0.0), nearness)
    share = _LEAST_SHARE * max(own)
    ranked = [
        _Ranked(candidates[at], found[at], round(_OWN * own[at] + (1 - _OWN) * best[candidates[at].source_id], 6))
        for at in range(len(candidates))
        if near[at] >= least and own[at] >= share
    ]
    return sorted(ranked, key=_order)


def _standing(candidate: _Candidate) -> float:
    return _LEANING if leans_back(candidate.passage.text) else 1.0


def _nearness(vector: Sequence[float], wanted: Sequence[Sequence[float]]) -> float:
    """To the question itself, or nearly as good, to one of the steps."""
    return max(dot(vector, wanted[0]), *(0.9 * dot(vector, step) for step in wanted[1:]), 0.0)


def _order(each: _Ranked) -> tuple[float, tuple[str, int], int]:
    return -each.nearness, natural(each.candidate.source_id), each.candidate.passage.start


def _diverse(ranked: Sequence[_Ranked], most: int, per_source: int) -> list[_Candidate]:
    """Maximal marginal relevance: each next one is near to the question and unlike those before it."""
    left = dict.fromkeys(range(len(ranked)), 0.0)  # index -> likeness to the most alike of the chosen
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
    """Content words; in a script without spaces, pairs of characters do as well."""
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
