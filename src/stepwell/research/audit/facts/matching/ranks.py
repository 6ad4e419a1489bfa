"""Ranks: the *fourth* album, the *second-largest* city. "The largest" is the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stepwell.research.audit.facts.reading.statement import Finding, Statement
from stepwell.research.audit.facts.words.qualifiers import superlatives
from stepwell.research.audit.facts.words.roots import root
from stepwell.words import is_function, words

_ORDINAL_WORDS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
)
_ORDINALS = {word: place for place, word in enumerate(_ORDINAL_WORDS.split(), 1)}
_NUMBERED = re.compile(r"(\d{1,4})(?:st|nd|rd|th)", re.IGNORECASE)
_REACH = 3
"""How many content words after an ordinal may name what it counts: the second *studio album*."""


def find_other_ranks(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding per thing that the claim ranks differently from the quotes."""
    theirs = [(place, things, shown, quote) for quote in quotes for place, things, shown in ranks(quote.text)]
    for place, things, shown in ranks(claim.text):
        same = [other for other in theirs if other[1] & things]
        if same and not any(other[0] == place for other in same):
            yield Finding("contradicted", f"the claim says '{shown}', the source '{same[0][2]}'", at=same[0][3])
    told = {place for place, *_ in theirs}
    for place, _, shown in ranks(claim.text):
        if _NUMBERED.match(shown) and place not in told and not any(_has_rank(quote.text, place) for quote in quotes):
            yield Finding("missing", f"the source does not say '{shown}'")
    text = " ".join(quote.text for quote in quotes)
    for base, shown in superlatives(claim.text):
        if not _is_ranked(claim.text, shown) and base in {each for each, _ in superlatives(text)}:
            ranked = [_rank_before(text, said) for each, said in superlatives(text) if each == base]
            if all(ranked):
                yield Finding("contradicted", f"the source says '{ranked[0]} {shown}'")


def ranks(text: str) -> Iterator[tuple[int, frozenset[str], str]]:
    """Each rank, the roots of what it may count, and its wording."""
    tokens = words(text)
    for at, word in enumerate(tokens):
        place = place_of(word.text)
        if place is None:
            continue
        after = [each for each in tokens[at + 1 : at + 7] if not is_function(each.text)][:_REACH]
        if after:
            yield place, frozenset(root(each.text) for each in after if each.text[0].isalpha()), word.text


def _has_rank(text: str, place: int) -> bool:
    return any(place_of(word.text) == place for word in words(text))


def place_of(word: str) -> int | None:
    head = word.casefold().partition("-")[0]
    match = _NUMBERED.fullmatch(head)
    return int(match[1]) if match else _ORDINALS.get(head)


def _is_ranked(text: str, shown: str) -> bool:
    return bool(_rank_before(text, shown))


def _rank_before(text: str, shown: str) -> str:
    before = words(text[: max(0, text.find(shown))])[-1:]
    return before[0].text if before and place_of(before[0].text) not in (None, 1) else ""
