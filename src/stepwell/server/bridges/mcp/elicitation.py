"""A question of an assistant as a form that an MCP client shows (`elicitation/create`), and what the person filled in as the answer.

| question | form |
|---|---|
| approval | `decision` (`decision_1`, `decision_2` ... for several calls) and `message`, a reason |
| clarification | `response`; with options `selected`, and `freeform` where own words are allowed |
| of an MCP server that the assistant uses | the server's own form, or its address |
| one with a flat `response_schema` | that schema |
| any other | `answer`, a text, or JSON where it is an object or a list |

Forms of MCP are flat: texts, numbers, booleans and choices. What only a device or a payment can answer is not asked here.

Declining is an answer where the question has one: an approval is rejected, a server hears that its question was declined, and an agent
that asked for words reads that the person declined. Any other question stays open. Dismissing a form (`cancel`) decides nothing, so the
question stays open too; only a server's question has an answer for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stepwell.answers.approvals import is_approval
from stepwell.answers.asking import kind_of
from stepwell.answers.clarification import is_clarification
from stepwell.answers.client_tools import CLIENT_TOOL_EXECUTION
from stepwell.answers.elicitation import is_elicitation
from stepwell.answers.payment import PAYMENT_EXHAUSTED
from stepwell.answers.typed import parse_choice, read_line, read_options, request_wording, wording
from stepwell.database.types import PendingInterrupt
from stepwell.server.bridges.mcp.messages import Session

_ELSEWHERE = (CLIENT_TOOL_EXECUTION, PAYMENT_EXHAUSTED)
_PLAIN = ("string", "number", "integer", "boolean")
_DECLINED = "I would rather not answer this."


class NoAnswerError(Exception):
    """The person decided nothing, or declined a question that has no answer for it."""


def form_of(pending: PendingInterrupt, session: Session) -> dict[str, Any] | None:
    """The parameters of `elicitation/create`; None if this client cannot be asked this."""
    question = pending.value
    if kind_of(question) in _ELSEWHERE:
        return None
    if is_elicitation(question) and question["mode"] == "url":
        if not session.opens_addresses:
            return None
        return {"mode": "url", "message": question["message"], "url": question["url"], "elicitationId": question["question_id"]}
    if not session.answers_forms:
        return None
    message, schema = _message_and_schema(pending, session)
    return {"message": message, "requestedSchema": schema}


def read_reply(pending: PendingInterrupt, reply: Mapping[str, Any]) -> Any:
    """The answer in a client's reply.

    Raises:
        NoAnswerError: If the question stays open.
        ValueError: With a sentence, if the reply does not fit.
    """
    question, action, content = pending.value, reply.get("action"), reply.get("content")
    if is_elicitation(question):
        filled = {"content": content} if action == "accept" and content is not None else {}
        return {"action": action, **filled, "question_id": question["question_id"]}
    if action == "decline":
        return _decline(question)
    if action != "accept":
        raise NoAnswerError
    if not isinstance(content, Mapping):
        raise ValueError("The form came back without its fields. Please fill it in.")
    if is_approval(question):
        return {"decisions": list(_decisions(question, content))}
    if is_clarification(question):
        return _clarification(question, content)
    if _is_flat(pending.response_schema):
        return dict(content)
    if "answer" not in content:
        raise ValueError("The field 'answer' is missing. Please fill it in.")
    said = content["answer"]
    return read_line(question, said, pending.response_schema) if isinstance(said, str) and not _is_value(pending) else said


def _message_and_schema(pending: PendingInterrupt, session: Session) -> tuple[str, dict[str, Any]]:
    question, schema = pending.value, pending.response_schema
    if is_approval(question):
        return "\n".join(request_wording(request) for request in question["action_requests"]), _approval_schema(question)
    if is_elicitation(question):
        return f"{question['server']} asks: {question['message']}", dict(question["requested_schema"])
    if is_clarification(question):
        options = read_options(question.get("options"))
        if options and question.get("allow_multiple") and session.version < "2025-11-25":
            return wording(question), _object({"selected": {"type": "string", "title": "Your choice"}}, ["selected"])
        return str(question["question"]), _clarification_schema(question)
    if schema is not None and _is_flat(schema):
        return wording(question, schema), {name: schema[name] for name in ("type", "properties", "required") if name in schema}
    field = {**schema, "title": "Answer"} if schema and _is_value(pending) else {"type": "string", "title": "Answer"}
    return wording(question, schema), _object({"answer": field}, ["answer"])


def _approval_schema(question: Mapping[str, Any]) -> dict[str, Any]:
    allowed = {config["action_name"]: config["allowed_decisions"] for config in question["review_configs"]}
    fields: dict[str, Any] = {}
    for name, request in _decision_fields(question):
        choices = [each for each in ("approve", "reject") if each in (allowed.get(request["name"]) or (each,))]
        fields[name] = {"type": "string", "title": f"Run {request['name']}?", "enum": choices or ["approve", "reject"]}
    message = {"type": "string", "title": "Reason", "description": "Why not, for the assistant"}
    return _object({**fields, "message": message}, list(fields))


def _decision_fields(question: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    requests = question["action_requests"]
    for number, request in enumerate(requests, 1):
        yield "decision" if len(requests) == 1 else f"decision_{number}", request


def _decisions(question: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    reason = content.get("message")
    for name, _ in _decision_fields(question):
        decided = content.get(name)
        yield {"type": decided, **({"message": reason} if decided == "reject" and isinstance(reason, str) and reason else {})}


def _clarification_schema(question: Mapping[str, Any]) -> dict[str, Any]:
    options = read_options(question.get("options"))
    if not options:
        return _object({"response": {"type": "string", "title": "Your answer", "minLength": 1}}, ["response"])
    one: dict[str, Any] = {"type": "string", "title": "Your choice", "enum": [each.id for each in options]}
    one["enumNames"] = [each.label for each in options]
    if question.get("allow_multiple"):
        titled = [{"const": each.id, "title": each.label} for each in options]
        one = {"type": "array", "title": "Your choices", "items": {"anyOf": titled}}
    if question.get("allow_freeform"):
        return _object({"selected": one, "freeform": {"type": "string", "title": "Your own words"}}, [])
    return _object({"selected": one}, ["selected"])


def _clarification(question: Mapping[str, Any], content: Mapping[str, Any]) -> Any:
    if not read_options(question.get("options")):
        return {"response": content.get("response")}
    chosen, own = content.get("selected"), content.get("freeform")
    if isinstance(chosen, str) and chosen and (typed := parse_choice({**question, "allow_freeform": False}, chosen)):
        chosen = typed["selected"]
    listed = [chosen] if isinstance(chosen, str) and chosen else list(chosen or ())
    return {"selected": listed, **({"freeform": own} if isinstance(own, str) and own else {})}


def _decline(question: Any) -> Any:
    if is_approval(question):
        return {"decisions": [{"type": "reject"} for _ in question["action_requests"]]}
    if is_clarification(question) and (not question.get("options") or question.get("allow_freeform")):
        return {"selected": [], "freeform": _DECLINED} if question.get("options") else {"response": _DECLINED}
    raise NoAnswerError


def _is_flat(schema: Mapping[str, Any] | None) -> bool:
    """Whether a schema can be a form as it is."""
    if not schema or schema.get("type") != "object" or not schema.get("properties"):
        return False
    return all(isinstance(each, Mapping) and each.get("type") in _PLAIN for each in schema["properties"].values())


def _is_value(pending: PendingInterrupt) -> bool:
    """Whether the answer is one number, boolean or text, by the question's schema."""
    return (pending.response_schema or {}).get("type") in _PLAIN


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}
