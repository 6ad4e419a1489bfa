"""Looks up a claim's names, quoted terms, and words that reverse a statement, in the sentences that the claim cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from stepwell.research.audit.facts.matching.subjects import is_referred_to, is_subject
from stepwell.research.audit.facts.reading.names import Name, is_in_compound, is_short_for, is_spelt_in, quoted_terms, stands_in
from stepwell.research.audit.facts.reading.statement import FOUND, NAMED, Finding, Statement
from stepwell.research.audit.facts.words.directions import Direction, directions, sides_of_comparison, strong_words
from stepwell.research.audit.facts.words.frames import frame
from stepwell.research.audit.facts.words.peoples import PEOPLES
from stepwell.research.audit.facts.words.qualifiers import (
    find_unsaid,
    gives_a_reason,
    hedged_words,
    is_hedged,
    looks_ahead,
    may_give_a_reason,
    speaks_of_the_future,
)
from stepwell.research.audit.facts.words.roots import root
from stepwell.research.audit.quoting import locate
from stepwell.words import content_stems, fold, is_function, stem, words

_SAME_SENTENCE = 0.7
_SAME_SUBJECT = 0.5
_FEWEST_SHARED = 2
_TURN = re.compile(r";|\b(?:but|while|whereas|although|though|however|unlike|in contrast)\b", re.IGNORECASE)
_LISTING = frozenset(["and", "or", "und", "et", "y"])
_WHOLE_WORDS = "all every everyone everybody everything entire entirely whole alle tous todos"
_WHOLES = frozenset(_WHOLE_WORDS.split())


def match_names(claim: Statement, quotes: Sequence[Statement]) -> list[Finding]:
    """One finding per name and quoted term of the claim."""
    text = "\n".join(quote.text for quote in quotes)
    quoted = [name for quote in quotes for name in quote.names]
    findings = []
    for name in claim.names:
        if stands_in(name, text) or is_in_compound(name, text) or is_short_for(name, quoted) or is_spelt_in(name, text):
            findings.append(NAMED)
            continue
        if _is_meant(claim, name, quotes):
            continue
        said, other = (
            claim.text[name.start : name.end],
            _replaced_name(claim, name, quotes) or _other_people(claim, name, quotes),
        )
        missing = Finding("missing", f"the source does not say '{said}'")
        findings.append(Finding("contradicted", f"the claim says '{said}', the source '{other}'") if other else missing)
    for term in quoted_terms(claim.text):
        is_there = locate(text.casefold(), term.casefold()) is not None
        findings.append(FOUND if is_there else Finding("missing", f"the source does not say “{term}”"))
    return findings


def _is_meant(claim: Statement, name: Name, quotes: Sequence[Statement]) -> bool:
    """Whether the name is the claim's subject, which the sentence that says the rest refers to without naming it."""
    if not is_subject(claim, name):
        return False
    own = set(content_stems(claim.text[name.start : name.end]))
    rest = claim.stems - own
    return any(
        len(rest & quote.stems) >= _SAME_SUBJECT * len(rest) and is_referred_to(quotes, place, name)
        for place, quote in enumerate(quotes)
    )


def match_wording(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """Findings about words that reverse, widen or strengthen what the quotes say; empty if there are none."""
    closest = max((claim.told(quote), claim.shared(quote)) for quote in quotes)
    if max(closest) >= _SAME_SUBJECT:  # of several equally close sentences, use the one that best supports the claim
        near = [quote for quote in quotes if (claim.told(quote), claim.shared(quote)) == closest]
        yield from min((list(_against(claim, quote)) for quote in near), key=len)
    else:
        yield from _find_strictly_turned(claim, quotes)
    yield from _find_denials_elsewhere(claim, quotes)
    yield from _find_unanswered_denials(claim, quotes)
    yield from _find_what_goes_beyond(claim, quotes)
    spoken = {piece for quote in quotes for word in words(quote.text) for piece in word.text.casefold().split("-")}
    for word in sorted(strong_words(claim.text) - spoken):
        if word not in _WHOLES or not spoken & _WHOLES:
            yield Finding("missing", f"the source does not say '{word}'")
    known = {direction.pair for quote in quotes for direction in directions(quote.text)}
    for direction in directions(claim.text):
        if direction.strict and direction.pair not in known and not _bounds_a_year(claim, direction.word):
            yield Finding("missing", f"the source does not say '{direction.word}'")


def _bounds_a_year(claim: Statement, word: str) -> bool:
    """Whether the word bounds a year of the claim ("after 1850"). Such years are compared with those of the quotes, whatever the
    wording."""
    return any(claim.text[: date.start].rstrip().endswith(word) for date in claim.dates)


def _find_what_goes_beyond(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """Kinds of statement that the claim makes and none of its quotes does: a superlative, a reason, the future."""
    text = "\n".join(quote.text for quote in quotes)
    for shown in find_unsaid(claim.text, text):
        yield Finding("missing", f"the source does not say '{shown}'")
    if (why := gives_a_reason(claim.text)) and not may_give_a_reason(text):
        yield Finding("missing", f"the source gives no reason (the claim says '{why}')")
    if speaks_of_the_future(claim.text) and not looks_ahead(text):
        yield Finding("missing", "the source does not say what will be")


def _against(claim: Statement, quote: Statement) -> Iterator[Finding]:
    yield from _find_denials(claim, quote)
    yield from _find_turned_words(claim, quote)
    yield from _find_swapped_names(claim, quote)
    if _prefers_the_other_way(claim, quote):
        yield Finding("contradicted", "the source says it the other way round", at=quote)
    if sides_of_comparison(claim.text) is None and is_reversed(claim, quote):
        yield Finding("missing", "the source says it the other way round")
    if hedged_words(quote.text) & claim.stems and not is_hedged(claim.text):
        yield Finding("missing", "the source says only that it may be so")


_PREFERS = re.compile(r"\b(?:prefer\w*|favou?r\w*)\b(?P<one>.+?)\b(?:to|over)\b(?P<two>.+)", re.IGNORECASE)


def _prefers_the_other_way(claim: Statement, quote: Statement) -> bool:
    """Whether a preference has changed sides: "clover to heather", "heather to clover"."""
    ours, theirs = _PREFERS.search(claim.text), _PREFERS.search(quote.text)
    if ours is None or theirs is None:
        return False
    (a, b), (c, d) = ([set(content_stems(side)) for side in match.groups()] for match in (ours, theirs))
    return bool((a - b) & (d - c)) and bool((b - a) & (c - d))


def _find_denials(claim: Statement, quote: Statement) -> Iterator[Finding]:
    for core in quote.denials.cores:
        if core[0] in claim.stems - claim.denials.scope and _is_meant_too(core, claim):
            yield Finding("contradicted", f"the source denies '{_shown(core, quote)}'", at=quote)
    for core in claim.denials.cores:
        if core[0] in quote.stems - quote.denials.scope and _is_meant_too(core, quote):
            yield Finding("contradicted", f"the claim denies '{_shown(core, claim)}', which the source says", at=quote)


def _is_meant_too(core: Sequence[str], other: Statement) -> bool:
    """Whether the other side says all that a negation certainly denies."""
    return set(core) <= other.stems


def _shown(core: Sequence[str], statement: Statement) -> str:
    """The words of a core as the sentence has them."""
    return " ".join(dict.fromkeys(word.text for word in words(statement.text) if stem(word.text) in core))


def _find_denials_elsewhere(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """Findings for sentences, even far from the claim, that deny two words which the claim says and no quote says without a negation."""
    claimed = claim.stems - claim.denials.scope
    said = [quote.stems - quote.denials.scope for quote in quotes]
    for quote in quotes:
        for core in quote.denials.cores:
            if len(core) > 1 and set(core) <= claimed and not any(set(core) <= each for each in said):
                yield Finding("contradicted", f"the source denies '{_shown(core, quote)}'", at=quote)


def _find_unanswered_denials(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding if the claim denies something and its quotes deny nothing: they contradict it if they mention what it denies, else they
    leave it open."""
    surely = claim.denials.heads
    if not surely or any(quote.denials.scope for quote in quotes):
        return
    denied = sorted({word.text for word in words(claim.text) if stem(word.text) in surely})
    signs = {(each.pair, -each.sign) for quote in quotes for each in directions(quote.text)}
    if denied and all(any((each.pair, each.sign) in signs for each in directions(word)) for word in denied):
        return  # "not approved" is "rejected"
    said = {root(word.text) for quote in quotes for word in words(quote.text)}
    firm = next((word for word in denied if root(word) in said), "")
    if firm:
        where = next(quote for quote in quotes if root(firm) in {root(word.text) for word in words(quote.text)})
        yield Finding("contradicted", f"the claim denies '{firm}', which the source says", at=where)
    else:
        yield Finding("missing", f"the source does not deny '{' '.join(denied)}'")


def _find_strictly_turned(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """Findings from the nearest sentence, if even that has little in common with the claim: only words of strict pairs count, such as
    more and less."""
    nearest = max(quotes, key=lambda quote: (claim.told(quote), claim.shared(quote)))
    if len(claim.stems & nearest.stems) >= _FEWEST_SHARED:
        yield from _find_turned_words(claim, nearest, strictly=True)


def _find_turned_words(claim: Statement, quote: Statement, *, strictly: bool = False) -> Iterator[Finding]:
    ours, theirs = _turned(directions(claim.text), claim), _turned(directions(_nearest_clause(claim, quote.text)), quote)
    is_swapped = _compares_the_other_way(claim, quote)
    for direction in ours:
        if stem(direction.word) in claim.denials.scope and quote.denials.scope:
            continue  # both deny something: who turns what cannot be told
        if (strictly and not direction.strict) or any(
            other.pair == direction.pair and other.sign != direction.sign for other in ours
        ):
            continue
        signs = {other.sign for other in theirs if other.pair == direction.pair}
        turns = is_swapped and (direction.strict or _is_comparative(direction.word))
        if signs and (direction.sign not in signs) != turns:
            other = next(other.word for other in theirs if other.pair == direction.pair)
            if fold(other) == fold(direction.word) and not turns:
                continue
            yield Finding("contradicted", f"the claim says '{direction.word}', the source '{other}'", at=quote)


def _turned(found: Sequence[Direction], statement: Statement) -> list[Direction]:
    """Directions as they are meant: "not approved" is on the side of "rejected"."""
    denied = statement.denials.surely
    return [replace(each, sign=-each.sign) if stem(each.word) in denied else each for each in found]


def _is_comparative(word: str) -> bool:
    return word.casefold().endswith("er")


def _nearest_clause(claim: Statement, text: str) -> str:
    """The part of a sentence that is about the claim's subject: "A rose, whereas B fell" says one thing about each."""
    clauses = [clause for clause in _TURN.split(text) if clause.strip()]
    if len(clauses) < 2:
        return text
    shares = [len(claim.stems & set(content_stems(clause))) for clause in clauses]
    best = max(shares)
    return clauses[shares.index(best)] if shares.count(best) == 1 and directions(clauses[shares.index(best)]) else text


def _compares_the_other_way(claim: Statement, quote: Statement) -> bool:
    """Whether the two sides of a comparison have changed places: "A than B", "B than A"."""
    ours, theirs = sides_of_comparison(claim.text), sides_of_comparison(quote.text)
    if ours is None or theirs is None:
        return False
    (a, b), (c, d) = ([set(content_stems(side)) for side in sides] for sides in (ours, theirs))
    crossed, straight = len(a & d) + len(b & c), len(a & c) + len(b & d)
    if a & d and b & c and not b & d:
        return True  # both sides have changed places; the words that both share are what is compared
    moved = {part for name in claim.names for part in name.parts}
    if moved:
        left, right = ({fold(word.text) for word in words(side)} & moved for side in ours)
        left, right = left - right, right - left
        quoted_left, quoted_right = ({fold(word.text) for word in words(side)} & moved for side in theirs)
        if left | right and quoted_left | quoted_right:
            return bool(left & quoted_right or right & quoted_left) and not (left & quoted_left or right & quoted_right)
    return crossed > straight


def _find_swapped_names(claim: Statement, quote: Statement) -> Iterator[Finding]:
    """A finding if two names act on each other in the opposite direction. If only one of claim and quote has a "by", which reverses the
    order by itself, we leave it to the judge."""
    if claim.shared(quote) < _SAME_SENTENCE or sides_of_comparison(claim.text) is not None:
        return
    order = {name.parts: name for name in claim.names}
    quoted = [name.parts for name in quote.names if name.parts in order]
    if len(order) < 2 or len(quoted) < 2 or len(set(quoted)) != len(quoted):
        return
    if (" by " in claim.text) != (" by " in quote.text):
        return
    ours = [name for name in claim.names if name.parts in quoted]
    for first, second in pairwise(ours):
        between = {word.text.casefold() for word in words(claim.text[first.end : second.start])} - _LISTING
        if between and quoted.index(first.parts) > quoted.index(second.parts):
            yield Finding("missing", "the source names them in another order")
            return


def _other_people(claim: Statement, name: Name, quotes: Sequence[Statement]) -> str | None:
    """The origin ("Danish") that a sentence on the same subject gives, for an origin in the claim; `None` if there is none."""
    if len(name.parts) != 1 or name.parts[0] not in PEOPLES:
        return None
    about = {part for other in claim.names if other is not name for part in other.parts}
    for quote in quotes:
        if about & {part for other in quote.names for part in other.parts}:
            return next((quote.text[each.start : each.end] for each in quote.names if each.parts[0] in PEOPLES), None)
    return None


def _replaced_name(claim: Statement, name: Name, quotes: Sequence[Statement]) -> str | None:
    """The name that a quote has where the claim has this one: between the same words, in a sentence that says the same."""
    own = {part for other in claim.names for part in other.parts}
    named = {stem for other in claim.names for stem in content_stems(claim.text[other.start : other.end])}
    rest = claim.stems - named
    here = frame(claim.text, name.start, name.end)
    for quote in quotes:
        if not rest or len(rest & quote.stems) / len(rest) < _SAME_SENTENCE:
            continue
        for other in quote.names:
            if not own & set(other.parts) and here.fits(frame(quote.text, other.start, other.end)):
                return quote.text[other.start : other.end]
    return None


_PASSIVE = re.compile(r"\bby\b|\b(?:is|are|was|were|been|being)\s+(?:\w+ly\s+)?\w+(?:ed|en|n|t)\b", re.IGNORECASE)
_OF = re.compile(r"\b(\w+) (?:of|between) (?:the |a |an )?(\w+)", re.IGNORECASE)
_SEVERAL = re.compile(r"[,;:]")


def is_reversed(claim: Statement, quote: Statement) -> bool:
    """Whether a claim has a quote's own words on the wrong sides of its verb ("copper beats tin", "tin beats copper").

    Without a parser we see this only in plain cases: around a word that both have once, everything before it in the claim comes
    after it in the quote, and something after it in the claim comes before it in the quote. A passive reverses a sentence without
    changing its meaning, so if only one of the two has one, we say nothing.
    """
    if _SEVERAL.search(claim.text) or bool(_PASSIVE.search(claim.text)) != bool(_PASSIVE.search(quote.text)):
        return False
    ours, theirs = _words(claim), _words(quote)
    owned = _owned(claim.text) | _owned(quote.text)
    return any(
        _crosses(ours, theirs, pivot) for pivot in ours if ours.count(pivot) == theirs.count(pivot) == 1 and pivot not in owned
    )


def _owned(text: str) -> set[str]:
    """The words beside "of" and "between": "the growth of moss" is "moss growth", so those may change places."""
    return {stem(word) for match in _OF.finditer(text) for word in match.groups()}


def _crosses(ours: Sequence[str], theirs: Sequence[str], pivot: str) -> bool:
    here, there = ours.index(pivot), theirs.index(pivot)
    before, after = set(ours[:here]), set(ours[here + 1 :])
    quoted_before, quoted_after = set(theirs[:there]), set(theirs[there + 1 :])
    return bool(before) and before <= quoted_after - quoted_before and bool(after & quoted_before - quoted_after)


def _words(statement: Statement) -> list[str]:
    """Content words in order, without figures and dates, because those can stand anywhere in a sentence."""
    spans = [(figure.start, figure.end) for figure in statement.figures] + [(date.start, date.end) for date in statement.dates]
    return [
        stem(word.text)
        for word in words(statement.text)
        if not is_function(word.text) and not any(start <= word.start < end for start, end in spans)
    ]
