"""A question of an MCP server to the person, and its answer.

| asked | payload, beside `type`, `server`, `tool`, `message` and `question_id` | answer |
|---|---|---|
| `mode: form` | `requested_schema`, an object of plain fields | `{"action": "accept", "content": {...}}`, or `decline`, or `cancel` |
| `mode: url` | `url`, which the person opens | `{"action": "accept"}` when that is done, or `decline`, or `cancel` |

The server's call is made again when the answer is there, and the server asks again. An answer that carries `question_id` is only given to
the same question; one without it is given to whatever the server asks at that point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepwell.answers.asking import Json, ask_again, worded
from stepwell.answers.schemas import schema_fault

MCP_ELICITATION: Final = "mcp_elicitation"
ACTIONS = ("accept", "decline", "cancel")
MAX_CHANGES = 3
"""How often a server may ask something else than what was answered."""

_CHANGED = "The server asks something else than before. Please answer this question."


class QuestionKeepsChangingError(Exception):
    """A server never asks twice what was answered, so no answer can be given to it."""


class _ChangedError(ValueError):
    """The answer belongs to an earlier question."""


def ask_elicitation(question: Json) -> dict[str, Any]:
    """The person's answer. An invalid answer, or one to another question, is not taken: the question is asked again and says why.

    Raises:
        QuestionKeepsChangingError: If the server asked something else each time.
    """
    changes = 0

    def read(answer: Any) -> dict[str, Any]:
        nonlocal changes
        if isinstance(answer, Mapping) and answer.get("question_id", question["question_id"]) != question["question_id"]:
            changes += 1
            if changes >= MAX_CHANGES:
                raise QuestionKeepsChangingError
            raise _ChangedError(_CHANGED)
        if fault := elicitation_fault(question, answer):
            raise ValueError(fault)
        return dict(answer)

    return ask_again({**question, "type": MCP_ELICITATION}, read, str, elicitation_schema(question))


def is_elicitation(question: Any) -> bool:
    """Whether a question has the complete form of one of an MCP server."""
    if not isinstance(question, Mapping) or question.get("type") != MCP_ELICITATION:
        return False
    has_form = isinstance(question.get("requested_schema"), Mapping) or isinstance(question.get("url"), str)
    return has_form and all(isinstance(question.get(key), str) for key in ("server", "message", "mode", "question_id"))


def elicitation_fault(question: Json, answer: Any) -> str | None:
    """Why an answer is invalid for this question; None if it is valid."""
    way_out = 'Send {"action": "accept", "content": {...}}, {"action": "decline"} or {"action": "cancel"}.'
    if not isinstance(answer, Mapping):
        return f"The answer to an MCP server is an object, not {worded(answer)}. {way_out}"
    if answer.get("action") not in ACTIONS:
        return f"The answer has no 'action' of: {', '.join(ACTIONS)}. {way_out}"
    if answer.get("question_id", question["question_id"]) != question["question_id"]:
        return (
            f"The answer belongs to another question, by its 'question_id'. Send '{question['question_id']}', or leave it out."
        )
    if answer["action"] != "accept" or question["mode"] == "url":
        return None
    content = answer.get("content")
    if not isinstance(content, Mapping):
        return f"The answer accepts without a 'content', an object with the requested fields. {way_out}"
    return schema_fault(elicitation_schema(question), answer)


def elicitation_schema(question: Json) -> dict[str, Any]:
    """The rule of `elicitation_fault` as JSON schema, for clients that build a form from it."""
    properties: dict[str, Any] = {"action": {"enum": list(ACTIONS)}, "question_id": {"const": question["question_id"]}}
    schema = {"title": f"Answer to {question['server']}", "type": "object", "required": ["action"], "properties": properties}
    if question["mode"] == "url":
        return schema
    accepts = {"properties": {"action": {"const": "accept"}}}
    needs = {"required": ["content"], "properties": {"content": question["requested_schema"]}}
    return {**schema, "properties": {**properties, "content": {"type": "object"}}, "if": accepts, "then": needs}
