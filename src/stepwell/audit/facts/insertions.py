"""Look for a single word that was put into what a quote says: "the *only* bridge", "37 *sunny* cities", "*secretly* bought".

Whoever says something in other words replaces words; whoever adds something puts a word between two that stand side by side in the
quote, or behind one that ends a clause there. Only the second is found here. A word at a place that the claim has worded anew
is left to the judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from stepwell.audit.facts.statement import Statement
from stepwell.audit.facts.words import Word, fold, is_function, stem, words

_ENDS = ".,;:!?)–—"
_VERBS = frozenset(["has", "have", "had", "is", "are", "was", "were", "does", "do", "did"])


@dataclass(frozen=True, slots=True)
class _Order:
    """The words of meaning of a quoted sentence: which stand side by side and with which verbs between, the first, those that end a
    clause."""

    beside: Mapping[tuple[str, str], frozenset[str]]
    first: str
    ending: frozenset[str]


def find_inserted(claim: Statement, own: Sequence[Word], is_new: Sequence[bool], quotes: Sequence[Statement]) -> Iterator[Word]:
    """The new words of a claim that stand where a quote has none. `own` are its words of meaning, `is_new` whether the quotes lack each."""
    orders = [_order(quote.text) for quote in quotes]
    for place, word in enumerate(own):
        opens = place == 0 and claim.text[word.end : word.end + 1] == ","  # "Notably, ..."
        if is_new[place] and not opens and any(_fits(claim.text, own, place, order) for order in orders):
            yield word


def _fits(text: str, own: Sequence[Word], place: int, order: _Order) -> bool:
    if place == 0:
        return len(own) > 1 and _key(own[1]) == order.first
    before = own[place - 1]
    if place + 1 == len(own):
        return _key(before) in order.ending
    after = own[place + 1]
    verbs = order.beside.get((_key(before), _key(after)))
    # A verb that the quote has there and the claim has not was replaced: "has 12" became "counts 12".
    return verbs is not None and verbs <= _verbs(text[before.end : after.start])


def _order(text: str) -> _Order:
    own = [word for word in words(text) if not is_function(word.text)]
    beside = {(_key(one), _key(two)): _verbs(text[one.end : two.start]) for one, two in pairwise(own)}
    ending = [_key(word) for word in own if text[word.end : word.end + 1] in _ENDS]
    return _Order(beside, _key(own[0]) if own else "", frozenset(ending))


def _verbs(text: str) -> frozenset[str]:
    return frozenset(word.text.casefold() for word in words(text)) & _VERBS


def _key(word: Word) -> str:
    return fold(word.text) if word.text[0].isdigit() else stem(word.text)
