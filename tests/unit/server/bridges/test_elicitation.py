"""Questions as forms of MCP clients, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.answers.shapes import AnswerShapes
from stepwell.database.types import PendingInterrupt
from stepwell.server.bridges.mcp.elicitation import NoAnswerError, form_of, read_reply
from stepwell.server.bridges.mcp.messages import Session

FORMS = Session("id.form", "2025-11-25")
APPROVAL: dict[str, Any] = {
    "action_requests": [{"name": "pay", "args": {}}, {"name": "write", "args": {}}],
    "review_configs": [
        {"action_name": "pay", "allowed_decisions": ["approve", "edit", "reject"]},
        {"action_name": "write", "allowed_decisions": ["approve"]},
    ],
}


def choice(**more: Any) -> PendingInterrupt:
    options = [{"id": "r", "label": "Red"}, {"id": "b", "label": "Blue"}]
    question = {"type": "clarification_request", "tool": "ask_choices", "question": "Which?", "options": options, **more}
    return PendingInterrupt("i", question)


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def test_each_of_several_approvals_is_a_field_with_what_is_allowed():
    form = form_of(PendingInterrupt("i", APPROVAL), FORMS)
    assert form is not None
    fields = form["requestedSchema"]["properties"]
    assert (fields["decision_1"]["enum"], fields["decision_2"]["enum"]) == (["approve", "reject"], ["approve"])
    answer = read_reply(PendingInterrupt("i", APPROVAL), accept(decision_1="reject", decision_2="approve", message="dear"))
    assert answer == {"decisions": [{"type": "reject", "message": "dear"}, {"type": "approve"}]}


@pytest.mark.parametrize(
    ("more", "content", "answer"),
    [
        ({}, {"selected": "b"}, {"selected": ["b"]}),
        ({"allow_multiple": True}, {"selected": ["r", "b"]}, {"selected": ["r", "b"]}),
        ({"allow_multiple": True}, {"selected": "1, 2"}, {"selected": ["r", "b"]}),
        ({"allow_freeform": True}, {"freeform": "green"}, {"selected": [], "freeform": "green"}),
    ],
)
def test_a_choice_comes_back_as_its_question_wants_it(more: dict[str, Any], content: dict[str, Any], answer: Any):
    asked = choice(**more)
    assert read_reply(asked, {"action": "accept", "content": content}) == answer
    AnswerShapes().require("i", asked.value, answer)


def test_older_clients_choose_several_in_words():
    form = form_of(choice(allow_multiple=True), Session("id.form", "2025-06-18"))
    assert form is not None
    assert form["requestedSchema"]["properties"]["selected"]["type"] == "string"
    assert "  2. Blue" in form["message"]


def test_a_schema_that_is_flat_is_the_form_and_one_value_is_a_field():
    flat = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
    form = form_of(PendingInterrupt("i", "How many?", response_schema=flat), FORMS)
    assert form == {"message": "How many?", "requestedSchema": flat}
    number = PendingInterrupt("i", "How many?", response_schema={"type": "integer"})
    form = form_of(number, FORMS)
    assert form is not None
    assert form["requestedSchema"]["properties"]["answer"]["type"] == "integer"
    assert read_reply(number, accept(answer=3)) == 3


def test_questions_of_a_server_keep_their_form_or_address():
    question = {"type": "mcp_elicitation", "server": "travel", "message": "Seats?", "mode": "form", "question_id": "q"}
    asked = PendingInterrupt("i", {**question, "requested_schema": {"type": "object", "properties": {}}})
    assert read_reply(asked, {"action": "decline"}) == {"action": "decline", "question_id": "q"}
    address = PendingInterrupt("i", {**question, "mode": "url", "url": "https://example.org/pay"})
    assert form_of(address, FORMS) is None
    form = form_of(address, Session("id.form.url", "2025-11-25"))
    assert form is not None
    assert (form["mode"], form["url"]) == ("url", "https://example.org/pay")


def test_what_only_a_device_or_a_payment_can_answer_is_not_asked():
    assert form_of(PendingInterrupt("i", {"type": "client_tool_execution", "calls": []}), FORMS) is None
    assert form_of(PendingInterrupt("i", {"type": "payment_exhausted"}), FORMS) is None
    assert form_of(PendingInterrupt("i", "Which?"), Session("id")) is None


def test_declining_is_an_answer_where_there_is_one():
    assert read_reply(PendingInterrupt("i", APPROVAL), {"action": "decline"})["decisions"] == [{"type": "reject"}] * 2
    for question in ("Which?", choice().value):
        with pytest.raises(NoAnswerError):
            read_reply(PendingInterrupt("i", question), {"action": "decline"})
    with pytest.raises(ValueError, match="fill it in"):
        read_reply(PendingInterrupt("i", "Which?"), {"action": "accept"})


@pytest.mark.parametrize("reply", [{"action": "cancel"}, {"action": "perhaps"}, {}])
def test_a_dismissed_form_decides_nothing(reply: dict[str, Any]):
    for asked in (PendingInterrupt("i", APPROVAL), choice(allow_freeform=True), PendingInterrupt("i", "Which?")):
        with pytest.raises(NoAnswerError):
            read_reply(asked, reply)
