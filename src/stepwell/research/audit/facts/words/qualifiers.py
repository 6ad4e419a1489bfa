"""What a claim says beyond the bare fact, which its quotes must say too.

Hedges: it may be so, is suspected, planned or still to be decided. The future: it will be so. Reasons: it is so because of something.
Superlatives: it is the oldest, or the most valuable, because coming first is a fact of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stepwell.words import content_stems, stem, words

_HEDGE = re.compile(
    r"\b(?:may(?! not\b)|might|could|possibly|perhaps|probably|likely|reportedly|allegedly|supposedly|presumably|apparently|"
    r"expect(?:s|ed)?|plan(?:s|ned)?|propos(?:es|ed|al)|estimated|forecast|projected|suspect(?:s|ed)?|believed|thought to|"
    r"said to|rumou?red|appears? to|seems? to|suggests?|hopes? to|aims? to|intends? to|seeks? to|still needs?|awaits?|"
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
    """The stems of the hedged clauses. A "may" does not hedge the other clauses of its sentence."""
    return frozenset(each for clause in _CLAUSE.split(text) if is_hedged(clause) for each in content_stems(clause))


def speaks_of_the_future(text: str) -> bool:
    return _FUTURE.search(text) is not None


def looks_ahead(text: str) -> bool:
    """Whether a text says anything about the future, in any words."""
    return _AHEAD.search(text) is not None


_WHY = re.compile(
    r"\b(?:because|due to|owing to|thanks to|as a result of|in order to|so that|for (?:want|lack|fear) of|caused by|on account of|"
    r"brought about by|weil|wegen|damit|parce que|grâce à|porque|debido a)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|due|owing|thanks|as a result|result(?:s|ed|ing)? (?:from|in)|in order to|so that|so as to|for (?:want|lack|fear) of|"
    r"caus(?:e|es|ed|ing)|on account of|reasons?|led to|leads to|therefore|hence|thus|explain(?:s|ed)?|blam(?:e|es|ed)|"
    r"weil|wegen|damit|parce que|grâce à|porque|debido a)\b",
    re.IGNORECASE,
)


def gives_a_reason(text: str) -> str:
    """The words with which a text introduces a reason; empty if it gives none."""
    match = _WHY.search(text)
    return match.group() if match else ""


def may_give_a_reason(text: str) -> bool:
    """Whether a text can be read as giving a reason, in any words."""
    return _REASON.search(text) is not None


_ORDINARY_WORDS = (
    "forest west northwest southwest midwest test rest request interest harvest guest nest quest conquest invest protest contest "
    "honest modest chest breast priest arrest suggest digest manifest attest tempest unrest inquest bequest behest ingest infest molest "
    "divest armrest earnest"
)
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_MOST = re.compile(r"most|least", re.IGNORECASE)
_MOST_OF = re.compile(r"most of\b|most\s+(?:people|households|cases|members|countries)", re.IGNORECASE)


def superlatives(text: str) -> Iterator[tuple[str, str]]:
    """The base and the wording of each superlative: ("tough", "toughest"), ("valuabl", "most valuable")."""
    tokens = words(text.replace("-", " "))
    for position, word in enumerate(tokens):
        folded = word.text.casefold()
        if folded.endswith("est") and len(folded) > 5 and folded not in _ORDINARY and word.text[0].islower():
            yield base_of(folded), word.text
        elif _MOST.fullmatch(word.text) and position + 1 < len(tokens) and not _MOST_OF.match(text, word.start):
            yield stem(tokens[position + 1].text), text[word.start : tokens[position + 1].end]


def find_unsaid(claim: str, quotes: str) -> Iterator[str]:
    """The superlatives of a claim that the quotes do not have, in any form."""
    said = {base for base, _ in superlatives(quotes)}
    yield from (shown for base, shown in superlatives(claim) if base not in said)


def base_of(word: str) -> str:
    """`old` for "oldest", `heav` for "heaviest", `big` for "biggest": the form that `stem` gives the plain word."""
    folded = word.casefold()
    bare = folded.removesuffix("est")
    return stem(bare[:-1] + "y" if bare.endswith("i") else bare)
