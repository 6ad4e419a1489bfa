"""Chooses the passages of all sources that answer a question: ranked, without repetition, from many sources.

```
sources -> blocks -> those to read (`finding.choosing`) -> their sentences, the best of each block first -> e1, e2 ...
```

No model is involved. The same question, texts and embedder give the same quotes with the same ids; ties go to the earlier source
and place. A passage that repeats a chosen one in nearly the same words (a mirror, a boilerplate sentence) is left out;
one with another figure is another fact and is kept.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stepwell.models.embedding.embedder import Embedder
from stepwell.research.audit.evidence import Quote
from stepwell.research.audit.sentences import Passage
from stepwell.research.evidence.quotable import announces, is_title, leans_back, quotable
from stepwell.research.finding.blocks import Block, cut_blocks
from stepwell.research.finding.choosing import Found, Limits, choose_blocks, dot
from stepwell.research.finding.names import bare, holds, names_in
from stepwell.research.finding.terms import figures_of, terms_of
from stepwell.word_scores import WordScores
from stepwell.words import content_stems

MOST_QUOTES = 80
MOST_PER_SOURCE = 12
"""Enough for a page of a document: its introduction and conclusion have more of the question's words than its facts do."""

_LEAST_NEAR = {True: 0.2, False: 0.06}
"""By whether the embedder is semantic: the least similarity at which a passage is relevant."""
_LEAST_SHARE = {False: 0.4, True: 0.65}
"""A relevant passage must also have at least this share of the best passage's score, unless it is the best of a block to which a name has
led. More is asked of it where nobody leaves out later what has little to do with the question (`strict`)."""
_STEP = 0.8
"""The weight of a further search; the question itself and its parts have 1."""
_WORDS = 0.5
"""The weight of the question's words in a passage; the rest is the weight of its meaning."""
_LEANING = 0.8
"""The factor for a passage that begins with `It` or `They`, because the reader cannot tell who that is."""
_ANNOUNCING = 0.6
"""The factor for a passage that says what its document is about, instead of something about that."""
_SAME_WORDS, _SAME_BUT_UPDATED = 0.85, 0.7


@dataclass(frozen=True, slots=True)
class _Candidate:
    found: Found
    passage: Passage
    marks: _Marks

    @property
    def source_id(self) -> str:
        return self.found.block.source_id

    @property
    def in_context(self) -> str:
        return replace(self.found.block, text=self.passage.text).in_context

    @property
    def is_title(self) -> bool:
        """Whether it is a line of its own that looks like a title."""
        block = self.found.block
        before, after = block.text[: self.passage.start - block.start], block.text[self.passage.end - block.start :]
        is_alone = before.rstrip(" \t")[-1:] in ("", "\n") and after.lstrip(" \t")[:1] in ("", "\n")
        return is_alone and is_title(self.passage.text)


async def select_quotes(
    question: str,
    texts: Mapping[str, str],
    embedder: Embedder,
    *,
    titles: Mapping[str, str] | None = None,
    most: int = MOST_QUOTES,
    per_source: int = MOST_PER_SOURCE,
    sources: int | None = None,
    parts: Sequence[str] = (),
    steps: Sequence[str] = (),
    older: Mapping[str, str] | None = None,
    strict: bool = False,
    follow: bool = True,
) -> list[Quote]:
    """At most `most` quotes from the texts (source id -> extracted text), the best first, of at most `sources` sources.

    `parts` are the parts of a question that has several: each is answered before any is answered again. `steps` are further searches, such
    as follow-ups. `older` are older copies (source id -> that of the newer copy): what both say is quoted from the newer one. `follow`:
    whether names in the best passages may lead to others. `strict`: leave out what has little to do with the question, such as passages
    about another bridge than the one in the question.
    """
    asked = [each for each in (question, *parts, *steps) if each.strip()]
    if not asked or most < 1 or per_source < 1:
        return []
    blocks = await asyncio.to_thread(_cut, texts, titles or {})
    limits = Limits(most, per_source=per_source, sources=sources, follow=follow)
    found = await choose_blocks(asked, blocks, embedder, limits)
    candidates = await asyncio.to_thread(_candidates, found)
    if not candidates:
        return []
    vectors = await embedder.aembed([*asked, *(candidate.in_context for candidate in candidates)])
    wanted, held = vectors[: len(asked)], vectors[len(asked) :]
    least = _LEAST_NEAR[embedder.is_semantic]

    def choose() -> list[Quote]:
        near = [[dot(vector, aim) for vector in held] for aim in wanted]
        words = WordScores([terms_of(candidate.in_context) for candidate in candidates])
        scores = [_scores(words.score(terms_of(query)), candidates, row) for query, row in zip(asked, near, strict=True)]
        own = 1 + len(parts)
        weighed = [*scores[:own], *([_STEP * score for score in row] for row in scores[own:])]
        relevant = _relevant(candidates, _best(weighed), _best(near), least, strict)
        relevant = _about(question, candidates, relevant) if strict else relevant
        relevant = _without_titles(asked, candidates, relevant)
        relevant = _without_outdated(candidates, relevant, older or {})
        chosen = _choose(_best_of_each(relevant, scores[:own]), candidates, relevant, most, per_source)
        return [
            Quote(f"e{number}", each.source_id, each.passage.start, each.passage.end, each.passage.text)
            for number, each in enumerate(chosen, 1)
        ]

    return await asyncio.to_thread(choose)


def _best(rows: Sequence[Sequence[float]]) -> list[float]:
    return [max(each) for each in zip(*rows, strict=True)]


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


def _cut(texts: Mapping[str, str], titles: Mapping[str, str]) -> list[Block]:
    ordered = sorted(texts, key=natural)
    return [block for each in ordered for block in cut_blocks(each, texts[each], title=titles.get(each, ""))]


def _candidates(found: Sequence[Found]) -> list[_Candidate]:
    """The quotable passages of the blocks, block by block."""
    return [_Candidate(each, passage, _fingerprint(passage.text)) for each in found for passage in _passages(each.block)]


def _passages(block: Block) -> Iterator[Passage]:
    for passage in quotable(block.text):
        yield Passage(block.start + passage.start, block.start + passage.end, passage.text)


def _scores(words: Sequence[float], candidates: Sequence[_Candidate], near: Sequence[float]) -> list[float]:
    """From 0 to 1: how well each passage, below its title, answers a query by words and meaning."""
    best = max(near) or 1.0
    return [
        _weigh(candidate.passage.text) * (_WORDS * word + (1 - _WORDS) * max(0.0, one) / best)
        for candidate, word, one in zip(candidates, words, near, strict=True)
    ]


def _weigh(passage: str) -> float:
    return (_LEANING if leans_back(passage) else 1.0) * (_ANNOUNCING if announces(passage) else 1.0)


def _relevant(
    candidates: Sequence[_Candidate], scores: Sequence[float], near: Sequence[float], least: float, strict: bool
) -> dict[int, float]:
    """The passages that have to do with the question, or to which a name has led: their indexes and scores."""
    enough = _LEAST_SHARE[strict] * max(scores)
    best: dict[int, int] = {}  # the best passage of each block to which a name has led
    for at, candidate in enumerate(candidates):
        led_to = candidate.found.is_named if strict else candidate.found.by
        if led_to and (id(candidate.found) not in best or scores[at] > scores[best[id(candidate.found)]]):
            best[id(candidate.found)] = at
    led = frozenset(best.values())
    return {
        at: round(scores[at], 6) for at in range(len(candidates)) if near[at] >= least and (scores[at] >= enough or at in led)
    }


def _about(question: str, candidates: Sequence[_Candidate], relevant: Mapping[int, float]) -> dict[int, float]:
    """Only passages of blocks that name something which the question names, or are led to by title, if there are any such blocks."""
    names = [bare(name) for name in names_in(question)]
    about = {at for at in relevant if any(holds(bare(candidates[at].found.block.in_context), name) for name in names)}
    return {at: score for at, score in relevant.items() if not about or at in about or candidates[at].found.is_named}


def _without_titles(asked: Sequence[str], candidates: Sequence[_Candidate], relevant: Mapping[int, float]) -> dict[int, float]:
    """Leaves out lines that look like titles, unless one has as many words of a query as any sentence, or no sentence has any."""
    titles = {at for at in relevant if candidates[at].is_title}
    if not titles:
        return dict(relevant)
    said = {at: terms_of(candidates[at].passage.text).keys() for at in relevant}
    kept: set[int] = set()
    is_answered = False
    for query in (terms_of(each).keys() for each in asked):
        most = max((len(query & said[at]) for at in relevant if at not in titles), default=0)
        is_answered = is_answered or most > 0
        kept |= {at for at in titles if len(query & said[at]) >= max(1, most)}
    return {at: score for at, score in relevant.items() if at not in titles or at in kept or not is_answered}


def _without_outdated(
    candidates: Sequence[_Candidate], relevant: Mapping[int, float], older: Mapping[str, str]
) -> dict[int, float]:
    """Leaves out passages of older copies that the newer copy has in nearly the same words, whatever the figures."""
    held: dict[str, list[frozenset[str]]] = {}
    for at in relevant:
        held.setdefault(candidates[at].source_id, []).append(candidates[at].marks[0])

    def is_outdated(candidate: _Candidate) -> bool:
        newer = held.get(older.get(candidate.source_id, ""), ())
        said = candidate.marks[0]
        return any(len(said & each) >= _SAME_BUT_UPDATED * len(said | each) for each in newer)

    return {at: score for at, score in relevant.items() if not is_outdated(candidates[at])}


def _best_of_each(relevant: Mapping[int, float], scores: Sequence[Sequence[float]]) -> list[int]:
    """The best passage for each part of a question that has several, so that each part is answered before any is answered again."""
    if len(scores) < 2 or not relevant:
        return []
    return list(dict.fromkeys(max(relevant, key=lambda at: (round(own[at], 6), -at)) for own in scores))


def _choose(
    first: Sequence[int], candidates: Sequence[_Candidate], relevant: Mapping[int, float], most: int, per_source: int
) -> list[_Candidate]:
    """The `first` ones, then the best passage of each block in the order of the blocks, then their further passages. None says the same
    as another."""
    blocks: dict[tuple[str, int], list[int]] = {}
    for at in relevant:
        blocks.setdefault((candidates[at].source_id, candidates[at].found.block.start), []).append(at)
    ranked = [sorted(each, key=lambda at: (-relevant[at], at)) for each in blocks.values()]
    ordered = dict.fromkeys([*first, *(each[0] for each in ranked), *(at for each in ranked for at in each[1:])])
    chosen: list[_Candidate] = []
    taken: Counter[str] = Counter()
    for candidate in (candidates[at] for at in ordered):
        if len(chosen) == most:
            break
        if taken[candidate.source_id] < per_source and not any(_repeats(candidate.marks, one.marks) for one in chosen):
            chosen.append(candidate)
            taken[candidate.source_id] += 1
    return chosen


_Marks = tuple[frozenset[str], frozenset[str]]


def _fingerprint(text: str) -> _Marks:
    return frozenset(_words(text)), figures_of(text)


def _words(text: str) -> Iterable[str]:
    """Content words; for a script without spaces, pairs of characters."""
    stems = content_stems(text)
    if len(stems) > 2 or text.isascii():
        return stems
    bare = "".join(character for character in text if character.isalpha())
    return [bare[at : at + 2] for at in range(len(bare) - 1)]


def _repeats(one: _Marks, other: _Marks) -> bool:
    if one[1] != other[1]:
        return False
    together = one[0] | other[0]
    return not together or len(one[0] & other[0]) >= _SAME_WORDS * len(together)
