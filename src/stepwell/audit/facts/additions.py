"""Look for words that were added to what the quotes say: "... because the owners wanted to impress their neighbours".

Such an addition has no number, name or date to look up, and a judge in a hurry agrees with it. Two words of meaning in a row that
stand nowhere in the quotes count as one, if the rest of the sentence is in the quotes' own words: a translation or a free
paraphrase shares few words anywhere, and is left to the judge. Who says so ("records show that") adds nothing, nor do words that carry
a sentence ("made", "roughly"). A single new word is too often a synonym; it counts where the quote has no word at all (`insertions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from stepwell.audit.facts.finding import Finding
from stepwell.audit.facts.insertions import find_inserted
from stepwell.audit.facts.statement import Statement
from stepwell.audit.facts.superlatives import base_of
from stepwell.audit.facts.words import Word, is_function, stem, words

_FEWEST_WORDS = 2
_IN_THEIR_WORDS = 0.5
_REPORTING = (
    "accord article claim confirm describe document explain give given list mention note page publish quote read record report say said "
    "show source state survey tell told text write wrote written"
)
_CARRYING = (
    "make makes made making take takes took taken get gets got go goes went gone come comes came become became hold held stand "
    "stands stood lie lies stay stayed remain remained amount amounted total located situated called named known around roughly "
    "approximately nearly almost circa altogether respectively currently today now namely one"
)
_ATTRIBUTION = frozenset(stem(word) for word in f"{_REPORTING} {_CARRYING}".split())

_SAYING = re.compile(
    r"(?:it (?:turns|turned) out|it (?:is|was) \w+ed|to be \w+|in (?:short|fact|sum|total|all|particular|other words))\b,?(?: that)?",
    re.IGNORECASE,
)
"""How a sentence may begin before it says anything."""


def match_additions(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding for each run of words that the quotes do not have, though they have most of the others."""
    spoken = {root for quote in quotes for root in quote.stems}
    saying = _SAYING.match(claim.text)
    begins = saying.end() if saying else 0
    own = [
        word
        for word in words(claim.text)
        if word.start >= begins and not is_function(word.text) and stem(word.text) not in _ATTRIBUTION
    ]
    facts = _places(claim)
    runs = [(kind, list(run)) for kind, run in groupby(own, lambda word: _kind(word, facts, spoken))]
    added = [run for kind, run in runs if kind == "new" and len(run) >= _FEWEST_WORDS]
    rest = [kind for kind, run in runs for _ in run if kind != "fact" and run not in added]
    if rest and rest.count("spoken") / len(rest) >= _IN_THEIR_WORDS:
        alone = {run[0] for kind, run in runs if kind == "new" and len(run) == 1}
        put_in = [[word] for word in find_inserted(claim, own, [word in alone for word in own], quotes)]
        yield from (
            Finding("missing", f"the quotes do not say '{claim.text[run[0].start : run[-1].end][:80]}'")
            for run in (*added, *put_in)
        )


def _places(claim: Statement) -> set[int]:
    """Where figures, dates and names stand: those are looked up for themselves, in all their forms."""
    spans = [(figure.start, figure.end) for figure in claim.figures]
    spans += [(date.start, date.end) for date in claim.dates]
    spans += [(name.start, name.end) for name in claim.names]
    return {place for start, end in spans for place in range(start, end)}


def _kind(word: Word, facts: set[int], spoken: set[str]) -> str:
    if word.start in facts:
        return "fact"
    return "spoken" if stem(word.text) in spoken or base_of(word.text) in spoken else "new"
