"""What a text denies. "Not only" and "no more than" deny nothing; "free of", "yet to" and "failed to" do, without a "not".

A negation's *core* are the two words of meaning after it, or the one before if none follows in its clause: those it surely denies. Its
*scope* is all that follows in the clause: those it may deny, so that saying them with a negation is no contradiction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stepwell.audit.facts.words import is_function, stem, words

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


def negated(text: str) -> frozenset[str]:
    """The stems that a text surely denies."""
    return frozenset(each for core, _ in _denials(text) for each in core)


def denials(text: str) -> list[frozenset[str]]:
    """The same, one set for each negation."""
    return [core for core, _ in _denials(text) if core]


def negation_scope(text: str) -> frozenset[str]:
    """The stems that a text may deny."""
    return frozenset(each for core, scope in _denials(text) for each in core | scope)


def _denials(text: str) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    plain = DENYING.sub("without", _NO_DENIAL.sub(" ", text.replace("’", "'")))
    for clause in _CLAUSE.split(plain):
        tokens = [word.text for word in words(clause)]
        for position, token in enumerate(tokens):
            if token.casefold() in _NEGATIONS:
                after = [stem(each) for each in tokens[position + 1 :] if not is_function(each)]
                before = [stem(each) for each in tokens[:position] if not is_function(each)][-1:]
                yield frozenset(after[:2] or before), frozenset(after)
