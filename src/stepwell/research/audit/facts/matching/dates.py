"""Looks up a claim's dates in the sentences it cites. A claim may say less than its quote ("2021" for "4 March 2021"), not more."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.research.audit.facts.matching.figures import SAME_SUBJECT
from stepwell.research.audit.facts.reading.dates import DatePoint
from stepwell.research.audit.facts.reading.statement import FOUND, Finding, Statement
from stepwell.words import stem

_NAMED_BY_YEAR = (
    "census edition report election season act law treaty war revolution survey film novel book study version model constitution "
    "budget crisis championship olympics conference agreement reform earthquake flood fire expedition"
)
_BY_YEAR = frozenset(stem(word) for word in _NAMED_BY_YEAR.split())


def match_dates(claim: Statement, quotes: Sequence[Statement]) -> list[Finding]:
    """One finding per date of the claim."""
    return [_match(claim, date, quotes) for date in claim.dates]


def _match(claim: Statement, date: DatePoint, quotes: Sequence[Statement]) -> Finding:
    said = f"'{claim.text[date.start : date.end]}'"
    equal = [(quote, other) for quote in quotes for other in quote.dates if date.is_within(other)]
    if equal and all(_is_of_something_else(claim, date, quote, other) for quote, other in equal):
        return Finding("contradicted", f"the source gives {said} for something else, and another date for this", at=equal[0][0])
    if equal and _is_told_of_another_day(claim, date, quotes, [quote for quote, _ in equal]):
        return Finding("contradicted", f"the source gives {said} for something else, and another date for this", at=equal[0][0])
    if equal or _names_a_thing(date, quotes):
        return FOUND
    if (bound := _bound(claim, date)) and (
        others := [other for quote in quotes for other in quote.dates if _can_compare(date, other)]
    ):
        return FOUND if any(_is_beyond(date, other, bound) for other in others) else _at_odds(said, quotes, others[0])
    for quote in quotes:
        for other in quote.dates if claim.shared(quote) >= SAME_SUBJECT else ():
            if other.part == date.part and _differs(date, other):
                return Finding(
                    "contradicted", f"the claim says {said}, the source '{quote.text[other.start : other.end]}'", at=quote
                )
    return Finding("missing", f"the source does not say {said}")


_BOUNDS = {"after": 1, "later than": 1, "before": -1, "earlier than": -1, "prior to": -1}


def _bound(claim: Statement, date: DatePoint) -> int:
    """1 if the claim means the time after the date, -1 if it means the time before, else 0."""
    before = claim.text[max(0, date.start - 14) : date.start].casefold().rstrip()
    return next((sign for word, sign in _BOUNDS.items() if before.endswith(" " + word)), 0)


def _can_compare(date: DatePoint, other: DatePoint) -> bool:
    return date.month is None and date.year is not None and other.year is not None and not date.part and not other.part


def _is_beyond(date: DatePoint, other: DatePoint, sign: int) -> bool:
    return (other.year or 0) * sign > (date.year or 0) * sign


def _at_odds(said: str, quotes: Sequence[Statement], other: DatePoint) -> Finding:
    shown = next(quote.text[other.start : other.end] for quote in quotes if other in quote.dates)
    return Finding("missing", f"the claim is bounded by {said}, the source says '{shown}'")


def _is_told_of_another_day(claim: Statement, date: DatePoint, quotes: Sequence[Statement], equal: Sequence[Statement]) -> bool:
    """Whether the quotes say what the claim says about this date only with another date, as when birth and death are in separate
    sentences."""
    wanted = claim.about(date)
    if not wanted or any(wanted & quote.stems for quote in equal):
        return False
    return any(_differs(date, other) and wanted <= quote.about(other) for quote in quotes for other in quote.dates)


def _is_of_something_else(claim: Statement, date: DatePoint, quote: Statement, found: DatePoint) -> bool:
    """Whether the claim's words occur in the sentence with another date, and none with this one: founded in 1873, rebuilt in 2019."""
    wanted = claim.about(date)
    if wanted & quote.about(found):
        return False
    return any(_differs(date, other) and wanted & quote.about(other) for other in quote.dates)


def _differs(date: DatePoint, other: DatePoint) -> bool:
    """Whether two dates exclude each other. A date that is only less precise ("2021") does not exclude the other ("4 March 2021")."""
    if date.alternative or other.alternative:
        return date.year != other.year
    pairs = ((date.year, other.year), (date.month, other.month), (date.day, other.day))
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def _names_a_thing(date: DatePoint, quotes: Sequence[Statement]) -> bool:
    """Whether the year is part of a name, as in "the 1890 census"."""
    if date.month is not None or date.part or date.year is None:
        return False
    return any(
        figure.literal == str(date.year) and figure.unit is None and set(figure.nouns[:1]) & _BY_YEAR
        for quote in quotes
        for figure in quote.figures
    )
