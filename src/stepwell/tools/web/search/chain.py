"""Several engines in order: the first that finds something answers. The outcomes of those asked before are recorded with the answer.

If none finds anything, the most informative outcome counts: an engine that searched and found nothing (`Empty`), then one that blocks
us, then one that failed.

A query that begins with `papers:` goes to the engines for papers, if the chain has any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.errors import ConfigurationError
from stepwell.tools.web.search.outcomes import (
    DEFAULT_RESULTS,
    Blocked,
    Empty,
    Found,
    SearchEngine,
    SearchOutcome,
    check_query,
    clamp_limit,
)

PAPERS = "papers:"
"""What a query begins with that is meant for the engines for papers."""


@dataclass(frozen=True)
class Searched:
    """The outcome of a search."""

    query: str
    outcome: SearchOutcome
    tried: tuple[SearchOutcome, ...]
    """The outcome of every engine that was asked, in order; `outcome` is one of them."""

    @property
    def engine(self) -> str:
        """The engine whose outcome counts."""
        return self.outcome.engine


class SearchChain:
    """Asks engines one after the other."""

    def __init__(self, engines: Sequence[SearchEngine], papers: Sequence[SearchEngine] = ()) -> None:
        if not engines:
            raise ConfigurationError("A search needs at least one engine. Name one in STEPWELL_SEARCH_ENGINES: duckduckgo.")
        self._engines = tuple(engines)
        self._papers = tuple(papers)

    @property
    def engines(self) -> tuple[str, ...]:
        return tuple(engine.name for engine in self._engines)

    @property
    def papers(self) -> tuple[str, ...]:
        return tuple(engine.name for engine in self._papers)

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> Searched:
        query, limit = check_query(query), clamp_limit(limit)
        asks_for_papers = query.lower().startswith(PAPERS)
        words = check_query(query[len(PAPERS) :]) if asks_for_papers else query
        tried: list[SearchOutcome] = []
        for engine in (asks_for_papers and self._papers) or self._engines:
            outcome = await engine.search(words, limit)
            tried.append(outcome)
            if isinstance(outcome, Found):
                break
        return Searched(query, min(tried, key=_rank), tuple(tried))


def _rank(outcome: SearchOutcome) -> int:
    """The lowest rank wins; among equals, the engine that was asked first."""
    if isinstance(outcome, Found):
        return 0
    if isinstance(outcome, Empty):
        return 1
    return 2 if isinstance(outcome, Blocked) else 3
