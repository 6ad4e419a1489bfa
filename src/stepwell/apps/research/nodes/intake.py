"""Takes a question in: what was asked, with what at hand, and a clean slate for the rest."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from stepwell.apps.research.desk import open_desk
from stepwell.apps.research.kit import Kit
from stepwell.apps.research.schemas import MAX_PLAN_REVISIONS, MAX_QUERY_CHARS
from stepwell.apps.research.state import ResearchState
from stepwell.errors import InvalidRequestError


async def intake(kit: Kit, state: ResearchState, config: RunnableConfig) -> dict[str, Any]:
    query = _query(state)
    number = state.get("question_number", 0) + 1
    desk = await open_desk(kit, {**state, "question_number": number}, config)
    await desk.note(
        "question",
        "question",
        {
            "query": query,
            "knowledge_context": state.get("knowledge_context", ""),
            "context_urls": state.get("context_urls", []),
            "mode": "written" if kit.writes else "extractive",
            # A replay has to compare texts as this run did.
            "embedder": kit.embedder.id,
        },
    )
    return {
        "user_query": query,
        "question_number": number,
        "status": "thinking",
        "max_plan_revisions": state.get("max_plan_revisions", MAX_PLAN_REVISIONS),
        "plan": None,
        "audit_result": None,
        "plan_revision_count": 0,
        "human_approved": False,
        "rejection_reason": "",
        "approved_plan_sha256": "",
        "done_steps": [],
        "skipped": [],
        "denied_sources": [],
        "final_report": None,
        "error_message": None,
    }


def _query(state: ResearchState) -> str:
    """The last thing a person said: as a message of a chat, or as the query of this request."""
    messages = state.get("messages") or []
    said = messages[-1].text if messages and isinstance(messages[-1], HumanMessage) else ""
    query = (said or state.get("user_query") or "").strip()
    if not query:
        raise InvalidRequestError("There is no question. Send it as user_query, or as a message.")
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidRequestError(
            f"The question has {len(query):,} characters, at most {MAX_QUERY_CHARS:,} are taken. Ask in fewer words; "
            "material to work with goes into knowledge_context."
        )
    return query
