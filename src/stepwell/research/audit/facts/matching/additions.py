"""Finds words that a claim adds to what the quotes say, or puts in place of others.

A figure, a name or a date can be looked up; the quotes must also say every other word of a claim, in one of its forms or as an everyday
synonym. Attributions ("records show that") add nothing, nor do words that only carry a sentence ("made", "roughly"). So a claim that
shares only names with its quotes never counts as supported, whatever a judge says.

We allow one single word that the quotes lack, because it may be a synonym that we do not know, if they contain the rest firmly: with a
figure, or many words close together; and up to three in a longer claim (`_is_well_covered`). We do not allow a word that was inserted into
what a quote says (`find_inserted`) or put in place of another (`frames`). A quote in another language settles only the words that it shares
with the claim: "destroyed" and "geöffnet" may be synonyms or opposites, and no list here can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise

from stepwell.research.audit.facts.matching.nearness import SHORT
from stepwell.research.audit.facts.matching.references import speaking_of
from stepwell.research.audit.facts.reading.names import acronyms_of, stands_for
from stepwell.research.audit.facts.reading.negations import DENYING
from stepwell.research.audit.facts.reading.statement import Finding, Statement
from stepwell.research.audit.facts.words.directions import compares, directions, pairs_of, strong_words
from stepwell.research.audit.facts.words.effects import effects
from stepwell.research.audit.facts.words.frames import find_replaced, key
from stepwell.research.audit.facts.words.kinds import special_words
from stepwell.research.audit.facts.words.phrases import phrase_at, phrases
from stepwell.research.audit.facts.words.qualifiers import base_of
from stepwell.research.audit.facts.words.roots import pieces, root
from stepwell.research.audit.facts.words.synonyms import meanings
from stepwell.words import Word, is_function, language, stem, words

_FIRM = 6
"""If a quoted sentence contains this many words and names of a claim, it supports one more word that is not there."""
_TOGETHER = 2 / 3
_REPORTING_WORDS = (
    "accord article claim confirm describe document explain give given list mention note page publish quote read record report say said "
    "show source state survey tell told text write wrote written"
)
_CARRYING_WORDS = (
    "make makes made making take takes took taken get gets got go goes went gone come comes came become became hold held stand "
    "stands stood lie lies stay stayed remain remained amount amounted total located situated called named known around roughly "
    "approximately nearly almost circa altogether respectively currently today now namely one possess possesses possessed"
)
_LIGHT_WORDS = (
    "type kind sort form part piece example instance case way manner respect aspect thing entity factor feature subject genre character "
    "language title place time event role function functional effect act action activity process response capacity ability position "
    "information work works worked working involve involves involved involvement include includes included including play plays played "
    "perform performs appear appears appeared affect affects affected influence influences regulate regulates regulated regulation "
    "modulate modulates mediate mediates contribute contributes contributed participate participates require requires required "
    "responsible basis presence certain specific particular overall general themselves itself"
)
_LIGHT = frozenset(stem(word) for word in _LIGHT_WORDS.split())
"""Words that say little by themselves: a claim may add them to what its source says, if the source says enough of the rest."""
_REPORTING = frozenset(stem(word) for word in _REPORTING_WORDS.split())
_CARRYING = frozenset(stem(word) for word in _CARRYING_WORDS.split())
_OPENING_WORDS = 5
"""An attribution is among the first words of a sentence, or before "that"."""
_SAYING = re.compile(
    r"(?:it (?:turns|turned) out|it (?:is|was) \w+ed|to be \w+|in (?:short|fact|sum|total|all|particular|other words))\b,?(?: that)?",
    re.IGNORECASE,
)
"""Openings that a sentence may have before it says anything."""


def match_additions(claim: Statement, quotes: Sequence[Statement], cited: int = 1) -> Iterator[Finding]:
    """A finding per run of words that the quotes do not say. `cited` is how many quotes the sentences come from."""
    told = told_words(claim)
    if is_translated(claim, quotes):
        yield from _find_untold(told, quotes)
        return
    said = [families(quote.text) for quote in speaking_of(claim, quotes)]
    anywhere = frozenset[str]().union(*said)
    compared = (
        pairs_of(claim.text) & {pair for quote in quotes for pair in pairs_of(quote.text)}
        if compares(claim.text)
        else frozenset()
    )
    short = acronyms_of(" ".join(quote.text for quote in quotes))
    is_short = len(quotes) <= SHORT  # of many sentences, one has a word of the same kind by chance

    def is_new(word: Word) -> bool:
        if is_said(word.text, anywhere, general=is_short) or pairs_of(word.text) & compared:
            return False
        if is_short and (phrase := phrase_at(claim.text, word)) and is_said(phrase, anywhere):
            return False
        return not (stem(word.text) in claim.denials.surely and _is_denied_by_opposite(word.text, quotes))

    new = [list(run) for are_new, run in groupby(told, is_new) if are_new]
    new = [
        run for run in new if not stands_for([word.text for word in run], short) and not _is_introduced(claim.text, run, short)
    ]
    heavy = [run for run in new if not all(stem(word.text) in _LIGHT for word in run)]
    if is_short and len(heavy) < len(new) and _says_enough(told, anywhere):
        new = heavy
    yield from _find_scattered(claim, quotes, cited)
    if not new:
        return
    if len(new) == 1 and len(new[0]) == 1 and _is_borne_out(claim, told, new[0][0], said, quotes):
        return
    if _is_well_covered(claim, told, [word for run in new for word in run], quotes):
        return
    for run in new:
        yield _name_run(claim, run, quotes)


def _is_denied_by_opposite(word: str, quotes: Sequence[Statement]) -> bool:
    """Whether the quotes have the opposite of a word that the claim denies: "not approved" is "rejected"."""
    ours = {(each.pair, each.sign) for each in directions(word)}
    return any((each.pair, -each.sign) in ours for quote in quotes for each in directions(quote.text))


def _says_enough(told: Sequence[Word], anywhere: Set[str]) -> bool:
    """Whether the quotes say so much of a claim that its light words add nothing."""
    weighty = [word for word in told if stem(word.text) not in _LIGHT]
    return any(is_said(word.text, anywhere) for word in weighty)


def _find_untold(told: Sequence[Word], quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding if words of the claim are in no quote, and the quotes are in another language."""
    anywhere = frozenset[str]().union(*(families(quote.text) for quote in quotes))
    unsettled = list(dict.fromkeys(word.text for word in told if not is_said(word.text, anywhere)))
    if unsettled:
        shown = ", ".join(unsettled)[:_MAX_SHOWN]
        yield Finding("unsettled", f"the source is in another language, which leaves open: {shown}")


_MAX_SHOWN = 60


def told_words(claim: Statement) -> list[Word]:
    """The words that say something about the subject of a claim: no figures, dates, names, or words that only carry the sentence."""
    facts = _places(claim) | {place for match in DENYING.finditer(claim.text) for place in range(*match.span())}
    return [word for word in _own_words(claim) if word.start not in facts and not word.text[0].isdigit()]


def share_said(claim: Statement, quotes: Sequence[Statement]) -> float:
    """The share of `told_words` that the quotes have. Words that only say what a name stands for ("the Selvik *observatory* is") do not
    count."""
    anywhere = frozenset[str]().union(*(families(quote.text) for quote in quotes))
    whom = [name.end for name in claim.names]
    told = [
        word
        for word in told_words(claim)
        if not (any(word.start - end == 1 for end in whom) and _AUXILIARY.match(claim.text, word.end))
    ]
    return sum(is_said(word.text, anywhere) for word in told) / len(told) if told else 0.0


_AUXILIARY = re.compile(r" (?:is|was|are|were|has|had|have|will|can|may)\b")


@lru_cache(maxsize=256)
def families(text: str) -> frozenset[str]:
    """The possible meanings of the words of a text. Words with hyphens count as a whole and in parts."""
    spoken = [*(piece for word in words(text) for piece in pieces(word.text)), *phrases(text)]
    return frozenset(each for piece in spoken for each in (*meanings(piece), root(base_of(piece))))


def is_said(word: str, spoken: Set[str], *, general: bool = True) -> bool:
    """Whether a text with these families says the word. `general`: also if it has only a special word that this one covers."""
    parts = pieces(word)
    if len(parts) > 1:
        return root(parts[-1]) in spoken or all(is_function(part) or meanings(part) & spoken for part in parts[:-1])
    said = bool(meanings(word) & spoken) or root(base_of(word)) in spoken
    return said or (general and bool(special_words(word) & spoken))


def is_translated(claim: Statement, quotes: Sequence[Statement]) -> bool:
    """Whether the quotes are in another language than the claim."""
    ours, theirs = language(claim.text), language(" ".join(quote.text for quote in quotes))
    return bool(ours and theirs and ours != theirs)


def _own_words(claim: Statement) -> list[Word]:
    saying = _SAYING.match(claim.text)
    begins = saying.end() if saying else 0
    spoken = [word for word in words(claim.text) if word.start >= begins]
    return [
        word
        for place, word in enumerate(spoken)
        if not is_function(word.text) and stem(word.text) not in _CARRYING and not _reports(claim.text, spoken, place)
    ]


def _reports(text: str, spoken: Sequence[Word], place: int) -> bool:
    word = spoken[place]
    if stem(word.text) not in _REPORTING:
        return False
    return place < _OPENING_WORDS or text[word.end : word.end + 5] == " that" or place == len(spoken) - 1


def _places(claim: Statement) -> set[int]:
    """The places of figures, dates and names, which are looked up separately, in all their forms."""
    spans = [(figure.start, figure.end) for figure in claim.figures]
    spans += [(date.start, date.end) for date in claim.dates]
    spans += [(name.start, name.end) for name in claim.names]
    return {place for start, end in spans for place in range(start, end)}


def _is_introduced(text: str, run: Sequence[Word], short: Set[str]) -> bool:
    """Whether the words are followed by a short form that the quotes use: "the annual census (AC)"."""
    follows = _SHORT_FORM.match(text, run[-1].end)
    return follows is not None and follows[1].casefold() in short and follows[1][0].casefold() == run[0].text[0].casefold()


_SHORT_FORM = re.compile(r"(?: \w+)? \(([A-Z][\w-]{1,9})\)")


def _name_run(claim: Statement, run: Sequence[Word], quotes: Sequence[Statement]) -> Finding:
    shown = claim.text[run[0].start : run[-1].end][:80]
    other = find_replaced(claim.text, run[0], [quote.text for quote in quotes]) if len(run) == 1 else ""
    return Finding("missing", f"the source says '{other}', not '{shown}'" if other else f"the source does not say '{shown}'")


def _is_borne_out(
    claim: Statement, told: Sequence[Word], new: Word, said: Sequence[Set[str]], quotes: Sequence[Statement]
) -> bool:
    """Whether the quotes contain the rest of a claim so firmly that its one new word may well be a synonym."""
    rest = [word for word in told if word is not new]
    shared = [sum(is_said(word.text, each) for word in rest) for each in said]
    nearest = max(shared, default=0)
    if claim.figures or (claim.dates and nearest):
        is_firm = True
    else:
        named = {root(part) for name in claim.names for part in name.parts[-1:]}
        best = max((count + len(named & each) for count, each in zip(shared, said, strict=True) if count == nearest), default=0)
        is_firm = best >= _FIRM and nearest >= _TOGETHER * len(rest)
    own = _own_words(claim)
    return (
        is_firm
        and not any(True for _ in find_inserted(claim, own, [word.start == new.start for word in own], quotes))
        and not find_replaced(claim.text, new, [quote.text for quote in quotes])
    )


_MOST_NEW = 3
_FEWEST_SAID = 5
_COVERED, _COVERED_IN_LONG = 0.6, 0.7


def _is_well_covered(claim: Statement, told: Sequence[Word], new: Sequence[Word], quotes: Sequence[Statement]) -> bool:
    """Whether the quotes say so much of a longer claim, in one place, that a few other words of it are no more than another wording.

    Words with an opposite are never just wording, nor is a word in the place of another; and effects must go the same way.
    """
    if len(new) > _MOST_NEW or len(told) - len(new) < _FEWEST_SAID or strong_words(claim.text):
        return False
    texts = [quote.text for quote in quotes]
    if any(directions(word.text) or effects(word.text) or find_replaced(claim.text, word, texts) for word in new):
        return False
    spoken = [word.text for word in words(claim.text) if not is_function(word.text)]
    said = [families(text) for text in texts]
    shares = [sum(is_said(word, each) for word in spoken) / len(spoken) for each in said]
    best = quotes[shares.index(max(shares))]
    near = [one | two for one, two in pairwise(said)] or said
    covered = max(sum(is_said(word, each) for word in spoken) / len(spoken) for each in near)
    own = _own_words(claim)
    places = {word.start for word in new}
    if bool(claim.denials.cores) != bool(best.denials.cores):
        return False
    if any(True for _ in find_inserted(claim, own, [word.start in places for word in own], quotes)):
        return False
    return effects(claim.text) <= effects(best.text) and covered >= (_COVERED if len(quotes) <= SHORT else _COVERED_IN_LONG)


def _find_scattered(claim: Statement, quotes: Sequence[Statement], cited: int) -> Iterator[Finding]:
    """A finding if a claim combines words that are far apart in a long quote. Its words may come from two sentences, and from one more for
    each further quote; a single word may stand elsewhere."""
    if len(quotes) <= SHORT:
        return
    said = [families(quote.text) for quote in quotes]
    anywhere = frozenset[str]().union(*said)
    left = [word.text for word in words(claim.text) if not is_function(word.text) and is_said(word.text, anywhere)]
    for _ in range(1 + cited):
        best = max(said, key=lambda each: sum(is_said(word, each) for word in left))
        left = [word for word in left if not is_said(word, best)]
    if len(left) > _ELSEWHERE:
        yield Finding("missing", "the source says these things in different places, and not together")


_ELSEWHERE = 1


_ENDS = ".,;:!?)–—"
_VERBS = frozenset(["has", "have", "had", "is", "are", "was", "were", "does", "do", "did"])


@dataclass(frozen=True, slots=True)
class _Order:
    """The content words of a quoted sentence: which of them are adjacent, with which verbs in between; which is the first; which end a
    clause."""

    beside: Mapping[tuple[str, str], frozenset[str]]
    first: str
    ending: frozenset[str]


def find_inserted(claim: Statement, own: Sequence[Word], is_new: Sequence[bool], quotes: Sequence[Statement]) -> Iterator[Word]:
    """Single words inserted into what a quote says: "the *only* bridge", "37 *sunny* cities", "*secretly* bought".

    A paraphrase replaces words; an addition puts a word between two that are adjacent in the quote, or after one that ends a clause
    there. `own` are the claim's content words, `is_new` says for each whether the quotes lack it.
    """
    orders = [_order(quote.text) for quote in quotes]
    for place, word in enumerate(own):
        opens = place == 0 and claim.text[word.end : word.end + 1] == ","  # "Notably, ..."
        if is_new[place] and not opens and any(_fits(claim.text, own, place, order) for order in orders):
            yield word


def _fits(text: str, own: Sequence[Word], place: int, order: _Order) -> bool:
    if place == 0:
        return len(own) > 1 and key(own[1].text) == order.first
    before = own[place - 1]
    if place + 1 == len(own):
        return key(before.text) in order.ending
    after = own[place + 1]
    verbs = order.beside.get((key(before.text), key(after.text)))
    # If the quote has a verb there that the claim lacks, the word replaces it and was not inserted: "has 12" became "counts 12".
    return verbs is not None and verbs <= _verbs(text[before.end : after.start])


def _order(text: str) -> _Order:
    own = [word for word in words(text) if not is_function(word.text)]
    beside = {(key(one.text), key(two.text)): _verbs(text[one.end : two.start]) for one, two in pairwise(own)}
    ending = [key(word.text) for word in own if text[word.end : word.end + 1] in _ENDS]
    return _Order(beside, key(own[0].text) if own else "", frozenset(ending))


def _verbs(text: str) -> frozenset[str]:
    return frozenset(word.text.casefold() for word in words(text)) & _VERBS
