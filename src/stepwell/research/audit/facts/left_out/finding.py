"""What a claim leaves out of the sentence it rests on, and thereby says more: "tried to cross" becomes "crossed", "if the repairs are
finished" is gone, "five of the six" becomes "six".

The sentence that carries the claim is the one that has most of its words. If several have as many, one that says it without the
qualification is enough. A claim that has a qualification of the same kind itself, in whatever words, left nothing out. The rules are
in `doubts` and `limits`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepwell.research.audit.facts.left_out.doubts import attempt, attribution, condition, denied, failure, opinion
from stepwell.research.audit.facts.left_out.limits import (
    approximation,
    former,
    only,
    part_of_whole,
    population,
    share,
    superlative,
)
from stepwell.research.audit.facts.left_out.rules import LONGEST, LeftOut, Rule
from stepwell.research.audit.facts.reading.statement import Finding, Statement

_RULES: tuple[Rule, ...] = (
    attempt, failure, condition, denied, opinion, attribution,
    approximation, former, superlative, part_of_whole, share, population, only,
)  # fmt: skip
_CARRIES = 0.5
_AS_WELL = 0.15
"""A sentence that has nearly as many of the claim's words as the best one carries it too."""


def find_dropped(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding per kind of qualification that every sentence which carries the claim has, and the claim lacks."""
    carriers = _carriers(claim, quotes)
    for rule in _RULES:
        found = [rule(claim, quote) for quote in carriers]
        if found and all(found) and (first := found[0]):
            yield Finding(first.outcome, _word(first))


def _word(left_out: LeftOut) -> str:
    shown = " ".join(left_out.shown.split())
    return f"the source says '{shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + '…'}'"


def _carriers(claim: Statement, quotes: Sequence[Statement]) -> list[Statement]:
    weights = [(claim.told(quote) + claim.shared(quote)) / 2 for quote in quotes]
    best = max(weights, default=0.0)
    return [quote for quote, weight in zip(quotes, weights, strict=True) if weight >= max(_CARRIES, best - _AS_WELL)]
