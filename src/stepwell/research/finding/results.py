"""Orders search results before their pages are fetched: by words and meaning of title and excerpt, and the engine's own order."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.models.embedding.embedder import Embedder
from stepwell.research.finding.choosing import dot
from stepwell.research.finding.terms import terms_of
from stepwell.tools.web.search.outcomes import SearchResult
from stepwell.word_scores import WordScores

_ENGINE = 0.5
"""The weight of the engine's order, beside 1 for words and 1 for meaning: it has seen the whole page."""


async def rank_results(question: str, results: Sequence[SearchResult], embedder: Embedder) -> list[SearchResult]:
    """The results, best first. Ties keep the engine's order."""
    if len(results) < 2:
        return list(results)
    texts = [f"{result.title}. {result.snippet}" for result in results]
    by_words = WordScores([terms_of(text) for text in texts]).score(terms_of(question))
    asked, *vectors = await embedder.aembed([question, *texts])
    near = [max(0.0, dot(asked, vector)) for vector in vectors]
    best = max(near) or 1.0
    scores = [
        words + one / best + _ENGINE * (1 - place / len(results))
        for place, (words, one) in enumerate(zip(by_words, near, strict=True))
    ]
    return [results[at] for at in sorted(range(len(results)), key=lambda each: (-round(scores[each], 6), each))]
