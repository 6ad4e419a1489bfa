"""A parsed sentence (its figures, dates, names and words, and which of them belong together), and the result of looking up one fact of
it."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from stepwell.research.audit.facts.reading.dates import DatePoint, dates
from stepwell.research.audit.facts.reading.figures import Figure, figures
from stepwell.research.audit.facts.reading.names import Name, names
from stepwell.research.audit.facts.reading.negations import Denials, denials
from stepwell.words import content_stems

_SEPARATOR = re.compile(r"[,;:]\s|\s(?:and|but|while|whereas|compared|und|aber|während|et|mais|y|pero)\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Anchors:
    """What a figure is about, and when: the names and dates of its own part of the sentence."""

    names: frozenset[str]
    dates: tuple[DatePoint, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence says, as far as a machine can read it."""

    text: str
    dates: tuple[DatePoint, ...]
    figures: tuple[Figure, ...]
    names: tuple[Name, ...]
    stems: frozenset[str]
    denials: Denials

    def anchors(self, figure: Figure) -> Anchors:
        """The names and dates in the figure's own part of the sentence; if that part has no names, or no dates, those of the nearest part
        before it."""
        parts = _parts(self.text, self.figures)
        own = next(number for number, (start, end) in enumerate(parts) if start <= figure.start < end)
        named: frozenset[str] = frozenset()
        when: tuple[DatePoint, ...] = ()
        for start, end in reversed(parts[: own + 1]):
            named = named or frozenset(part for name in self.names if start <= name.start < end for part in name.parts)
            when = when or tuple(date for date in self.dates if start <= date.start < end)
        return Anchors(named, when)

    def about(self, fact: Figure | DatePoint) -> frozenset[str]:
        """The content words, except names and dates, in the part of the sentence that a figure or date belongs to."""
        likes: Sequence[Figure | DatePoint] = self.figures if isinstance(fact, Figure) else self.dates
        start, end = next((start, end) for start, end in _parts(self.text, likes) if start <= fact.start < end)
        spans = [(name.start, name.end) for name in self.names] + [(date.start, date.end) for date in self.dates]
        known = {each for begin, stop in spans for each in content_stems(self.text[begin:stop])}
        return frozenset(content_stems(self.text[start:end])) - known

    def next_word(self, figure: Figure) -> str:
        """The stem of what is measured: `men` in "12 % of the men"."""
        return next(iter(content_stems(self.text[figure.end : figure.end + 60])), "")

    def shared(self, other: Statement) -> float:
        """The share of this sentence's content words that the other has too."""
        return len(self.stems & other.stems) / len(self.stems) if self.stems else 0.0

    def told(self, other: Statement) -> float:
        """The same share without names, which occur in many sentences, so that only what is said about them counts."""
        named = {stem for name in self.names for stem in content_stems(self.text[name.start : name.end])}
        said = self.stems - named
        return len(said & other.stems) / len(said) if said else self.shared(other)


def _parts(text: str, facts: Sequence[Figure | DatePoint]) -> list[tuple[int, int]]:
    """Cuts a sentence between its facts. The words of a fact come after it if it opens its part ("In 1990, ..."), otherwise before it.
    Facts with no content word between them ("between 1996 and 2001") stay together.
    """
    cuts = [0]
    for fact, following in pairwise(facts):
        if not content_stems(text[fact.end : following.start]):
            continue
        between = [match.start() + fact.end for match in _SEPARATOR.finditer(text[fact.end : following.start])]
        opens = len(content_stems(text[cuts[-1] : fact.start])) == 0
        cuts += between[-1:] if opens else between[:1]
    return list(zip(cuts, [*cuts[1:], len(text) + 1], strict=True))


def read(text: str, mark: str | None = None, plain: Container[str] = frozenset()) -> Statement:
    """Parse a sentence. `mark` is the decimal mark of its surroundings; `plain` are stems of words that are not names."""
    when = dates(text)
    how_much = figures(text, when, mark)
    taken = [*((date.start, date.end) for date in when), *((figure.start, figure.end) for figure in how_much)]
    return Statement(
        text, tuple(when), tuple(how_much), tuple(names(text, taken, plain)), frozenset(content_stems(text)), denials(text)
    )


FactOutcome = Literal["found", "missing", "unsettled", "contradicted"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for one fact of a claim: the quotes contain it, lack it, do not decide it, or have it with another value. `reason` is
    for the reader."""

    outcome: FactOutcome
    reason: str = ""
    tells_whom: bool = False
    """Whether the fact is a name, which tells what the sentence is about, but nothing of what the sentence says about it."""
    at: Statement | None = field(default=None, compare=False, repr=False)
    """The sentence that has the other value, if the outcome is `contradicted` and one sentence decides."""


FOUND = Finding("found")
NAMED = Finding("found", tells_whom=True)
