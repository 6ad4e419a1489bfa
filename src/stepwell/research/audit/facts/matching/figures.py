"""Looks up a claim's figures in the sentences it cites.

```
same value, same unit or thing, same bound, same subject         found
same value, but for another name or date, or reversed            contradicted if the source gives that one another value
other value for the same thing, in a sentence about the same     contradicted
anything else                                                    missing
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from stepwell.research.audit.facts.reading.dates import DatePoint
from stepwell.research.audit.facts.reading.figures import Figure
from stepwell.research.audit.facts.reading.statement import FOUND, Anchors, Finding, Statement
from stepwell.research.audit.facts.words.synonyms import meanings
from stepwell.research.audit.facts.words.units import DIMENSION_OF
from stepwell.words import stem

SAME_SUBJECT = 0.5
_TOLERANCE = Decimal("0.02")
_ANYBODY_WORDS = "people persons person individuals"
_PEOPLE_WORDS = (
    "residents inhabitants patients participants passengers customers pupils students volunteers members visitors spectators "
    "speakers workers employees users citizens voters guests soldiers refugees singers players"
)
_ANYBODY = frozenset(stem(word) for word in _ANYBODY_WORDS.split())
_PEOPLE = frozenset(stem(word) for word in _PEOPLE_WORDS.split())
_Candidate = tuple[Statement, Figure]


def match_figures(claim: Statement, quotes: Sequence[Statement]) -> list[Finding]:
    """One finding per figure of the claim."""
    candidates = [(quote, figure) for quote in quotes for figure in quote.figures]
    text = "\n".join(quote.text for quote in quotes)
    findings = [
        FOUND if _is_said_as_share(figure, text) else _match(claim, figure, candidates)
        for figure in claim.figures
        if not is_ordinal(claim.text, figure)
    ]
    return [*findings, *_swapped_pairs(claim, quotes)]


_HALF = re.compile(r"\bhalf\b(?! (?:a )?(?:past|hour|million|billion|dozen))|\bHälfte\b|\bmoitié\b|\bmitad\b", re.IGNORECASE)
_QUARTER = re.compile(r"\b(?:a|one) quarter of\b|\bein Viertel\b", re.IGNORECASE)
_THREE_QUARTERS = re.compile(r"\bthree[- ]quarters\b|\bdrei Viertel\b", re.IGNORECASE)
_SHARES = {Decimal(50): _HALF, Decimal(25): _QUARTER, Decimal(75): _THREE_QUARTERS}


def _is_said_as_share(figure: Figure, text: str) -> bool:
    """Whether the quotes have a percentage as a word: "half" for 50 percent."""
    if figure.unit != "percent" or len(figure.values) != 1:
        return False
    form = _SHARES.get(next(iter(figure.values)))
    return form is not None and form.search(text) is not None


def is_ordinal(text: str, figure: Figure) -> bool:
    """Whether the figure is a rank ("3rd"), which `ranks` compares."""
    return _ORDINAL.match(text, figure.start) is not None


_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)\b")


def _swapped_pairs(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding for two figures that a quote has in reverse order around the same words: "by 9 votes to 4", "by 4 votes to 9"."""
    theirs = [(quote, *pair) for quote in quotes for pair in pairwise(quote.figures)]
    for first, second in pairwise(claim.figures):
        between = claim.text[first.end : second.start].split()
        for quote, one, two in theirs:
            if first.values == two.values != second.values == one.values and between == quote.text[one.end : two.start].split():
                said = claim.text[first.start : second.end]
                yield Finding(
                    "contradicted", f"the claim says '{said}', the source '{quote.text[one.start : two.end]}'", at=quote
                )


def _match(claim: Statement, figure: Figure, candidates: list[_Candidate]) -> Finding:
    said = f"'{figure.named(claim.text)}'"
    equal = [(quote, other) for quote, other in candidates if _is_value(figure, other) and _is_same_thing(figure, quote, other)]
    if equal:
        return _best([_compare(claim, figure, candidate, candidates) for candidate in equal])
    measured = claim.next_word(figure)
    # A reader is told the other value of what the claim measures: of "65 metres long and 28 metres deep", the depth of a depth.
    for quote, other in sorted(candidates, key=lambda each: each[0].next_word(each[1]) != measured):
        if claim.shared(quote) < SAME_SUBJECT:
            continue
        if _is_measured_alike(figure, other) and not figure.values & other.values:
            return Finding("contradicted", f"the claim says {said}, the source '{other.named(quote.text)}'", at=quote)
        if figure.is_same_value(other) and _is_other_unit(figure, other):
            return Finding(
                "contradicted", f"the claim says {said}, the source '{other.named(quote.text)}': another unit", at=quote
            )
    return Finding("missing", f"the source does not say {said}")


def _compare(claim: Statement, figure: Figure, candidate: _Candidate, candidates: list[_Candidate]) -> Finding:
    quote, other = candidate
    said = f"'{figure.named(claim.text)}'"
    if figure.per and other.per and figure.per != other.per:
        return Finding("contradicted", f"{said} is per {figure.per} in the claim and per {other.per} in the source", at=quote)
    if {figure.bound, other.bound} == {"<", ">"}:
        return Finding("contradicted", f"{said} is an upper bound on one side and a lower bound on the other", at=quote)
    if figure.role and other.role and figure.role != other.role:
        return Finding("contradicted", f"{said} is where it starts on one side and where it ends on the other", at=quote)
    mine, theirs = claim.anchors(figure), quote.anchors(other)
    if mine.names and theirs.names and (not mine.names & theirs.names or _stands_elsewhere(figure, mine, quote, other)):
        return _of_another("name", said, any(_has_other_value(figure, mine, each, "name") for each in candidates))
    if mine.dates and theirs.dates and not _meet(mine.dates, theirs.dates):
        return _of_another("date", said, any(_has_other_value(figure, mine, each, "date") for each in candidates))
    if _is_of_something_else(claim, figure, quote, other):
        return Finding("contradicted", f"the source gives {said} for something else, and another figure for this", at=quote)
    if figure.bound != other.bound and figure.bound != "~":
        return Finding("missing", f"{said} is exact on one side and a bound on the other")
    return FOUND


def _of_another(what: str, said: str, has_other_value: bool) -> Finding:
    if has_other_value:
        return Finding("contradicted", f"the source gives {said} for another {what}, and another figure for this one")
    return Finding("missing", f"the source gives {said} for another {what}")


def _stands_elsewhere(figure: Figure, mine: Anchors, quote: Statement, found: Figure) -> bool:
    """Whether a name of the claim is in the same sentence, but with another figure of the same kind: Egypt took 44 %, Pakistan 19 %."""
    theirs = quote.anchors(found).names
    others = [quote.anchors(other).names - theirs for other in quote.figures if other is not found and _is_rival(figure, other)]
    return bool(theirs - mine.names) and any(mine.names & other for other in others)


def _is_rival(figure: Figure, other: Figure) -> bool:
    return _is_measured_alike(figure, other) and not figure.values & other.values


def _meet(ours: Sequence[DatePoint], theirs: Sequence[DatePoint]) -> bool:
    """Whether a date of one list can mean the same day, month or year as a date of the other."""
    return any(one.is_within(other) or other.is_within(one) for one in ours for other in theirs)


def _is_of_something_else(claim: Statement, figure: Figure, quote: Statement, found: Figure) -> bool:
    """Whether the claim's words occur in the sentence with another figure, and none with this one: 12 % of men and 40 % of women."""
    others = [other for other in quote.figures if _is_rival(figure, other)]
    measured = claim.next_word(figure)
    if figure.unit and measured and measured != quote.next_word(found) and measured in map(quote.next_word, others):
        return True
    wanted = claim.about(figure) - set(figure.nouns)
    if wanted & quote.about(found):
        return False
    return any(wanted & quote.about(other) for other in others)


def _best(findings: list[Finding]) -> Finding:
    """If one quote supports the claim, that is enough; otherwise the result is the most serious finding."""
    if FOUND in findings:
        return FOUND
    return next((finding for finding in findings if finding.outcome == "contradicted"), findings[0])


def _has_other_value(figure: Figure, mine: Anchors, candidate: _Candidate, what: str) -> bool:
    quote, other = candidate
    theirs = quote.anchors(other)
    same = mine.names & theirs.names if what == "name" else _meet(mine.dates, theirs.dates)
    return bool(same) and not figure.values & other.values and (_is_measured_alike(figure, other) or not other.nouns)


def _is_value(figure: Figure, other: Figure) -> bool:
    if figure.is_same_value(other):
        return True
    if figure.bound != "~" or len(figure.values) != 1 or len(other.values) != 1:
        return False
    rough, exact = next(iter(figure.values)), next(iter(other.values))
    return exact != 0 and abs(rough - exact) / abs(exact) <= _TOLERANCE


def _is_same_thing(figure: Figure, quote: Statement, other: Figure) -> bool:
    if figure.unit or other.unit:
        return figure.unit == other.unit
    if not figure.nouns or not other.nouns or _are_alike(figure.nouns, other.nouns):
        return True
    if figure.nouns[0] in _ANYBODY and other.nouns[0] in _PEOPLE:
        return True
    counted_elsewhere = any(set(figure.nouns) & set(third.nouns) for third in quote.figures if third is not other)
    return not counted_elsewhere and bool(set(figure.nouns) & quote.stems)


def _are_alike(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    return bool(set(ours) & set(theirs)) or any(meanings(one) & meanings(other) for one in ours for other in theirs)


def _is_measured_alike(figure: Figure, other: Figure) -> bool:
    if figure.unit or other.unit:
        return figure.unit == other.unit
    return bool(set(figure.nouns) & set(other.nouns)) or (not figure.nouns and not other.nouns)


def _is_other_unit(figure: Figure, other: Figure) -> bool:
    if figure.unit is None or other.unit is None or figure.unit == other.unit:
        return False
    return DIMENSION_OF.get(figure.unit) == DIMENSION_OF.get(other.unit)
