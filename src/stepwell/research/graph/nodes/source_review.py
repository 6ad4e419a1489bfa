"""Lets a user admit or deny sources one by one before the report is written, if they asked for it."""

from __future__ import annotations

from stepwell.research.audit.evidence import Source
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.graph.answers import SOURCE_REVIEW, ask, read_review
from stepwell.research.graph.state import Done, ResearchState, read_sources


async def source_review(inquiry: Inquiry, state: ResearchState) -> Done:
    if not state.get("review_sources"):
        return {"status": "synthesizing"}, ""
    evidence = await inquiry.evidence()
    sources = {each: evidence.sources[each] for each in read_sources(state, evidence)}
    if not sources:
        return {"status": "synthesizing"}, ""
    denied = _ask(sources)
    await inquiry.tell(
        "source_review", "source_review", {"admit": [each for each in sources if each not in denied], "deny": denied}
    )
    change = {"status": "synthesizing", "denied_sources": denied}
    return change, f"You left out {len(denied)} of {len(sources)} sources."


def _ask(sources: dict[str, Source]) -> list[str]:
    shown = [
        {"id": each.source_id, "title": each.title, "url": each.url, "sha256": each.bytes_sha256} for each in sources.values()
    ]
    return ask({"type": SOURCE_REVIEW, "sources": shown}, lambda answer: read_review(answer, sources))
