"""Which sentences of a source are about the same subject, because they name it or refer to it with a word such as "she", "the show" or
"its". These rules see such a word only at the beginning of a sentence. A sentence about someone else says nothing about the claim's
subject: "Ann Lawton is a painter. Joan Lawton is a judge." does not make Ann a judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from stepwell.research.audit.facts.reading.names import Name, stands_in
from stepwell.research.audit.facts.reading.statement import Finding, Statement
from stepwell.words import words

_REFERRING_WORDS = (
    "he she it they his her its their the this these that those both such there here one who which also however since in "
    "on at during after before from as by while when for with under later then although though despite"
)
_REFERRING = frozenset(_REFERRING_WORDS.split())


def speaking_of(claim: Statement, quotes: Sequence[Statement]) -> list[Statement]:
    """The sentences that may be about the claim's subject; all of them if the claim has no names, or if none of the sentences can be
    about it."""
    if not claim.names:
        return list(quotes)
    found = [quote for quote in quotes if not quote.names or refers_back(quote) or _names_one_of(claim, quote)]
    return found or list(quotes)


def _names_one_of(claim: Statement, quote: Statement) -> bool:
    return any(_may_be_same(name.parts, other.parts) for name in claim.names for other in quote.names)


def _may_be_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two names may mean the same: one is part of the other, or only the middle differs. Ann Lawton and Joan Lawton cannot."""
    return set(one) <= set(other) or set(other) <= set(one) or (one[0], one[-1]) == (other[0], other[-1])


def refers_back(quote: Statement) -> bool:
    """Whether a sentence does not begin with a name, or begins with a word that refers to the subject of an earlier sentence."""
    first = next(iter(words(quote.text)), None)
    if first is None or first.text.casefold() in _REFERRING:
        return True
    return not any(name.start <= first.start < name.end for name in quote.names)


def find_joined(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding if a claim links two names that no sentence mentions together, and no sentence with one of them refers back to another."""
    named = [name for name in claim.names if any(stands_in(name, quote.text) for quote in quotes)]
    for first, second in pairwise(named):
        if set(first.parts) & set(second.parts) or any(mark in claim.text[first.end : second.start] for mark in ",;"):
            continue
        with_first = [place for place, quote in enumerate(quotes) if _has(quote, first)]
        with_second = [place for place, quote in enumerate(quotes) if _has(quote, second)]
        if with_first and with_second and not _are_linked(quotes, with_first, with_second):
            one, two = (claim.text[name.start : name.end] for name in (first, second))
            yield Finding("missing", f"no sentence of the source speaks of both '{one}' and '{two}'")


def _are_linked(quotes: Sequence[Statement], ones: Sequence[int], others: Sequence[int]) -> bool:
    return bool(set(ones) & set(others)) or any(refers_back(quotes[place]) for place in (*ones, *others))


def _has(quote: Statement, name: Name) -> bool:
    return stands_in(name, quote.text) or name.parts[-1] in _parts(quote.names)


def _parts(names: Sequence[Name]) -> set[str]:
    return {part for name in names for part in name.parts}
