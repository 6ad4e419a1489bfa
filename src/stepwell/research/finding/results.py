"""Orders search results before their pages are fetched: those that share most words with what was searched for come first."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.models.embedding.embedder import Embedder
from stepwell.research.audit.facts.words import content_stems
from stepwell.tools.web.search.outcomes import SearchResult


async def rank_results(question: str, results: Sequence[SearchResult], embedder: Embedder) -> list[SearchResult]:
    """The results, best first. Ties keep the engine's order, which is all that is left if the results share no word with the question."""
    wanted = frozenset(content_stems(question))

    def shared(result: SearchResult) -> int:
        return len(wanted.intersection(content_stems(f"{result.title} {result.snippet}")))

    return sorted(results, key=shared, reverse=True)
