"""From a typed line to the answer of a question with choices, and to those of other questions."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.terminal.dialogue.answers import OpenInterrupt, answer_all

OPTIONS = [{"id": "sq", "label": "SQLite"}, {"id": "pg", "label": "Postgres, the big one"}]


def answer(value: Any, *lines: str) -> tuple[Any, list[str]]:
    """The answer to one question after these lines, and what was shown."""
    shown: list[str] = []
    typed = iter(lines)

    def ask(question: str) -> str:
        shown.append(question)
        return next(typed)

    return answer_all([OpenInterrupt("i1", value)], ask)["i1"], shown


def clarification(**more: Any) -> dict[str, Any]:
    return {"type": "clarification_request", "tool": "ask_choices", "question": "Which?", "options": OPTIONS, **more}


@pytest.mark.parametrize("line", ["2", "pg", "postgres, THE big one", " 2 "])
def test_an_option_is_chosen_by_number_id_or_label(line: str):
    assert answer(clarification(), line)[0] == {"selected": ["pg"]}


def test_several_are_chosen_where_that_is_allowed():
    assert answer(clarification(allow_multiple=True), "2, sqlite, 2")[0] == {"selected": ["pg", "sq"]}


def test_several_are_asked_again_where_it_is_not():
    chosen, shown = answer(clarification(), "1,2", "1")
    assert chosen == {"selected": ["sq"]}
    assert "not one of the choices" in shown[1]


def test_own_words_are_taken_only_where_that_is_allowed():
    assert answer(clarification(allow_freeform=True), "neither, thanks")[0] == {"selected": [], "freeform": "neither, thanks"}
    chosen, shown = answer(clarification(), "neither", "", "3", "0", "2")
    assert chosen == {"selected": ["pg"]}
    assert len(shown) == 5


def test_the_screen_says_what_may_be_typed():
    _, [shown] = answer(clarification(allow_multiple=True, allow_freeform=True), "1")
    assert shown.splitlines() == [
        "Which?",
        "  1. SQLite",
        "  2. Postgres, the big one",
        "Type a number, or several separated by commas, or your own words.",
    ]


def test_a_question_without_options_takes_the_line():
    assert answer({"type": "clarification_request", "tool": "ask_user", "question": "Why?"}, "because")[0] == {
        "response": "because"
    }


@pytest.mark.parametrize(
    ("line", "given"), [("yes", "yes"), ('{"ok": true}', {"ok": True}), ("[1]", [1]), ("12", "12"), ("{broken", "{broken")]
)
def test_a_question_of_somebody_elses_graph_gets_what_was_typed(line: str, given: Any):
    assert answer("first?", line) == (given, ["first?"])
    assert answer({"question": "which word?"}, line) == (given, ["which word?"])


def test_an_empty_line_is_no_answer():
    given, shown = answer({"type": "clarification_request", "tool": "ask_user", "question": "Why?"}, "", "  ", "because")
    assert given == {"response": "because"}
    assert shown == ["Why?", "Please write an answer.", "Please write an answer."]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "clarification_request", "question": "How many?"},
        {"type": "clarification_request", "tool": "ours", "options": ["a"]},
        {"type": "tool_approval"},
        {"action_requests": [{"name": "pay", "args": {}}]},
        {"action_requests": "all", "review_configs": []},
        {"action_requests": [{"id": 1}], "review_configs": [{"x": 1}]},
    ],
)
def test_a_foreign_question_in_our_words_takes_text_or_any_json(value: Any):
    assert answer(value, "yes")[0] == "yes"
    assert answer(value, '{"n": 3}')[0] == {"n": 3}
    assert answer(value, "3")[0] == "3"
    assert answer(value, "json: 3")[0] == 3
    assert answer(value, "JSON:null")[0] is None


def of_server(**more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
    asked = {"type": "mcp_elicitation", "server": "travel", "tool": "book", "message": "How many?", "question_id": "q"}
    return {**asked, "mode": "form", "requested_schema": schema, **more}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"seats": 2}', {"action": "accept", "content": {"seats": 2}}),
        ("n", {"action": "decline"}),
        ("Cancel", {"action": "cancel"}),
    ],
)
def test_a_question_of_an_mcp_server(line: str, said: dict[str, Any]):
    given, shown = answer(of_server(), line)
    assert given == {**said, "question_id": "q"}
    assert "travel asks: How many?" in shown[0]


def test_an_answer_that_a_server_cannot_use_is_asked_again():
    given, shown = answer(of_server(), "two", '{"seats": "two"}', '{"seats": 2}')
    assert given["content"] == {"seats": 2}
    assert "'content'" in shown[1]
    assert "at 'content.seats'" in shown[2]


def test_an_address_to_open():
    given, shown = answer(of_server(mode="url", url="https://bank.example/login"), "what?", "")
    assert given == {"action": "accept", "question_id": "q"}
    assert "Open https://bank.example/login" in shown[0]
