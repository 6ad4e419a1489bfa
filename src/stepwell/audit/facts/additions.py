"""Look for words that were added to what the quotes say: "... because the owners wanted to impress their neighbours".

Such an addition has no number, name or date to look up, and a judge in a hurry agrees with it. Two words of meaning in a row that
stand nowhere in the quotes count as one, if the rest of the sentence is in the quotes' own words: a translation or a free
paraphrase shares few words anywhere, and is left to the judge. Who says so ("records show that") adds nothing. A single added
word is not noticed: it is too often a synonym.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepwell.audit.facts.finding import Finding
from stepwell.audit.facts.statement import Statement
from stepwell.audit.facts.words import content_stems, is_function, stem, words

_FEWEST_WORDS = 2
_IN_THEIR_WORDS = 0.5
_REPORTING = (
    "accord article claim confirm describe document explain give given list mention note page publish quote read record report say said "
    "show source state survey tell told text write wrote written"
)
_ATTRIBUTION = frozenset(stem(word) for word in _REPORTING.split())


def match_additions(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding for each run of words that the quotes do not have, though they have most of the others."""
    spoken = {stem for quote in quotes for stem in quote.stems}
    added = list(_runs(claim, spoken))
    rest = claim.stems - {each for run in added for each in content_stems(run)}
    if rest and len(rest & spoken) / len(rest) >= _IN_THEIR_WORDS:
        yield from (Finding("missing", f"the quotes do not say '{run[:80]}'") for run in added)


def _runs(claim: Statement, spoken: set[str]) -> Iterator[str]:
    """Stretches of the sentence from the first to the last of words of meaning in a row that nobody quoted says."""
    start, end, count = 0, 0, 0
    for word in words(claim.text):
        if is_function(word.text):
            continue
        known = stem(word.text)
        if known in _ATTRIBUTION:
            continue
        if known in spoken or _is_fact(claim, word.start):
            if count >= _FEWEST_WORDS:
                yield claim.text[start:end]
            count = 0
            continue
        start, end, count = (word.start if not count else start), word.end, count + 1
    if count >= _FEWEST_WORDS:
        yield claim.text[start:end]


def _is_fact(claim: Statement, place: int) -> bool:
    """Whether a word belongs to a figure, a date or a name: those are looked up for themselves, in all their forms."""
    facts = (*claim.figures, *claim.dates, *claim.names)
    return any(fact.start <= place < fact.end for fact in facts)
