"""What a text does not give as a fact: that it may be so, is suspected, planned, or still to be decided; and what it says of the future."""

from __future__ import annotations

import re

from stepwell.audit.facts.words import content_stems

_HEDGE = re.compile(
    r"\b(?:may(?! not\b)|might|could|possibly|perhaps|probably|likely|reportedly|allegedly|supposedly|presumably|apparently|"
    r"expect(?:s|ed)?|plan(?:s|ned)?|propos(?:es|ed|al)|estimated|forecast|projected|suspect(?:s|ed)?|believed|thought to|"
    r"said to|rumou?red|appears? to|seems? to|suggests?|hopes? to|aims? to|intends? to|seeks? to|yet to|still needs?|awaits?|"
    r"awaiting|pending|subject to|könnte|könnten|vielleicht|angeblich|voraussichtlich|peut-être|pourrait|podría|quizás)\b"
)
_CLAUSE = re.compile(r"[;:.!?()–—]|,\s|\b(?:but|while|whereas|although|and|aber|und|mais|et|pero|y)\b", re.IGNORECASE)
_FUTURE = re.compile(r"(?<!\bthe )(?<!\ba )(?<!\blast )\b(?:will|shall|going to|won't)\b", re.IGNORECASE)
_AHEAD = re.compile(
    r"\b(?:will|shall|would|won't|going to|plan\w*|expect\w*|due|forecast\w*|project(?:s|ed)|intend\w*|propos\w*|schedul\w*|"
    r"next|soon|coming|upcoming|set to|to be)\b",
    re.IGNORECASE,
)


def is_hedged(text: str) -> bool:
    """Whether a text says that something may be so. "May" with a capital is a month."""
    return _HEDGE.search(text) is not None


def hedged_words(text: str) -> frozenset[str]:
    """The stems of the clauses that are hedged; the other clauses of a sentence are not touched by a "may"."""
    return frozenset(each for clause in _CLAUSE.split(text) if is_hedged(clause) for each in content_stems(clause))


def speaks_of_the_future(text: str) -> bool:
    return _FUTURE.search(text) is not None


def looks_ahead(text: str) -> bool:
    """Whether a text says anything of what is to come, in whatever words."""
    return _AHEAD.search(text) is not None
