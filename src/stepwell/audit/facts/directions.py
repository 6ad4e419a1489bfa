"""Words that turn a statement round: more and less, before and after, not; and words that widen or narrow it.

A claim that says *rose* where its quote says *fell* is contradicted; one that says *all* where the quote does not, or drops a *may*,
says more than its quote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stepwell.audit.facts.words import fold, is_function, stem, words

_PAIRS = [
    (
        "increase rise rose risen grow grew grown growth gain climb surge expand soar jump up higher upward steigen stieg gestiegen "
        "zugenommen wuchs gewachsen augmenter augmenté augmentation aumentar aumentó crecer creció",
        "decrease decline fall fell fallen drop shrink shrank shrunk reduce reduction plunge plummet slump down lower downward sinken "
        "sank gesunken abgenommen schrumpfte diminuer diminué baisse baisser disminuir disminuyó bajó",
    ),
    (
        "more greater larger bigger exceed above mehr größer plus más mayor",
        "less fewer smaller below weniger kleiner moins menos menor",
    ),
    ("before prior earlier vorher avant antes", "after later following afterwards nachher après después"),
    (
        "most largest biggest highest greatest maximum größte höchste",
        "least smallest lowest minimum fewest kleinste niedrigste",
    ),
    ("longest", "shortest"),
    ("oldest older", "youngest younger newest newer"),
    ("best better", "worst worse"),
    ("faster fastest quicker", "slower slowest"),
    ("first earliest erste premier primero", "last latest letzte dernier último"),
    ("allow permit legal erlaubt autorisé", "ban forbid forbidden prohibit illegal verboten interdit"),
    ("accept approve approval", "reject rejection refuse deny denied"),
    ("win won winner victory", "lose lost loser defeat"),
    ("profit surplus", "loss deficit"),
    ("north northern", "south southern"),
    ("east eastern", "west western"),
    ("open opened", "close closed shut"),
    ("hot hotter warm warmer", "cold colder cool cooler"),
    ("safe", "unsafe dangerous"),
    ("success succeed successful", "fail failure failed unsuccessful"),
    ("possible able", "impossible unable"),
    ("true correct", "false incorrect wrong"),
    ("import", "export"),
    ("majority", "minority"),
    ("cause causes caused", "prevent prevents prevented"),
]
_SIDE = {
    stem(word): (number, sign)
    for number, sides in enumerate(_PAIRS)
    for sign, side in zip((1, -1), sides, strict=True)
    for word in side.split()
}
_EXACT = {
    fold(word): (number, sign)
    for number, sides in enumerate(_PAIRS)
    for sign, side in zip((1, -1), sides, strict=True)
    for word in side.split()
}
_STRONG_WORDS = (
    "all every always never none only half twice double triple quarter entire entirely exclusively majority most first last unique "
    "alle immer nie niemals nur tous toujours jamais seulement todos siempre nunca sólo"
)
_STRONG = frozenset(_STRONG_WORDS.split())
_HEDGE = re.compile(
    r"\b(?:may|might|could|possibly|perhaps|probably|likely|reportedly|allegedly|supposedly|expected to|planned|proposed|estimated|"
    r"forecast|projected|könnte|könnten|vielleicht|angeblich|voraussichtlich|peut-être|pourrait|podría|quizás)\b"
)
_NEGATIONS_TEXT = (
    "not no never none cannot neither nor without nobody nothing hardly barely nicht kein keine keinen keiner nie niemals ohne pas jamais "
    "aucun sans ningún ninguna nunca sin isn't aren't wasn't weren't don't doesn't didn't won't "
    "wouldn't can't couldn't hasn't haven't hadn't"
)
_NEGATIONS = frozenset(_NEGATIONS_TEXT.split())
_CLAUSE = re.compile(r"[,;:.!?()–—]|\b(?:but|while|whereas|although|and|aber|und|mais|et|pero|y)\b", re.IGNORECASE)
_NO_DENIAL = re.compile(
    r"\bnot only\b|\bno (?:more|less|fewer|later|earlier) than\b|\bnicht nur\b|\bnon seulement\b", re.IGNORECASE
)
_BOUND = re.compile(r"\b(?:more|less|fewer|greater|higher|lower|mehr|weniger) (?:than|als) (?=\S?\d)", re.IGNORECASE)
_THAN = re.compile(r"\b(?:than|als|que|before|after)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Direction:
    """A word of one of the pairs above."""

    pair: int
    sign: int
    word: str


def directions(text: str) -> list[Direction]:
    """The words of a text that have an opposite."""
    found = []
    for word in words(_BOUND.sub(" ", text)):  # a bound of a figure is the figure's business
        side = _EXACT.get(fold(word.text)) or _SIDE.get(stem(word.text))
        if side is not None:
            found.append(Direction(*side, word.text))
    return found


def negated(text: str) -> frozenset[str]:
    """The stems that a text denies: the two words of meaning after a negation, or the one before if none follows in its clause."""
    denied: set[str] = set()
    for clause in _CLAUSE.split(_NO_DENIAL.sub(" ", text.replace("’", "'"))):
        tokens = [word.text for word in words(clause)]
        for position, token in enumerate(tokens):
            if token.casefold() in _NEGATIONS:
                after = [stem(each) for each in tokens[position + 1 :] if not is_function(each)][:2]
                before = [stem(each) for each in tokens[:position] if not is_function(each)][-1:]
                denied.update(after or before)
    return frozenset(denied)


def strong_words(text: str) -> set[str]:
    """Words that claim a whole, a part, or a rank."""
    return {word.text.casefold() for word in words(text)} & _STRONG


def is_hedged(text: str) -> bool:
    """Whether a text says that something may be so. "May" with a capital is a month."""
    return _HEDGE.search(text) is not None


def sides_of_comparison(text: str) -> tuple[str, str] | None:
    """What stands before and after `than`, `before` or `after`, if the text compares once."""
    parts = _THAN.split(text)
    return (parts[0], parts[1]) if len(parts) == 2 else None
