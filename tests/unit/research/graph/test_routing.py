"""The routers, as pure functions of any state. Mission R1, R5; known defects: silent end at the revision ceiling, and a rejection
without listed violations counted as approval."""

from __future__ import annotations

import copy
from typing import Any, get_args

from hypothesis import assume, given
from hypothesis import strategies as st

from stepwell.research.evidence.policy.rules import Violation
from stepwell.research.graph import routing
from stepwell.research.graph.schemas import AuditResult, PlanVerdict, ResearchPlan, ResearchStatus, ResearchStep
from stepwell.research.graph.state import ResearchState

ROUTERS = (
    routing.after_intake,
    routing.after_thinker,
    routing.after_audit,
    routing.after_gate,
    routing.after_tools,
    routing.after_review,
)
IDS = ["a", "b", "c", "d", "e", "f"]
violations = st.lists(st.just(Violation(rule="J1", reason="no")), max_size=2).map(tuple)
audits = st.builds(AuditResult, verdict=st.sampled_from(get_args(PlanVerdict)), violations=violations)
plans = st.integers(1, 6).flatmap(
    lambda count: st.tuples(
        *(
            st.builds(
                ResearchStep,
                id=st.just(IDS[n]),
                input=st.just("x"),
                depends_on=st.lists(st.sampled_from([*IDS, "nobody"]), max_size=3).map(tuple),
            )
            for n in range(count)
        )
    ).map(lambda steps: ResearchPlan(objective="x", steps=steps))
)
states: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(get_args(ResearchStatus)),
        "audit_result": st.none() | audits,
        "plan": st.none() | plans,
        "plan_revision_count": st.integers(0, 7),
        "max_plan_revisions": st.integers(1, 6),
        "human_approved": st.booleans(),
        "rejection_reason": st.sampled_from(["", "not now"]),
        "done_steps": st.lists(st.sampled_from(IDS), unique=True),
    },
)


@given(states)
def test_nothing_is_carried_out_without_a_persons_approval(state: ResearchState) -> None:
    if not state.get("human_approved"):
        assert all(route(state) != "tool_executor" for route in ROUTERS)


@given(states)
def test_a_plan_that_was_not_plainly_approved_never_reaches_the_gate(state: ResearchState) -> None:
    audit = state.get("audit_result")
    doubt = audit is None or audit.verdict != "approved" or audit.violations
    assert not (doubt and routing.after_audit(state) == "hitl_gate")


@given(states)
def test_a_rejection_without_reasons_is_no_approval(state: ResearchState) -> None:
    state["audit_result"] = AuditResult(verdict="rejected")
    assert routing.after_audit(state) != "hitl_gate"


@given(states)
def test_a_failed_research_ends_wherever_it_is(state: ResearchState) -> None:
    state["status"] = "failed"
    assert {route(state) for route in ROUTERS} == {routing.END}


@given(states)
def test_at_the_ceiling_no_further_plan_is_asked_for(state: ResearchState) -> None:
    assume(routing.ceiling_reached(state))
    assert routing.after_audit(state) in ("hitl_gate", routing.END)


@given(states)
def test_routers_change_nothing_and_answer_alike(state: ResearchState) -> None:
    before = copy.deepcopy(state)
    assert [route(state) for route in ROUTERS] == [route(state) for route in ROUTERS]
    assert state == before


@given(states, plans)
def test_every_step_of_any_plan_is_done_once_and_the_loop_ends(state: ResearchState, plan: ResearchPlan) -> None:
    """Also where steps wait for one another in a ring, or for a step that does not exist."""
    state |= {"plan": plan, "done_steps": [], "status": "executing", "human_approved": True}
    order: list[str] = []
    while routing.after_tools(state) == "tool_executor":
        ready = routing.ready_steps(state)[:4]
        assert ready
        order += [step.id for step in ready]
        state["done_steps"] = list(order)
    assert sorted(order) == sorted(step.id for step in plan.steps)
    assert routing.after_tools(state) == "source_review"


@given(plans)
def test_a_step_comes_after_those_it_names_where_that_is_possible(plan: ResearchPlan) -> None:
    ready = routing.ready_steps({"plan": plan, "done_steps": []})
    waiting = {step.id for step in plan.steps}
    free = [step for step in plan.steps if not waiting & set(step.depends_on)]
    assert ready == (free or list(plan.steps))


@given(states)
def test_the_gate_sends_an_edit_to_the_auditor_and_a_rejection_to_the_thinker(state: ResearchState) -> None:
    """R7."""
    state |= {"status": "thinking", "human_approved": False}
    assert routing.after_gate(state) == ("thinker" if state.get("rejection_reason") else "auditor")
