"""A line of text as an answer, where a protocol carries only text."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.answers.asking import ANSWER_WORDS, mark_schema
from stepwell.answers.typed import read_line, wording

APPROVAL: dict[str, Any] = {
    "action_requests": [{"name": "pay", "args": {"sats": 3}}, {"name": "write", "args": {}}],
    "review_configs": [
        {"action_name": "pay", "allowed_decisions": ["approve"]},
        {"action_name": "write", "allowed_decisions": ["approve"]},
    ],
}
CHOICE: dict[str, Any] = {
    "type": "clarification_request",
    "tool": "ask_choices",
    "question": "Which?",
    "options": [{"id": "r", "label": "Red"}, {"id": "b", "label": "Blue"}],
    "allow_multiple": True,
    "allow_freeform": False,
}
PLAN = {"type": "plan_approval", "plan": {"steps": 4}}


@pytest.mark.parametrize("line", ["y", "Yes", "yes, please", "approve", "OK."])
def test_one_line_decides_all_approvals(line: str):
    assert read_line(APPROVAL, line) == {"decisions": [{"type": "approve"}, {"type": "approve"}]}


def test_a_rejection_carries_its_reason():
    assert read_line(APPROVAL, "no, too much")["decisions"][0] == {"type": "reject", "message": "too much"}


@pytest.mark.parametrize(("question", "line"), [(APPROVAL, "perhaps"), (APPROVAL, "e nonsense"), (CHOICE, "green")])
def test_a_line_that_cannot_be_read_says_what_to_write(question: Any, line: str):
    with pytest.raises(ValueError, match=r"type|choices|JSON"):
        read_line(question, line)


def test_options_are_chosen_by_number_label_or_id():
    assert read_line(CHOICE, "1, blue") == {"selected": ["r", "b"]}
    assert wording(CHOICE) == "Which?\n  1. Red\n  2. Blue\nType a number, or several separated by commas."


def test_yes_means_true_for_a_question_of_ours_and_is_text_for_others():
    schema = mark_schema(PLAN, {"description": "Send true or false."})
    assert read_line(PLAN, "yes", schema) is True
    assert read_line(PLAN, "no", schema) is False
    assert read_line(PLAN, '{"decision": "approve"}', schema) == {"decision": "approve"}
    assert read_line(PLAN, "yes") == "yes"
    with pytest.raises(ValueError, match=r"^Send true or false\. Yes or no will do\.$"):
        read_line(PLAN, "perhaps", schema)
    assert wording(PLAN, schema).endswith("Send true or false. Yes or no will do.")
    assert wording({"question": "Which one?"}) == "Which one?"


@pytest.mark.parametrize(("words", "how"), [(["yes"], "Send ids. Yes will do."), ([], "Send ids.")], ids=["yes", "none"])
def test_a_question_says_which_words_it_takes(words: list[str], how: str):
    schema = mark_schema(PLAN, {"description": "Send ids.", ANSWER_WORDS: words})
    assert wording(PLAN, schema).endswith(how)
    with pytest.raises(ValueError, match=how):
        read_line(PLAN, "no", schema)
    assert read_line(PLAN, '{"admit": []}', schema) == {"admit": []}


def test_a_question_of_ours_is_an_outline_and_others_are_shown_as_they_are():
    steps = [{"tool": "web_search", "input": "wells"}, {"tool": "write", "input": None}]
    asked = {"type": "plan_approval", "plan": {"title": "Wells", "steps": steps, "maxPages": 3}, "audit": None, "sent": {}}
    assert wording(asked, mark_schema(asked, {"description": "Send true."})).splitlines() == [
        "Plan approval",
        "plan:",
        "  title: Wells",
        "  steps:",
        "    1. tool: web_search",
        "       input: wells",
        "    2. tool: write",
        "  max pages: 3",
        "Send true. Yes or no will do.",
    ]
    assert wording({"ask": ["x"]}) == '{"ask": ["x"]}'


def test_json_is_read_where_it_cannot_be_text():
    assert [read_line("?", line) for line in ('{"a": 1}', "3", "json: 3")] == [{"a": 1}, "3", 3]
