"""Superlatives: "the oldest", "the most valuable". Which thing comes first of all is a claim of its own, and a quote has to make it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stepwell.audit.facts.words import stem, words

_ORDINARY_WORDS = (
    "forest west northwest southwest midwest test rest request interest harvest guest nest quest conquest invest protest contest "
    "honest modest chest breast priest arrest suggest digest manifest attest tempest unrest inquest bequest behest ingest infest molest "
    "divest armrest earnest"
)
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_MOST = re.compile(r"most|least", re.IGNORECASE)
_MOST_OF = re.compile(r"most of\b|most\s+(?:people|households|cases|members|countries)", re.IGNORECASE)


def superlatives(text: str) -> Iterator[tuple[str, str]]:
    """Base and words of each: ("tough", "toughest"), ("valuabl", "most valuable")."""
    tokens = words(text)
    for position, word in enumerate(tokens):
        folded = word.text.casefold()
        if folded.endswith("est") and len(folded) > 5 and folded not in _ORDINARY and word.text[0].islower():
            yield base_of(folded), word.text
        elif _MOST.fullmatch(word.text) and position + 1 < len(tokens) and not _MOST_OF.match(text, word.start):
            yield stem(tokens[position + 1].text), text[word.start : tokens[position + 1].end]


def find_unsaid(claim: str, quotes: str) -> Iterator[str]:
    """The superlatives of a claim that the quotes do not have, in whichever form."""
    said = {base for base, _ in superlatives(quotes)}
    yield from (shown for base, shown in superlatives(claim) if base not in said)


def base_of(word: str) -> str:
    """`old` of "oldest", `heav` of "heaviest", `big` of "biggest": as `stem` leaves the plain word."""
    folded = word.casefold()
    bare = folded.removesuffix("est")
    return stem(bare[:-1] + "y" if bare.endswith("i") else bare)
