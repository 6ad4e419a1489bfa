"""What a person may answer at the gate, what was approved, and what it will cost. Mission R7."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stepwell.models.routing import ModelRoutes
from stepwell.research.evidence.policy.file import default_policy
from stepwell.research.evidence.policy.rules import Limits
from stepwell.research.graph.answers import ANSWERS, SEARCH_RETRY, describe_taken, read_approval, read_retry
from stepwell.research.graph.nodes.hitl_gate import estimate, plan_sha256
from stepwell.research.graph.schemas import MAX_STEPS, ResearchPlan, ResearchStep
from stepwell.testing import ScriptedModel

from .conftest import MakeBench

inputs = st.lists(st.text(min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=MAX_STEPS)


def plan_of(texts: list[str], tool: str = "web_search") -> ResearchPlan:
    steps = tuple(ResearchStep(id=str(n), tool=tool, input=text) for n, text in enumerate(texts))  # type: ignore[arg-type]  # one of two
    return ResearchPlan(objective="x", steps=steps)


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (True, "approve"),
        (False, "reject"),
        ({"decision": "approve"}, "approve"),
        ({"decision": "reject", "reason": "no"}, "reject"),
        ({"decision": "edit", "plan": {"objective": "x", "steps": [{"input": "a"}]}}, "edit"),
    ],
)
def test_answers_that_are_understood(answer: object, decision: str) -> None:
    assert read_approval(answer).decision == decision


@pytest.mark.parametrize(
    "answer",
    [
        "yes",
        "approve",
        1,
        0,
        None,
        [],
        {},
        {"approved": True},
        {"decision": "edit"},
        {"decision": "edit", "plan": {"steps": []}},
    ],
)
def test_nothing_else_is_taken_for_an_approval(answer: object) -> None:
    with pytest.raises((ValidationError, ValueError)):
        read_approval(answer)


@pytest.mark.parametrize("read", [read_approval, lambda answer: read_retry(answer, documents=False)])
def test_an_answer_that_is_no_object_is_named_as_what_it_is(read: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"^it is a text, not an object$"):
        read("perhaps")


@given(inputs, st.text(max_size=20))
def test_what_came_of_the_steps_does_not_change_what_was_approved(texts: list[str], output: str) -> None:
    plan = plan_of(texts)
    done = plan.model_copy(update={"steps": tuple(step.model_copy(update={"output": output}) for step in plan.steps)})
    assert plan_sha256(done) == plan_sha256(plan)


@given(inputs, inputs)
def test_another_plan_is_another_approval(one: list[str], other: list[str]) -> None:
    first, second = plan_of(one), plan_of(other)
    assert (plan_sha256(first) == plan_sha256(second)) == (first == second)
    assert plan_sha256(plan_of(one, "fetch_page")) != plan_sha256(first)
    assert plan_sha256(first.model_copy(update={"follow_ups": 4})) != plan_sha256(first)


@given(texts=inputs, ceiling=st.integers(0, 50))
def test_the_estimate_never_promises_more_than_the_ceiling(texts: list[str], ceiling: int) -> None:
    from .conftest import Bench, found

    equipment = Bench({}, found(), replace(default_policy(), limits=Limits(requests=ceiling)), None).equipment
    told = estimate(equipment, plan_of(texts))
    assert 0 <= told.requests <= ceiling
    assert (told.tokens, told.cost_usd) == (0, 0.0), "without a model nothing is paid"


def test_a_price_that_is_not_known_is_not_invented(bench: MakeBench) -> None:
    told = estimate(bench(models=ModelRoutes(ScriptedModel())).equipment, plan_of(["a"]))
    assert told.tokens > 0
    assert told.cost_usd is None
    assert "No price is known for scriptedmodel" in told.price_note
    assert "5 USD for a million tokens read and 25 USD" in told.price_note


def test_follow_ups_are_counted_before_they_are_approved(bench: MakeBench) -> None:
    equipment, plan = bench().equipment, plan_of(["a"])
    without = estimate(equipment, plan.model_copy(update={"follow_ups": 0}))
    assert estimate(equipment, plan.model_copy(update={"follow_ups": 2})).requests == 3 * without.requests
    assert without.sends == ""


def test_a_plan_for_own_documents_sends_nothing_or_says_what_the_writer_gets(bench: MakeBench) -> None:
    plan = plan_of(["a"], "search_documents")
    told = estimate(bench().equipment, plan)
    assert (told.requests, told.tokens, told.sends) == (0, 0, "Nothing will leave the machine.")
    written = estimate(bench(models=ModelRoutes(ScriptedModel())).equipment, plan, own_characters=8_000)
    assert (written.requests, written.tokens) == (0, 7_000)
    assert "scriptedmodel will be sent passages of your documents" in written.sends


@pytest.mark.parametrize("answer", ["documents", {"decision": "edit"}, {"decision": "perhaps"}, None, {}])
def test_only_three_answers_are_taken_when_nobody_was_reached(answer: object) -> None:
    with pytest.raises((ValidationError, ValueError)):
        read_retry(answer, documents=True)


def test_documents_are_an_answer_only_where_there_are_some() -> None:
    with_some, without = {"type": SEARCH_RETRY, "documents": True}, {"type": SEARCH_RETRY, "documents": False}
    fault = ANSWERS[SEARCH_RETRY]
    assert fault(with_some, {"decision": "documents"}) is None
    assert "no documents came with the question" in (fault(without, {"decision": "documents"}) or "")
    assert "documents" in describe_taken(with_some)
    assert "documents" not in describe_taken(without)
    assert fault(without, True) is None
