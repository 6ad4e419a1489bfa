"""Look a claim's figures up in the sentences it cites.

```
same value, same unit or thing, same bound, said of the same     found
same value, but of another name or year, or turned round         contradicted if the quote gives that one another value
other value for the same thing, in a sentence about the same     contradicted
anything else                                                    missing
```
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from stepwell.audit.facts.figures import Figure
from stepwell.audit.facts.finding import FOUND, Finding
from stepwell.audit.facts.statement import Statement
from stepwell.audit.facts.units import DIMENSION_OF

SAME_SUBJECT = 0.5
_TOLERANCE = Decimal("0.02")
_Candidate = tuple[Statement, Figure]


def match_figures(claim: Statement, quotes: Sequence[Statement]) -> list[Finding]:
    """One finding for each figure of the claim."""
    candidates = [(quote, figure) for quote in quotes for figure in quote.figures]
    return [_match(claim, figure, candidates) for figure in claim.figures]


def _match(claim: Statement, figure: Figure, candidates: list[_Candidate]) -> Finding:
    said = f"'{figure.named(claim.text)}'"
    equal = [(quote, other) for quote, other in candidates if _is_value(figure, other) and _is_same_thing(figure, quote, other)]
    if equal:
        return _best([_compare(claim, figure, candidate, candidates) for candidate in equal])
    for quote, other in candidates:
        if claim.shared(quote) < SAME_SUBJECT:
            continue
        if _is_measured_alike(figure, other) and not figure.values & other.values:
            return Finding("contradicted", f"the claim says {said}, the quote '{other.named(quote.text)}'")
        if figure.is_same_value(other) and _is_other_unit(figure, other):
            return Finding("contradicted", f"the claim says {said}, the quote '{other.named(quote.text)}': another unit")
    return Finding("missing", f"the figure {said} is not in the quotes")


def _compare(claim: Statement, figure: Figure, candidate: _Candidate, candidates: list[_Candidate]) -> Finding:
    quote, other = candidate
    said = f"'{figure.named(claim.text)}'"
    if {figure.bound, other.bound} == {"<", ">"}:
        return Finding("contradicted", f"{said} is an upper bound on one side and a lower bound on the other")
    if figure.role and other.role and figure.role != other.role:
        return Finding("contradicted", f"{said} is where it starts on one side and where it ends on the other")
    mine, theirs = claim.anchors(figure), quote.anchors(other)
    for ours, quoted, what in ((mine.names, theirs.names, "name"), (mine.years, theirs.years, "year")):
        if ours and quoted and not ours & quoted:
            if _has_other_value(figure, ours, candidates, what):
                return Finding("contradicted", f"the quote gives {said} for another {what}, and another figure for this one")
            return Finding("missing", f"the quote gives {said} for another {what}")
    if _is_of_something_else(claim, figure, quote, other):
        return Finding("contradicted", f"the quote gives {said} for something else, and another figure for this")
    if figure.bound != other.bound and figure.bound != "~":
        return Finding("missing", f"{said} is exact on one side and a bound on the other")
    return FOUND


def _is_of_something_else(claim: Statement, figure: Figure, quote: Statement, found: Figure) -> bool:
    """12 % of men and 40 % of women: the claim's words stand with another figure of the sentence, and none with this one."""
    others = [other for other in quote.figures if _is_measured_alike(figure, other) and not figure.values & other.values]
    measured = claim.next_word(figure)
    if figure.unit and measured and measured != quote.next_word(found) and measured in map(quote.next_word, others):
        return True
    wanted = claim.about(figure) - set(figure.nouns)
    if wanted & quote.about(found):
        return False
    return any(wanted & quote.about(other) for other in others)


def _best(findings: list[Finding]) -> Finding:
    """One quote that bears the claim out is enough; else the gravest."""
    if FOUND in findings:
        return FOUND
    return next((finding for finding in findings if finding.outcome == "contradicted"), findings[0])


def _has_other_value(figure: Figure, anchors: frozenset[str], candidates: list[_Candidate], what: str) -> bool:
    for quote, other in candidates:
        theirs = quote.anchors(other)
        held = theirs.names if what == "name" else theirs.years
        if anchors & held and not figure.values & other.values and (_is_measured_alike(figure, other) or not other.nouns):
            return True
    return False


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
    if not figure.nouns or not other.nouns or set(figure.nouns) & set(other.nouns):
        return True
    counted_elsewhere = any(set(figure.nouns) & set(third.nouns) for third in quote.figures if third is not other)
    return not counted_elsewhere and bool(set(figure.nouns) & quote.stems)


def _is_measured_alike(figure: Figure, other: Figure) -> bool:
    if figure.unit or other.unit:
        return figure.unit == other.unit
    return bool(set(figure.nouns) & set(other.nouns)) or (not figure.nouns and not other.nouns)


def _is_other_unit(figure: Figure, other: Figure) -> bool:
    if figure.unit is None or other.unit is None or figure.unit == other.unit:
        return False
    return DIMENSION_OF.get(figure.unit) == DIMENSION_OF.get(other.unit)
