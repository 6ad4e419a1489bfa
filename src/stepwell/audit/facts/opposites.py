"""Opposites that are made by a syllable: `official` and `unofficial`, `connect` and `disconnect`, `useful` and `useless`.

Opposites that are two different words stand in the lists of `directions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepwell.audit.facts.negations import negation_scope
from stepwell.audit.facts.roots import root
from stepwell.audit.facts.statement import Finding, Statement
from stepwell.audit.facts.words import fold, is_function, stem, words

_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "anti", "mis", "de")
_SURE = ("non", "anti", "un", "dis")
_SHORTEST = 4


def find_opposites(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding for each word of the claim that the quotes have only with, or only without, the syllable that turns it."""
    ours, theirs = _by_root(claim.text), {key: word for quote in quotes for key, word in _by_root(quote.text).items()}
    denied = negation_scope(claim.text) | {each for quote in quotes for each in negation_scope(quote.text)}
    for key, word in ours.items():
        if key in theirs or stem(word) in denied:
            continue
        for turned in _turns(word, theirs):
            if stem(turned) not in denied:
                yield Finding("contradicted", f"the claim says '{word}', the source '{turned}'")
                break


def _by_root(text: str) -> dict[str, str]:
    return {root(word.text): word.text for word in words(text) if not is_function(word.text) and word.text[0].isalpha()}


def _turns(word: str, others: dict[str, str]) -> Iterator[str]:
    folded = fold(word).replace("-", "")
    for prefix in _PREFIXES:
        if folded.startswith(prefix) and len(folded) - len(prefix) >= _SHORTEST:
            bare = folded.removeprefix(prefix)
            if (other := others.get(root(bare))) and not fold(other).startswith(prefix):
                yield other
        for form in (prefix + folded, f"{prefix}-{folded}"):
            if other := others.get(root(form)):
                yield other
    if folded.endswith("less") and (other := others.get(root(folded.removesuffix("less") + "ful"))):
        yield other
    if folded.endswith("ful") and (other := others.get(root(folded.removesuffix("ful") + "less"))):
        yield other
