"""Answers of any form, to questions of any form: they fit or are refused with a sentence, and nothing else ever happens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.types import Command

from stepwell.answers import AnswerShapes, ask_again, mark_schema
from stepwell.answers.approvals import approvals_fault
from stepwell.answers.asking import ACTION_REQUESTS, ANSWER_KIND
from stepwell.answers.clarification import clarification_schema
from stepwell.answers.client_tools import CONTENTS, client_tools_schema
from stepwell.errors import AnswerShapeError

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


def objects(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects that have some of these fields, each as it should be or anything."""
    return st.fixed_dictionaries({}, optional={name: strategy | ANY for name, strategy in fields.items()})


NAMES = st.sampled_from(["a", "b", *CONTENTS])
CONTENT = objects(
    files=st.lists(objects(path=st.text(max_size=4), size=st.integers())),
    text=st.text(max_size=4),
    hits=st.lists(objects(path=NAMES, text=NAMES)),
    matches=st.lists(objects(path=NAMES, line_number=st.integers(), line_content=NAMES)),
    file_id=NAMES,
    occurrences=st.integers(),
)
RESULTS = st.lists(
    objects(tool_call_id=NAMES, content=CONTENT, error=objects(code=st.sampled_from(["failed", "rejected"]), message=NAMES)),
    max_size=3,
)
QUESTIONS = objects(
    options=st.lists(objects(id=NAMES, label=NAMES) | NAMES, max_size=3),
    allow_multiple=st.booleans(),
    allow_freeform=st.booleans(),
    tool_calls=st.lists(objects(id=NAMES, name=NAMES), max_size=3),
)
ANSWERS = ANY | objects(
    response=NAMES, selected=st.lists(NAMES, max_size=3), freeform=NAMES, tool_results=RESULTS, claim_id=NAMES
)


@pytest.mark.parametrize("kind", ["clarification_request", "client_tool_execution"])
@given(question=QUESTIONS, answer=ANSWERS)
def test_any_answer_fits_or_is_refused(kind: str, question: dict[str, Any], answer: Any) -> None:
    """T3, T5."""
    assert refusal({**question, "type": kind}, answer).endswith("The question 'q' is still open.")


def refusal(question: dict[str, Any], answer: Any) -> str:
    """What is said of an answer; one that fits leaves the question open too, until it is taken."""
    try:
        AnswerShapes().require("q", question, answer, mark_schema(question, {}))
    except AnswerShapeError as refused:
        return str(refused)
    return "The question 'q' is still open."


@given(question=QUESTIONS)
def test_every_question_has_a_schema(question: dict[str, Any]) -> None:
    assert clarification_schema(question)["type"] == "object"
    assert client_tools_schema(question)["type"] == "object"


@pytest.mark.parametrize("kind", ["clarification_request", "client_tool_execution", "payment_exhausted", "action_requests"])
@given(question=QUESTIONS, answer=ANSWERS)
def test_a_question_without_our_mark_takes_any_answer(kind: str, question: dict[str, Any], answer: Any) -> None:
    asked = {**question, "action_requests": []} if kind == "action_requests" else {**question, "type": kind}
    for schema in (None, {}, {ANSWER_KIND: "another"}):
        AnswerShapes().require("q", asked, answer, schema)


def test_a_question_is_asked_again_until_its_answer_can_be_read() -> None:
    question = {"type": "how_many"}

    @entrypoint(checkpointer=InMemorySaver())
    def graph(_: Any) -> int:
        return ask_again(question, int, lambda error: f"{type(error).__name__}: send a number.", {})

    thread = {"configurable": {"thread_id": "t"}}
    asked = [graph.invoke("go", thread), *(graph.invoke(Command(resume=answer), thread) for answer in ("many", "lots"))]
    again = {**question, "problem": "ValueError: send a number."}
    assert [each["__interrupt__"][0].value for each in asked] == [question, again, again]
    assert graph.invoke(Command(resume="3"), thread) == 3


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ({"type": "approve"}, "and this one has 'type'."),
        ({"q1": {"decisions": []}}, "and this one has 'q1'."),
        ({}, "and this one has nothing."),
        ("yes", "not"),
    ],
    ids=["decision", "by-id", "empty", "text"],
)
def test_an_answer_without_decisions_is_refused_with_what_it_has_instead(answer: Any, given: str) -> None:
    question = {
        ACTION_REQUESTS: [{"name": "pay", "args": {}}],
        "review_configs": [{"action_name": "pay", "allowed_decisions": []}],
    }
    fault = approvals_fault(question, answer)
    assert fault is not None
    assert f"an object with a list of 'decisions', {given}" in fault
