"""Lets a person admit or deny sources one by one before anything is written, if they asked for it."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import interrupt

from stepwell.apps.research.answers import REVIEW_FAULT, SOURCE_REVIEW, read_review
from stepwell.apps.research.desk import open_desk
from stepwell.apps.research.kit import Equipment
from stepwell.apps.research.sources import read_sources
from stepwell.apps.research.state import ResearchState
from stepwell.audit.evidence import Source


async def source_review(kit: Equipment, state: ResearchState, config: RunnableConfig) -> dict[str, Any]:
    if not state.get("review_sources"):
        return {"status": "synthesizing"}
    desk = await open_desk(kit, state, config)
    evidence = await desk.evidence()
    sources = {each: evidence.sources[each] for each in read_sources(state, evidence)}
    if not sources:
        return {"status": "synthesizing"}
    denied = _ask(sources)
    await desk.tell(
        "source_review", "source_review", {"admit": [each for each in sources if each not in denied], "deny": denied}
    )
    return {
        "status": "synthesizing",
        "newest_entry": desk.newest,
        "denied_sources": denied,
        "reasoning": desk.reasoning("source_review", f"{len(denied)} of {len(sources)} sources denied."),
    }


def _ask(sources: dict[str, Source]) -> list[str]:
    shown = [
        {"id": each.source_id, "title": each.title, "url": each.url, "sha256": each.bytes_sha256} for each in sources.values()
    ]
    question: dict[str, Any] = {"type": SOURCE_REVIEW, "sources": shown}
    while True:
        answer = interrupt(question)
        denied = read_review(answer, sources)
        if denied is not None:
            return denied
        question = {**question, "problem": REVIEW_FAULT}
