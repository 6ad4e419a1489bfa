"""Words of a sentence that a claim left out, and what the rules about them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stepwell.research.audit.facts.reading.statement import FactOutcome, Statement
from stepwell.research.audit.facts.words.roots import root
from stepwell.words import is_function, words

LONGEST = 60
"""How much of a source a reason shows, in characters."""
FEWEST = 2


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The words of a quote that the claim lacks, and how much that changes."""

    shown: str
    outcome: FactOutcome = "missing"


Rule = Callable[[Statement, Statement], LeftOut | None]
"""What a claim, the first sentence, left out of a quote, the second."""


def roots_of(text: str) -> frozenset[str]:
    return frozenset(root(word.text) for word in words(text) if not is_function(word.text))


def says_it(claim: Statement, text: str) -> bool:
    """Whether a text says at least half of what the claim says."""
    own = roots_of(claim.text)
    return len(own & roots_of(text)) >= max(FEWEST, len(own) // 2)
