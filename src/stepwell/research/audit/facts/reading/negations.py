"""What a text denies. "Not only" and "no more than" deny nothing; "free of", "yet to" and "failed to" deny something without a "not".

The *core* of a negation is what it certainly denies: the two content words after it, or the one before it if none follows in its clause.
Its *scope* is what it may deny: everything that follows in the clause. Saying words of the scope with a negation is not a contradiction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.words import is_function, stem, words

_NEGATIONS_TEXT = (
    "not no never none cannot neither nor without nobody nothing hardly barely lack lacks lacked lacking isn't aren't wasn't "
    "weren't don't doesn't didn't won't wouldn't can't couldn't hasn't haven't hadn't nicht kein keine keinen keiner nie niemals "
    "ohne pas jamais aucun sans ningún ninguna nunca sin"
)
_NEGATIONS = frozenset(_NEGATIONS_TEXT.split())
_CLAUSE = re.compile(r"[,;:.!?()–—]|\b(?:but|while|whereas|although|and|aber|und|mais|et|pero|y)\b", re.IGNORECASE)
_NO_DENIAL = re.compile(
    r"\bnot only\b|\bno (?:more|less|fewer|later|earlier) than\b|\bno longer\b|\bno\. ?(?=\d)|\bnicht nur\b|\bnon seulement\b",
    re.IGNORECASE,
)
DENYING = re.compile(
    r"\bfree (?:of|from)\b|\byet to(?: be)?\b|\b(?:fail(?:s|ed)?|refus(?:es|ed)|unable) to\b|\bincapable of\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Denials:
    """What a text denies: the core of each of its negations, and the scope of all of them together, as stems."""

    cores: tuple[tuple[str, ...], ...] = ()
    scope: frozenset[str] = frozenset()

    @property
    def surely(self) -> frozenset[str]:
        """The stems that the text certainly denies."""
        return frozenset[str]().union(*self.cores)

    @property
    def heads(self) -> frozenset[str]:
        """The first word of each core: `finish` in "did not finish the race"."""
        return frozenset(core[0] for core in self.cores)


def denials(text: str) -> Denials:
    """What a text denies. Reads the text once, in linear time however many negations it has."""
    plain = DENYING.sub("without", _NO_DENIAL.sub(" ", text.replace("’", "'")))
    cores: dict[tuple[str, ...], None] = {}
    scope: set[str] = set()
    for clause in _CLAUSE.split(plain):
        found, may_deny = _read_clause([word.text for word in words(clause)])
        cores |= dict.fromkeys(found)
        scope |= may_deny
    return Denials(tuple(cores), frozenset(scope))


def _read_clause(tokens: Sequence[str]) -> tuple[list[tuple[str, ...]], set[str]]:
    """The core of each negation of a clause, and everything that they may deny: all words after the first of them."""
    meant: list[str] = []
    places: list[tuple[int, int]] = []
    for token in tokens:
        before = len(meant)
        if not is_function(token):
            meant.append(stem(token))
        if token.casefold() in _NEGATIONS:
            places.append((before, len(meant)))
    cores = [tuple(meant[after : after + 2] or meant[:before][-1:]) for before, after in places]
    may_deny = set(meant[places[0][1] :]) if places else set()
    return [core for core in cores if core], may_deny.union(*cores)
