"""`/api/research` (mission R3, R7, R11): requests, responses, events."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from stepwell.database.types import PendingInterrupt, RunEvent
from stepwell.errors import InvalidRequestError, ResumeError
from stepwell.research.evidence.policy.rules import Violation
from stepwell.research.graph import schemas
from stepwell.research.graph.facade import STOPPED, make_answer, make_input, translate
from stepwell.research.graph.schemas import AuditResult, ReasoningEntry, ResearchPlan, ResearchStep
from stepwell.research.http import question_schemas as wire_limits
from stepwell.state import wire

PLAN = ResearchPlan(objective="Know", steps=(ResearchStep(id="1", input="wells", depends_on=("0",)),), estimated_token_budget=9)
AUDIT = AuditResult(verdict="rejected", violations=(Violation(rule="P1", reason="too much"),), left_to_the_human=("P9",))
THOUGHT = ReasoningEntry(node="thinker", timestamp="2026-01-02T03:04:05Z", summary="planned", raw_thought="hm")  # type: ignore[arg-type]  # parsed
GATE = PendingInterrupt("a" * 32, {"type": "plan_approval"})
REVIEW = PendingInterrupt("b" * 32, {"type": "source_review"})


def told(event: str, data: Any) -> list[tuple[str, dict[str, Any]]]:
    messages = translate(RunEvent(7, "t", "r", event, wire.encode(data)), {})
    return [(name, orjson.loads(orjson.dumps(body))) for name, body in messages]


def test_a_run_begins_with_start() -> None:
    state = {"status": "started", "threadId": "t", "runId": "r"}
    assert told("metadata", {"run_id": "r", "attempt": 1}) == [("start", {"node": "_start", "state": state})]


def test_a_later_attempt_begins_with_the_whole_state() -> None:
    assert told("metadata", {"run_id": "r", "attempt": 2}) == []
    [(name, data)] = told("values", {"plan": PLAN, "reasoning": [THOUGHT], "status": "executing", "messages": ["m"]})
    assert (name, data["node"], data["state"]["status"]) == ("start", "_start", "started")
    assert data["state"]["plan"]["estimatedTokenBudget"] == 9
    assert data["state"]["reasoning"][0]["rawThought"] == "hm"
    assert "messages" not in data["state"]


def test_an_update_is_told_in_the_words_of_002() -> None:
    """Mission R3: camelCase on the wire, snake_case inside."""
    update = {
        "status": "thinking",
        "plan": PLAN,
        "audit_result": AUDIT,
        "reasoning": [THOUGHT],
        "plan_revision_count": 1,
        "human_approved": False,
        "final_report": None,
        "knowledge_context": "the caller's own",
        "approved_plan_sha256": "x",
    }
    [(name, data)] = told("updates", {"auditor": update})
    state = data["state"]
    assert (name, data["node"]) == ("research", "auditor")
    assert set(state) == {"status", "plan", "auditResult", "reasoning", "planRevisionCount", "humanApproved", "finalReport"}
    assert state["plan"]["steps"][0]["dependsOn"] == ["0"]
    assert state["auditResult"]["policyViolations"] == ["P1: too much"]
    assert state["auditResult"]["leftToTheHuman"] == ["P9"]


def test_an_update_of_nothing_still_names_its_node() -> None:
    assert told("updates", {"tool_executor": None}) == [("research", {"node": "tool_executor", "state": {}})]


def test_a_plan_that_waits_is_told_under_both_names() -> None:
    value = {
        "type": "plan_approval",
        "plan": PLAN.model_dump(by_alias=True),
        "audit": AUDIT.model_dump(by_alias=True),
        "estimate": {"requests": 3, "tokens": 4, "cost_usd": None},
        "rules": {"no_secrets": "Keep them."},
        "problem": "What?",
    }
    first, second = told("updates", {"__interrupt__": [{"value": value, "id": "a" * 32}]})
    assert (first[0], second[0]) == ("research", "hitl_waiting")
    assert first[1] == second[1]
    state = first[1]["state"]
    assert first[1]["node"] == "hitl_gate"
    assert (state["status"], state["interruptId"], state["threadId"], state["runId"]) == (
        "awaiting_approval",
        "a" * 32,
        "t",
        "r",
    )
    assert state["plan"]["estimatedTokenBudget"] == 9
    assert state["auditResult"]["policyViolations"] == ["P1: too much"]
    assert state["estimate"] == {"requests": 3, "tokens": 4, "costUsd": None}
    assert state["rules"] == {"no_secrets": "Keep them."}
    assert state["problem"] == "What?"


def test_a_review_of_sources_waits_in_the_same_form() -> None:
    source = {"id": "s1", "title": "Wells", "url": "https://a.example", "sha256": "0"}
    first, second = told(
        "updates", {"__interrupt__": [{"value": {"type": "source_review", "sources": [source]}, "id": "b" * 32}]}
    )
    assert first[1]["node"] == "source_review"
    assert first[1]["state"]["interruptType"] == "source_review"
    assert first[1]["state"]["sources"] == [source]
    assert second == ("hitl_waiting", first[1])


def test_failures_are_told_as_errors() -> None:
    failed = {"node": "_error", "state": {"status": "failed", "errorMessage": "No."}}
    assert told("error", {"error": "ValueError", "message": "No."}) == [("error", failed)]
    research, error = told("updates", {"thinker": {"status": "failed", "error_message": "No."}})
    assert research == ("research", {"node": "thinker", "state": {"status": "failed", "errorMessage": "No."}})
    assert error == ("error", failed)
    assert told("end", {"run_id": "r", "status": "interrupted"})[0][1]["state"]["errorMessage"] == STOPPED


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ("end", {"status": "success"}),
        ("end", {"status": "error"}),
        ("messages", []),
        ("updates|sub:1", {"node": {}}),
        ("custom", 1),
    ],
)
def test_the_rest_is_not_told(event: str, data: Any) -> None:
    assert told(event, data) == []


def test_a_question_sets_every_field_of_the_input() -> None:
    """A second question on a thread does not inherit the knowledge of the first."""
    assert make_input({"query": "Why?"}) == {
        "messages": [{"role": "user", "content": "Why?"}],
        "user_query": "Why?",
        "knowledge_context": "",
        "snippets": [],
        "context_urls": [],
        "only_documents": None,
        "max_plan_revisions": schemas.MAX_PLAN_REVISIONS,
        "outline": False,
        "review_sources": False,
    }
    full = make_input(
        {
            "query": "Why?",
            "retrieved_context": "k",
            "snippets": [{"id": "c1"}],
            "context_urls": ["u"],
            "max_plan_revisions": 2,
            "outline": True,
            "review_sources": True,
        }
    )
    assert full == {
        "messages": [{"role": "user", "content": "Why?"}],
        "user_query": "Why?",
        "knowledge_context": "k",
        "snippets": [{"id": "c1"}],
        "context_urls": ["u"],
        "only_documents": None,
        "max_plan_revisions": 2,
        "outline": True,
        "review_sources": True,
    }


def test_the_wire_takes_as_long_a_question_as_the_application() -> None:
    assert wire_limits.MAX_QUERY_CHARS == schemas.MAX_QUERY_CHARS


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ({"decision": "approve"}, {"decision": "approve"}),
        ({"approved": True}, {"decision": "approve"}),
        ({"approved": True, "decision": "approve", "reason": "fine"}, {"decision": "approve"}),
        ({"approved": False}, {"decision": "reject"}),
        ({"decision": "reject", "reason": " too wide "}, {"decision": "reject", "reason": "too wide"}),
        ({"decision": "reject", "stop": True}, {"decision": "reject", "stop": True}),
        ({"admit": ["s1"]}, {"admit": ["s1"]}),
        ({"deny": []}, {"deny": []}),
        ({"deny": ["s1"], "admit": ["s2"]}, {"admit": ["s2"], "deny": ["s1"]}),
    ],
)
def test_an_answer_has_one_form(said: dict[str, Any], answer: dict[str, Any]) -> None:
    """Mission R7. The older `approved` and `decision` are the same answer, so that one repeats the other."""
    nothing = dict.fromkeys(("decision", "approved", "plan", "reason", "stop", "admit", "deny"))
    assert make_answer({**nothing, **said}, None) == answer


def test_an_edited_plan_is_checked_and_passed_on_as_it_came() -> None:
    plan = {"objective": "Know", "steps": [{"input": "wells"}]}
    said = {"decision": "edit", "plan": plan}
    assert make_answer(said, GATE) == make_answer(said, GATE) == said


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ({}, "The answer is empty"),
        ({"reason": "why"}, "The answer is empty"),
        ({"decision": "approve", "approved": False}, "contradict"),
        ({"decision": "edit"}, "needs one"),
        ({"decision": "approve", "plan": {}}, "belongs to"),
        ({"decision": "edit", "plan": {"objective": "Know", "steps": []}}, "plan.steps"),
        ({"decision": "edit", "plan": {"objective": "Know", "steps": [{"input": "x"}] * 7}}, "plan.steps"),
        ({"decision": "edit", "plan": {"objective": "Know", "steps": [{"input": "x", "tool": "shell"}]}}, "plan.steps.0.tool"),
        ({"admit": ["s1"], "deny": ["s1"]}, "both admitted and denied"),
        ({"admit": ["s1"], "decision": "approve"}, "one of the two"),
    ],
)
def test_an_answer_that_contradicts_itself_is_refused(said: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidRequestError, match=word):
        make_answer(said, None)


@pytest.mark.parametrize(("said", "question"), [({"decision": "approve"}, REVIEW), ({"admit": []}, GATE)])
def test_an_answer_to_another_question_is_refused(said: dict[str, Any], question: PendingInterrupt) -> None:
    """A repeated approval must not be taken for a review of sources."""
    with pytest.raises(ResumeError, match="another one") as refused:
        make_answer(said, question)
    assert refused.value.interrupt_ids == (question.interrupt_id,)


def test_only_documents_needs_some_and_no_addresses() -> None:
    snippet = {"id": "a", "document_id": "d", "label": "a.md", "text": "x", "start": 0, "end": 1}
    asked = {"query": "Why?", "only_documents": True, "snippets": [snippet]}
    assert make_input(asked)["only_documents"] is True
    assert make_input({"query": "Why?", "only_documents": True, "retrieved_context": "x"})["only_documents"] is True
    with pytest.raises(InvalidRequestError, match="none came with the question"):
        make_input({"query": "Why?", "only_documents": True})
    with pytest.raises(InvalidRequestError, match="addresses of pages"):
        make_input({**asked, "context_urls": ["https://a.example/"]})
    assert make_answer({"decision": "documents"}, None) == {"decision": "documents"}
