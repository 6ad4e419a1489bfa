"""Which way an effect goes: "promotes" and "suppresses" share every other word of their sentences, and one is the "
"reverse of the other."""

from __future__ import annotations

from stepwell.research.audit.facts.words.roots import root
from stepwell.words import words

_MORE = (
    "increase rise raise grow gain promote enhance stimulate induce activate improve boost elevate upregulate high higher more greater "
    "positive cause trigger strengthen accelerate facilitate benefit protect require necessary essential associate correlate support"
)
_LESS = (
    "decrease reduce decline fall drop lower less fewer inhibit suppress impair block prevent attenuate downregulate "
    "diminish weaken worsen "
    "harm negative abolish eliminate disrupt loss lack deficiency absence unrelated ineffective fail low cut ban stop "
    "avoid oppose reject"
)
_SIDES = tuple(frozenset(root(word) for word in side.split()) for side in (_MORE, _LESS))


def effects(text: str) -> frozenset[int]:
    """The ways that the effects of a text go: 0 for more, 1 for less."""
    spoken = {root(word.text) for word in words(text)}
    return frozenset(way for way, side in enumerate(_SIDES) if spoken & side)
