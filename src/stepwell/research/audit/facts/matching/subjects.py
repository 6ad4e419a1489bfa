"""The subject of a claim that its quote does not name: a page about Ann Lawton says "she" or "the painter".

A quote alone does not show whom "she" means, but often nobody else can be meant: if the claim begins with a name, a sentence of the
quote begins with such a word and says the rest, and no sentence before it is about somebody else, then "she" is the claim's subject.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepwell.research.audit.facts.reading.names import Name
from stepwell.research.audit.facts.reading.statement import Statement
from stepwell.words import words

_PRONOUNS = frozenset(
    [
        "we",
        "our",
        "us",
        "wir",
        "unser",
        "unsere",
        "he",
        "she",
        "it",
        "they",
        "his",
        "her",
        "its",
        "their",
        "er",
        "sie",
        "es",
        "seine",
        "ihre",
        "il",
        "elle",
        "ils",
    ]
)
_ARTICLES = frozenset(["the", "this", "these", "that"])
_BEFORE_SUBJECT = re.compile(r"(?:(?:the|a|an|mr|mrs|ms|dr|sir)\.?\s+|[\"'“‘«(])*", re.IGNORECASE)


def is_subject(claim: Statement, name: Name) -> bool:
    """Whether the claim begins with the name."""
    return _BEFORE_SUBJECT.fullmatch(claim.text, 0, name.start) is not None


def is_referred_to(quotes: Sequence[Statement], place: int, name: Name) -> bool:
    """Whether the sentence at this place may be about the name without naming it."""
    if not refers(quotes[place]):
        return False
    earlier = next((quote for quote in reversed(quotes[:place]) if _leading(quote) is not None), None)
    leader = _leading(earlier) if earlier is not None else None
    return leader is None or bool(set(leader.parts) & set(name.parts))


def refers(quote: Statement) -> bool:
    """Whether a sentence begins with a word that refers to something, or lacks its subject."""
    spoken = words(quote.text)
    if not spoken:
        return False
    first = spoken[0].text
    if first.casefold() in _PRONOUNS or first[0].islower():
        return True
    if first.casefold() in _ARTICLES and len(spoken) > 1 and not _is_named(quote, spoken[1].start):
        return True
    opening = [word.text.casefold() for word in spoken[:_REACH]]
    return not _is_named(quote, spoken[0].start) and any(word in _PRONOUNS for word in opening)


_REACH = 8
"""How far from the beginning the word may be: "In 2013 she was"."""


def _leading(quote: Statement) -> Name | None:
    return next((name for name in quote.names if is_subject(quote, name)), None)


def _is_named(quote: Statement, start: int) -> bool:
    return any(name.start <= start < name.end for name in quote.names)
