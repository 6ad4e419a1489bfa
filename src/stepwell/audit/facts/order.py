"""Who does what to whom: a claim with a quote's own words on the wrong sides of its verb ("copper beats tin", "tin beats copper").

Without a parser this is seen only where it is plain: around a word that both have once, everything before it in the claim stands after
it in the quote, and something after it in the claim stands before it in the quote. A passive turns a sentence without changing what
it says, so where only one of the two has one, nothing is said here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepwell.audit.facts.statement import Statement
from stepwell.audit.facts.words import is_function, stem, words

_PASSIVE = re.compile(r"\bby\b|\b(?:is|are|was|were|been|being)\s+(?:\w+ly\s+)?\w+(?:ed|en|n|t)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"[,;:]")


def is_reversed(claim: Statement, quote: Statement) -> bool:
    if _SEVERAL.search(claim.text) or bool(_PASSIVE.search(claim.text)) != bool(_PASSIVE.search(quote.text)):
        return False
    ours, theirs = _words(claim), _words(quote)
    return any(_crosses(ours, theirs, pivot) for pivot in ours if ours.count(pivot) == theirs.count(pivot) == 1)


def _crosses(ours: Sequence[str], theirs: Sequence[str], pivot: str) -> bool:
    here, there = ours.index(pivot), theirs.index(pivot)
    before, after = set(ours[:here]), set(ours[here + 1 :])
    quoted_before, quoted_after = set(theirs[:there]), set(theirs[there + 1 :])
    return bool(before) and before <= quoted_after - quoted_before and bool(after & quoted_before - quoted_after)


def _words(statement: Statement) -> list[str]:
    """Words of meaning in order, without figures and dates, which move about freely."""
    spans = [(figure.start, figure.end) for figure in statement.figures] + [(date.start, date.end) for date in statement.dates]
    return [
        stem(word.text)
        for word in words(statement.text)
        if not is_function(word.text) and not any(start <= word.start < end for start, end in spans)
    ]
