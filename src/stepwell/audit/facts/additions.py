"""Look for words that were added to what the quotes say: "... because the owners wanted to impress their neighbours".

Such an addition has no number, name or date to look up, and a judge in a hurry agrees with it. Two words of meaning in a row that
stand nowhere in the quotes count as one, if the rest of the sentence is in the quotes' own words: a translation or a free
paraphrase shares few words anywhere, and is left to the judge. Who says so ("records show that") adds nothing, nor do words that carry
a sentence ("made", "roughly"). A single new word is too often a synonym; it counts where it was put
into what a quote says (`find_inserted`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby, pairwise

from stepwell.audit.facts.qualifiers import base_of
from stepwell.audit.facts.references import speaking_of
from stepwell.audit.facts.roots import pieces, root
from stepwell.audit.facts.statement import Finding, Statement
from stepwell.audit.facts.synonyms import meanings
from stepwell.audit.facts.words import Word, fold, is_function, language, stem, words

_FIRM = 6
_TOGETHER = 0.66
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
    """A finding for each run of words that the quotes do not say."""
    if is_translated(claim, quotes):
        return
    said = [frozenset(_families(quote.text)) for quote in speaking_of(claim, quotes)]
    own = _own_words(claim)
    facts = _places(claim)
    anywhere = frozenset[str]().union(*said)
    runs = [(kind, list(run)) for kind, run in groupby(own, lambda word: _kind(word, facts, anywhere))]
    new = [run for kind, run in runs if kind == "new"]
    if len(new) == 1 and len(new[0]) == 1 and _is_borne_out(claim, quotes, own, new[0][0], said):
        return
    for run in new:
        yield Finding("missing", f"the source does not say '{claim.text[run[0].start : run[-1].end][:80]}'")


def _own_words(claim: Statement) -> list[Word]:
    saying = _SAYING.match(claim.text)
    begins = saying.end() if saying else 0
    return [
        word
        for word in words(claim.text)
        if word.start >= begins and not is_function(word.text) and stem(word.text) not in _ATTRIBUTION
    ]


def _families(text: str) -> Iterator[str]:
    for word in words(text):
        for piece in pieces(word.text):
            yield from meanings(piece)
            yield root(base_of(piece))


def is_said(word: str, families: Set[str]) -> bool:
    parts = pieces(word)
    if len(parts) > 1:
        return root(parts[-1]) in families or all(is_function(part) or meanings(part) & families for part in parts[:-1])
    return bool(meanings(word) & families) or root(base_of(word)) in families


def is_translated(claim: Statement, quotes: Sequence[Statement]) -> bool:
    ours, theirs = language(claim.text), language(" ".join(quote.text for quote in quotes))
    return bool(ours and theirs and ours != theirs)


def _is_borne_out(claim: Statement, quotes: Sequence[Statement], own: Sequence[Word], new: Word, said: Sequence[frozenset[str]]) -> bool:
    """Whether the rest of a sentence is in the quotes so firmly that its one other word may well be another word for the same."""
    facts = _places(claim)
    rest = [word for word in own if word is not new and word.start not in facts]
    nearest = max((sum(is_said(word.text, each) for word in rest) for each in said), default=0)
    if any(find_inserted(claim, own, [word is new for word in own], quotes)):
        return False
    if claim.figures or claim.dates:
        return nearest >= 1
    return nearest >= _FIRM and nearest >= _TOGETHER * len(rest)


def _places(claim: Statement) -> set[int]:
    """Where figures, dates and names stand: those are looked up for themselves, in all their forms."""
    spans = [(figure.start, figure.end) for figure in claim.figures]
    spans += [(date.start, date.end) for date in claim.dates]
    spans += [(name.start, name.end) for name in claim.names]
    return {place for start, end in spans for place in range(start, end)}


def _kind(word: Word, facts: set[int], said: Set[str]) -> str:
    if word.start in facts or word.text[0].isdigit():
        return "fact"
    return "said" if is_said(word.text, said) else "new"


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
    """Single words that were put into what a quote says: "the *only* bridge", "37 *sunny* cities", "*secretly* bought".

    Whoever says something in other words replaces words; whoever adds something puts a word between two that stand side by side in
    the quote, or behind one that ends a clause there. Only the second is found. A word at a place that the claim has worded anew is
    left to the judge. `own` are the claim's words of meaning, `is_new` says of each whether the quotes lack it.
    """
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
