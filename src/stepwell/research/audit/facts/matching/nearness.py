"""Which sentences of a quote are about the same thing as a claim.

Another value, a denial or an opposite contradicts a claim only in such a sentence. Elsewhere it may be about something else, and leaves the
claim open. The more sentences are quoted, the nearer one has to be: of many sentences, some are near by chance.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from stepwell.research.audit.facts.matching.subjects import refers
from stepwell.research.audit.facts.reading.statement import Finding, Statement
from stepwell.words import content_stems

SHORT = 4
"""A quote, or several together, of at most this many sentences is short."""
_LONG = 10
_NEAR = ((SHORT, 0.6), (_LONG, 0.85), (sys.maxsize, 1.0))
"""By the number of sentences, the share of a claim's other words that a sentence about the same thing has."""
_AS_NEAR = 0.15
"""A sentence that has so much less than the nearest one is about something else."""
_FEW = 3
"""Of fewer words, one sentence says as much as another."""


def settle(finding: Finding, claim: Statement, quotes: Sequence[Statement]) -> Finding:
    """The finding; a contradiction that is in no sentence about the same thing becomes something missing."""
    if finding.outcome != "contradicted" or _decides(finding, claim, quotes):
        return finding
    return replace(finding, outcome="missing")


def _decides(finding: Finding, claim: Statement, quotes: Sequence[Statement]) -> bool:
    if finding.at is None:
        return len(quotes) <= _LONG
    rest = claim.stems - set(content_stems(finding.reason))
    if refers(finding.at):
        rest -= {each for name in claim.names for each in content_stems(claim.text[name.start : name.end])}
    if len(rest) < _FEW:
        return True
    here, nearest = len(rest & finding.at.stems), max(len(rest & each.stems) for each in quotes)
    near = next(share for most, share in _NEAR if len(quotes) <= most)
    return here >= near * len(rest) and here >= nearest - _AS_NEAR * len(rest)
