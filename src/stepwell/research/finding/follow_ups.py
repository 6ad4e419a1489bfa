"""What to search for next: names in the sentences that were found, with what the question still asks about them.

```
"Which office did the actress of Corliss Archer hold?"
found: "Kiss and Tell stars Shirley Temple as Corliss Archer."   ->   "Shirley Temple office hold"
```
The same question and texts give the same follow-ups.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from stepwell.research.audit.facts.reading.dates import MONTHS
from stepwell.research.audit.sentences import passages
from stepwell.research.finding.blocks import Block, cut_blocks
from stepwell.research.finding.names import bare, holds, names_in
from stepwell.research.finding.terms import terms_of
from stepwell.word_scores import WordScores
from stepwell.words import is_function, stem, words

_BLOCKS, _SENTENCES = 40, 60
"""How many of the best blocks, and of their best sentences, are searched for names."""
_LEAST_SHARE = 0.6
"""A block or sentence that fits the question less than this, compared with the best one, is about something else."""
_STILL_ASKED = 4
_PER_SOURCE = 0.1
"""What a name gains for each further source that has it."""
_ONE_WORD = 0.6
"""The factor for a name of a single word, which is often only the first word of a sentence."""
_ASKING = frozenset(
    ["how", "many", "much", "which", "what", "who", "whom", "whose", "when", "where", "why", "did", "does", "do", "has", "have"]
)


_DAY_WORDS = (
    "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag "
    "lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes sabado domingo"
)
_DAYS = frozenset(_DAY_WORDS.split())
_QUARTER = re.compile(r"[qh][1-4]")


class FollowUp(NamedTuple):
    """A further search: what to search for, the name it came from, and the source that has it."""

    query: str
    because: str
    source_id: str


def follow_ups(
    question: str, texts: Mapping[str, str], asked: Collection[str], most: int, allowed: Collection[str] | None = None
) -> list[FollowUp]:
    """At most `most` further searches, the best first; none if one block already has all words of the question.

    `texts` are what was found, by source id. `asked` are the queries already made. `allowed` are the stems of the question's words that a
    search may contain; by default all.
    """
    if most < 1:
        return []
    blocks = _best_blocks(question, texts)
    if any(not _open_words(question, [block.text]) for block in blocks):
        return []
    known = [bare(each) for each in (question, *asked)]
    best: dict[str, tuple[float, FollowUp]] = {}
    holders: dict[str, set[str]] = {}
    for source_id, sentence, score in _best_sentences(question, blocks):
        for name in names_in(sentence):
            plain = bare(name)
            if _is_date(plain) or any(holds(each, plain) for each in known):
                continue
            holders.setdefault(plain, set()).add(source_id)
            worth = score * (1.0 if " " in plain else _ONE_WORD)
            if plain not in best or worth > best[plain][0]:
                best[plain] = worth, FollowUp(_query(name, question, sentence, allowed), name, source_id)
    ranked = sorted(best, key=lambda name: (-best[name][0] - _PER_SOURCE * len(holders[name]), name))
    chosen: list[str] = []
    for name in ranked:
        # `Temple` after `Shirley Temple` would ask the same again.
        if len(chosen) < most and not any(holds(one, name) or holds(name, one) for one in chosen):
            chosen.append(name)
    return [best[name][1] for name in chosen]


def _is_date(plain: str) -> bool:
    """Whether a bare name is only a day, a month or a year: `June 2026` leads nowhere."""
    return all(word in MONTHS or word in _DAYS or word[0].isdigit() or _QUARTER.fullmatch(word) for word in plain.split())


def _best_blocks(question: str, texts: Mapping[str, str]) -> list[Block]:
    """The blocks that have most of the question's telling words."""
    blocks = [block for source_id in sorted(texts) for block in cut_blocks(source_id, texts[source_id])]
    scores = WordScores([terms_of(block.text) for block in blocks]).score(terms_of(question))
    best = sorted(range(len(blocks)), key=lambda at: -scores[at])[:_BLOCKS]
    return [blocks[at] for at in best if scores[at] >= _LEAST_SHARE]


def _best_sentences(question: str, blocks: Sequence[Block]) -> Iterator[tuple[str, str, float]]:
    """Their sentences that have most of them: source id, sentence, score."""
    said = [(block.source_id, each.text) for block in blocks for each in passages(block.text)]
    scores = WordScores([terms_of(text) for _, text in said]).score(terms_of(question))
    for at in sorted(range(len(said)), key=lambda each: -scores[each])[:_SENTENCES]:
        if scores[at] >= _LEAST_SHARE:
            yield *said[at], scores[at]


def _query(name: str, question: str, sentence: str, allowed: Collection[str] | None) -> str:
    """The name, and the allowed words of the question that its sentence does not answer."""
    left = [word for word in _open_words(question, [sentence, name]) if allowed is None or stem(word) in allowed]
    return " ".join([name, *left[:_STILL_ASKED]])


def _open_words(question: str, said: Sequence[str]) -> list[str]:
    """The words of a question that none of some texts has."""
    answered = {term for text in said for term in terms_of(text)}
    return [
        word.text
        for word in words(question)
        if not is_function(word.text) and word.text.casefold() not in _ASKING and stem(word.text) not in answered
    ]
