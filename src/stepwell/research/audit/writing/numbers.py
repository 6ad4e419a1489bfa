"""The numbers of a report's sources: in the order of their first citation, but sources that an earlier report of the thread cites come
first, in their order there. So a follow-up that cites the same sources gives them the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stepwell.research.audit.evidence import Claim, Quote, Source
from stepwell.research.audit.ledger import Evidence
from stepwell.research.audit.trail import DEEP, Entry, scope_of
from stepwell.research.audit.verdicts import RANK


def cited_sources(claim: Claim, quotes: Mapping[str, Quote], sources: Mapping[str, Source]) -> list[str]:
    return [quotes[each].source_id for each in claim.evidence if each in quotes and quotes[each].source_id in sources]


def number_sources(
    claims: Iterable[Claim], quotes: Mapping[str, Quote], sources: Mapping[str, Source], earlier: Sequence[str] = ()
) -> dict[str, int]:
    """The number of each source that these claims cite; `earlier` as from `order_earlier`."""
    cited = dict.fromkeys(source for claim in claims for source in cited_sources(claim, quotes, sources))
    ordered = dict.fromkeys([*(each for each in earlier if each in cited), *cited])
    return {source: number for number, source in enumerate(ordered, 1)}


def order_earlier(reports: Iterable[Entry], evidence: Evidence) -> list[str]:
    """The sources that earlier reports cite, those of the latest first, each report's in the order of their numbers."""
    order: list[str] = []
    for report in reports:
        if scope_of(report) == DEEP:
            continue
        claims = (evidence.claims[each] for each in report.data["claims"] if each in evidence.claims)
        kept = [claim for claim in claims if RANK[claim.verdict] >= RANK["partial"]]
        quotes = {each: evidence.quotes[each] for each in report.data["quotes"] if each in evidence.quotes}
        sources = {each: evidence.sources[each] for each in report.data["sources"] if each in evidence.sources}
        order = list(dict.fromkeys([*number_sources(kept, quotes, sources, order), *order]))
    return order
