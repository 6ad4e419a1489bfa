"""Plans, steps, audits and approvals as validated values, in both spellings. Mission R3."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stepwell.research.evidence.policy.rules import Violation
from stepwell.research.graph.schemas import (
    MAX_INPUT_CHARS,
    MAX_PLAN_REVISIONS,
    MAX_STEPS,
    Approval,
    AuditResult,
    ReasoningEntry,
    ResearchPlan,
    ResearchStep,
)
from stepwell.research.graph.state import ResearchState

steps = st.builds(
    ResearchStep,
    tool=st.sampled_from(["web_search", "fetch_page"]),
    input=st.text(min_size=1, max_size=50).filter(str.strip),
    rationale=st.text(max_size=50),
    depends_on=st.lists(st.text(max_size=5), max_size=3).map(tuple),
)
plans = st.builds(
    ResearchPlan,
    objective=st.text(min_size=1, max_size=50).filter(str.strip),
    steps=st.lists(steps, min_size=1, max_size=MAX_STEPS).map(tuple),
    estimated_token_budget=st.integers(0, 10**6),
    revision=st.integers(0, 9),
    follow_ups=st.integers(0, 4),
)


@given(plans)
def test_a_plan_survives_both_spellings(plan: ResearchPlan) -> None:
    camel = plan.model_dump(mode="json", by_alias=True)
    assert {"objective", "steps", "estimatedTokenBudget", "revision", "followUps", "words", "outline"} == set(camel)
    assert "dependsOn" in camel["steps"][0]
    assert ResearchPlan.model_validate(camel) == plan
    assert ResearchPlan.model_validate(plan.model_dump(mode="json")) == plan


def test_the_ceilings_are_those_of_the_mission() -> None:
    assert (MAX_STEPS, MAX_PLAN_REVISIONS) == (6, 5)


@pytest.mark.parametrize(
    "plan",
    [
        {"objective": "x", "steps": []},
        {"objective": "x", "steps": [{"input": "a"}] * 7},
        {"objective": " ", "steps": [{"input": "a"}]},
        {"steps": [{"input": "a"}]},
        {"objective": "x", "steps": [{"input": "  "}]},
        {"objective": "x", "steps": [{"input": "a" * (MAX_INPUT_CHARS + 1)}]},
        {"objective": "x", "steps": [{"input": "a", "tool": "execute"}]},
        {"objective": "x", "steps": [{"input": "a"}], "estimatedTokenBudget": -1},
    ],
)
def test_a_plan_that_is_none_is_refused(plan: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ResearchPlan.model_validate(plan)


def test_a_plan_cannot_be_changed_in_place() -> None:
    plan = ResearchPlan(objective="x", steps=(ResearchStep(input="a"),))
    with pytest.raises(ValidationError):
        plan.objective = "y"  # type: ignore[misc]  # that it is forbidden is the point


@pytest.mark.parametrize("verdict", ["ok", "APPROVED", "", None, True])
def test_there_are_three_verdicts(verdict: object) -> None:
    with pytest.raises(ValidationError):
        AuditResult.model_validate({"verdict": verdict})


def test_violations_read_as_document_002_has_them() -> None:
    audit = AuditResult(verdict="rejected", violations=(Violation(rule="J1", reason="no use"),))
    assert audit.policy_violations == ["J1: no use"]


@pytest.mark.parametrize("decision", ["yes", "Approve", None, ""])
def test_an_approval_has_one_of_three_decisions(decision: object) -> None:
    with pytest.raises(ValidationError):
        Approval.model_validate({"decision": decision})


def test_a_line_of_reasoning_names_a_node_of_the_graph() -> None:
    with pytest.raises(ValidationError):
        ReasoningEntry.model_validate({"node": "somebody", "timestamp": datetime.now(UTC), "summary": "x"})


def test_the_state_has_the_fields_of_document_002() -> None:
    named = {"user_query", "knowledge_context", "context_urls", "plan", "audit_result", "reasoning", "status"}
    named |= {"plan_revision_count", "max_plan_revisions", "human_approved", "final_report", "error_message"}
    assert named <= set(ResearchState.__annotations__) | set(ResearchState.__mro__[0].__annotations__)
