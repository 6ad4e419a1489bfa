"""Where the graph goes next: pure functions of the state.

```
START ─> intake ─> thinker ─> auditor ─┬─ approved ─> hitl_gate ─┬─ approve ─> tool_executor ⟲ ─> follow_up ⟲ ─> source_review ─┐
                      ^                └─ otherwise ─┐           ├─ edit ────> auditor                                 synthesizer ─> END
                      └──────────────────────────────┘           ├─ reject ──> thinker
                      (ceiling reached, or a failure: END)       └─ reject and stop ─> END
tool_executor ─ nothing could be asked ─> search_retry ─┬─ approve ───> tool_executor
                                                        ├─ documents ─> follow_up, in the user's documents
                                                        └─ reject ────> END
(follow_up is left out where the plan allows no follow-ups, and ends where nothing is left to follow)
```
"""

from __future__ import annotations

from typing import Final, Literal

from stepwell.research.graph.schemas import MAX_PLAN_REVISIONS, ResearchStep
from stepwell.research.graph.state import ResearchState

END: Final = "__end__"
"""LangGraph's name for the end, as a literal for the routers' return types."""


def has_failed(state: ResearchState) -> bool:
    return state.get("status") == "failed"


def ceiling_reached(state: ResearchState) -> bool:
    return state.get("plan_revision_count", 0) >= state.get("max_plan_revisions", MAX_PLAN_REVISIONS)


def after_intake(state: ResearchState) -> Literal["thinker", "__end__"]:
    return END if has_failed(state) else "thinker"


def after_thinker(state: ResearchState) -> Literal["auditor", "__end__"]:
    return END if has_failed(state) else "auditor"


def after_audit(state: ResearchState) -> Literal["thinker", "hitl_gate", "__end__"]:
    """Only an approval leads to the gate. If the ceiling of revisions was reached, the auditor has set `failed` with a message."""
    if has_failed(state):
        return END
    audit = state.get("audit_result")
    if audit is None or audit.verdict != "approved" or audit.violations:
        return END if ceiling_reached(state) else "thinker"
    return "hitl_gate"


def after_gate(state: ResearchState) -> Literal["tool_executor", "auditor", "thinker", "__end__"]:
    if has_failed(state):
        return END
    if state.get("human_approved"):
        return "tool_executor"
    return "thinker" if state.get("rejection_reason") else "auditor"


def after_tools(state: ResearchState) -> Literal["tool_executor", "search_retry", "follow_up", "source_review", "__end__"]:
    if has_failed(state) or not state.get("human_approved"):
        return END
    if ready_steps(state):
        return "tool_executor"
    return "search_retry" if state.get("unreached") and not state.get("pages_read") else after_follow_up(state)


def after_retry(state: ResearchState) -> Literal["tool_executor", "follow_up", "source_review", "__end__"]:
    if has_failed(state) or not state.get("human_approved"):
        return END
    return "tool_executor" if ready_steps(state) else after_follow_up(state)


def after_follow_up(state: ResearchState) -> Literal["follow_up", "source_review", "__end__"]:
    if has_failed(state) or not state.get("human_approved"):
        return END
    return "follow_up" if state.get("follow_ups_left") else "source_review"


def after_review(state: ResearchState) -> Literal["synthesizer", "__end__"]:
    return END if has_failed(state) else "synthesizer"


def ready_steps(state: ResearchState) -> list[ResearchStep]:
    """Steps that can run now. Steps that depend on each other in a circle, or on a step that does not exist, count as ready, because what
    they wait for will never come."""
    plan = state.get("plan")
    if plan is None:
        return []
    done = set(state.get("done_steps", ()))
    left = [step for step in plan.steps if step.id not in done]
    waiting = {step.id for step in left}
    ready = [step for step in left if not waiting.intersection(step.depends_on)]
    return ready or left
