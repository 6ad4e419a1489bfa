"""Look a claim's names, quoted terms and turning words up in the sentences it cites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from stepwell.audit.facts.directions import directions, is_hedged, sides_of_comparison, strong_words
from stepwell.audit.facts.finding import FOUND, NAMED, Finding
from stepwell.audit.facts.names import quoted_terms, stands_in
from stepwell.audit.facts.statement import Statement
from stepwell.audit.facts.words import content_stems, fold, words
from stepwell.audit.quoting import locate

_SAME_SENTENCE = 0.7
_SAME_SUBJECT = 0.5
_LISTING = frozenset(["and", "or", "und", "et", "y"])
_WHOLES = frozenset(["all", "every", "entire", "entirely", "alle", "tous", "todos"])


def match_names(claim: Statement, quotes: Sequence[Statement]) -> list[Finding]:
    """One finding for each name and quoted term of the claim."""
    text = "\n".join(quote.text for quote in quotes)
    findings = []
    for name in claim.names:
        if stands_in(name, text):
            findings.append(NAMED)
            continue
        said, other = claim.text[name.start : name.end], _other_name(claim, quotes)
        missing = Finding("missing", f"the name '{said}' is not in the quotes")
        findings.append(Finding("contradicted", f"the claim says '{said}', the quote '{other}'") if other else missing)
    for term in quoted_terms(claim.text):
        is_there = locate(text.casefold(), term.casefold()) is not None
        findings.append(FOUND if is_there else Finding("missing", f"the quoted words '{term}' are not in the quotes"))
    return findings


def match_wording(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """Findings about words that turn, widen or firm up what the quotes say; nothing if there are none."""
    closest = max(map(claim.shared, quotes))
    if closest >= _SAME_SUBJECT:  # of several equally close, the one that bears the claim out best
        near = [quote for quote in quotes if claim.shared(quote) == closest]
        yield from min((list(_against(claim, quote)) for quote in near), key=len)
    spoken = {word.text.casefold() for quote in quotes for word in words(quote.text)}
    for word in sorted(strong_words(claim.text) - spoken):
        if word not in _WHOLES or not spoken & _WHOLES:
            yield Finding("missing", f"the quotes do not say '{word}'")
    known = {direction.pair for quote in quotes for direction in directions(quote.text)}
    for direction in directions(claim.text):
        if direction.pair not in known:
            yield Finding("missing", f"the quotes do not say '{direction.word}'")


def _against(claim: Statement, quote: Statement) -> Iterator[Finding]:
    yield from _denied(claim, quote)
    yield from _turned(claim, quote)
    yield from _swapped(claim, quote)
    if is_hedged(quote.text) and not is_hedged(claim.text):
        yield Finding("missing", "the quote says only that it may be so")


def _denied(claim: Statement, quote: Statement) -> Iterator[Finding]:
    for word in sorted((quote.negated & claim.stems) - claim.negated):
        yield Finding("contradicted", f"the quote denies '{word}'")
    for word in sorted((claim.negated & quote.stems) - quote.negated):
        yield Finding("contradicted", f"the claim denies '{word}', which the quote says")


def _turned(claim: Statement, quote: Statement) -> Iterator[Finding]:
    ours, theirs = directions(claim.text), directions(quote.text)
    is_swapped = _compares_the_other_way(claim, quote)
    for direction in ours:
        signs = {other.sign for other in theirs if other.pair == direction.pair}
        if signs and (direction.sign not in signs) != is_swapped:
            other = next(other.word for other in theirs if other.pair == direction.pair)
            yield Finding("contradicted", f"the claim says '{direction.word}', the quote '{other}'")


def _compares_the_other_way(claim: Statement, quote: Statement) -> bool:
    """Whether the two sides of a comparison have changed places: "A than B", "B than A"."""
    ours, theirs = sides_of_comparison(claim.text), sides_of_comparison(quote.text)
    if ours is None or theirs is None:
        return False
    (a, b), (c, d) = ([set(content_stems(side)) for side in sides] for sides in (ours, theirs))
    crossed, straight = len(a & d) + len(b & c), len(a & c) + len(b & d)
    moved = {part for name in claim.names for part in name.parts}
    if moved:
        left, right = ({fold(word.text) for word in words(side)} & moved for side in ours)
        quoted_left, quoted_right = ({fold(word.text) for word in words(side)} & moved for side in theirs)
        if left | right and quoted_left | quoted_right:
            return bool(left & quoted_right or right & quoted_left) and not (left & quoted_left or right & quoted_right)
    return crossed > straight


def _swapped(claim: Statement, quote: Statement) -> Iterator[Finding]:
    """Two names that act on each other the other way round. "By" turns a sentence itself, so those are left to the judge."""
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
            yield Finding("missing", "the quote names them in another order")
            return


def _other_name(claim: Statement, quotes: Sequence[Statement]) -> str | None:
    """The name that stands in a sentence like the claim, and not in the claim."""
    own = {part for name in claim.names for part in name.parts}
    named = {stem for name in claim.names for stem in content_stems(claim.text[name.start : name.end])}
    rest = claim.stems - named
    for quote in quotes:
        if not rest or len(rest & quote.stems) / len(rest) < _SAME_SENTENCE:
            continue
        for name in quote.names:
            if not own & set(name.parts):
                return quote.text[name.start : name.end]
    return None
