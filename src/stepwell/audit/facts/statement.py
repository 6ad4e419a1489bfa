"""A sentence read: its figures, dates, names and words, and which of them belong together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from stepwell.audit.facts.dates import DatePoint, dates
from stepwell.audit.facts.directions import negated
from stepwell.audit.facts.figures import Figure, figures
from stepwell.audit.facts.names import Name, names
from stepwell.audit.facts.words import content_stems

_SEPARATOR = re.compile(r"[,;:]\s|\s(?:and|but|while|whereas|compared|und|aber|während|et|mais|y|pero)\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Anchors:
    """Whom or what, and when, a figure is about: the names and years of its own part of the sentence."""

    names: frozenset[str]
    years: frozenset[str]


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence says, as far as a machine can read it."""

    text: str
    dates: tuple[DatePoint, ...]
    figures: tuple[Figure, ...]
    names: tuple[Name, ...]
    stems: frozenset[str]
    negated: frozenset[str]

    def anchors(self, figure: Figure) -> Anchors:
        """From the part of the sentence between the figures next to this one; what that part lacks comes from the one before."""
        parts = _parts(self)
        own = next(number for number, (start, end) in enumerate(parts) if start <= figure.start < end)
        named: frozenset[str] = frozenset()
        years: frozenset[str] = frozenset()
        for start, end in reversed(parts[: own + 1]):
            named = named or frozenset(part for name in self.names if start <= name.start < end for part in name.parts)
            years = years or frozenset(
                date.named()[:12] for date in self.dates if start <= date.start < end and date.year is not None
            )
        return Anchors(named, years)

    def shared(self, other: Statement) -> float:
        """The share of this sentence's words of meaning that the other has too."""
        return len(self.stems & other.stems) / len(self.stems) if self.stems else 0.0


def _parts(statement: Statement) -> list[tuple[int, int]]:
    cuts = [0]
    for figure, following in pairwise(statement.figures):
        between = [match.start() + figure.end for match in _SEPARATOR.finditer(statement.text[figure.end : following.start])]
        cuts += between[-1:]
    return list(zip(cuts, [*cuts[1:], len(statement.text) + 1], strict=True))


def read(text: str, mark: str | None = None) -> Statement:
    """Read a sentence. `mark` is how its surroundings write fractions."""
    when = dates(text)
    how_much = figures(text, when, mark)
    taken = [*((date.start, date.end) for date in when), *((figure.start, figure.end) for figure in how_much)]
    return Statement(
        text, tuple(when), tuple(how_much), tuple(names(text, taken)), frozenset(content_stems(text)), negated(text)
    )
