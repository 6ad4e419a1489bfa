"""A research graph without models or web: the state, nodes and questions of the real one, in a few lines.

What it does is chosen by words in the question: `slow` takes its time at the tools, `break` raises, `refuse` gives up with a
sentence.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from stepwell.research.graph.schemas import Approval, AuditResult, Node, ReasoningEntry, ResearchPlan, ResearchStep
from stepwell.research.graph.state import ResearchInput, ResearchState

SOURCES = [
    {"id": "s1", "title": "Wells", "url": "https://a.example/", "sha256": "0"},
    {"id": "s2", "title": "More", "url": "https://b.example/", "sha256": "1"},
]


def _thought(node: Node, summary: str) -> list[ReasoningEntry]:
    return [ReasoningEntry(node=node, timestamp=datetime(2026, 1, 2, tzinfo=UTC), summary=summary)]


def thinker(state: ResearchState) -> Any:
    query = state["user_query"]
    if "break" in query:
        raise ValueError("the thinker fell over")
    if "refuse" in query:
        return {"status": "failed", "error_message": "No plan was found."}
    step = ResearchStep(id="1", input=query)
    plan = ResearchPlan(objective=query, steps=(step,))
    count = state.get("plan_revision_count", 0)
    return {
        "status": "thinking",
        "plan": plan,
        "plan_revision_count": count,
        "human_approved": False,
        "reasoning": _thought("thinker", "planned"),
    }


def auditor(state: ResearchState) -> Any:
    return {"status": "awaiting_approval", "audit_result": AuditResult(verdict="approved"), "rejection_reason": ""}


def hitl_gate(state: ResearchState) -> Any:
    plan, audit = state["plan"], state["audit_result"]
    assert plan is not None
    assert audit is not None
    shown = {
        "type": "plan_approval",
        "plan": plan.model_dump(mode="json", by_alias=True),
        "audit": audit.model_dump(mode="json", by_alias=True),
        "estimate": {"requests": 1, "tokens": 0, "costUsd": None},
        "rules": {"P1": "Be kind."},
    }
    said = Approval.model_validate(interrupt(shown))
    if said.decision == "reject":
        revised = {"rejection_reason": said.reason or "no", "plan_revision_count": state.get("plan_revision_count", 0) + 1}
        return {**revised, "status": "failed", "error_message": "The plan was rejected."} if said.stop else revised
    return {"human_approved": True, "plan": said.plan or plan, "status": "executing"}


async def tool_executor(state: ResearchState) -> Any:
    if "slow" in state["user_query"]:
        await asyncio.sleep(60 if "very slow" in state["user_query"] else 0.5)
    return {"done_steps": ["1"], "status": "synthesizing"}


def source_review(state: ResearchState) -> Any:
    if not state.get("review_sources"):
        return {"denied_sources": []}
    return {"denied_sources": interrupt({"type": "source_review", "sources": SOURCES})["deny"]}


def synthesizer(state: ResearchState) -> Any:
    plan = state["plan"]
    assert plan is not None
    parts = [plan.objective, state.get("knowledge_context", ""), *state.get("context_urls", ()), *state["denied_sources"]]
    return {"status": "complete", "final_report": " | ".join(parts), "reasoning": _thought("synthesizer", "written")}


def _after_thinker(state: ResearchState) -> str:
    return END if state["status"] == "failed" else "auditor"


def _after_gate(state: ResearchState) -> str:
    if state["status"] == "failed":
        return END
    return "tool_executor" if state["human_approved"] else "thinker"


def stand_in() -> Any:
    builder = StateGraph(ResearchState, input_schema=ResearchInput)
    for node in (thinker, auditor, hitl_gate, tool_executor, source_review, synthesizer):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "thinker")
    builder.add_conditional_edges("thinker", _after_thinker, ["auditor", END])
    builder.add_edge("auditor", "hitl_gate")
    builder.add_conditional_edges("hitl_gate", _after_gate, ["tool_executor", "thinker", END])
    for before, after in pairwise(("tool_executor", "source_review", "synthesizer", END)):
        builder.add_edge(before, after)
    return builder.compile()
