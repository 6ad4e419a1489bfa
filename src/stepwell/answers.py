"""What an answer to an interrupt must look like: one rule for each kind of question, kept in one table.

| question | its answer |
|---|---|
| `action_requests` (LangChain's approvals) | `{"decisions": [...]}`, one for each request, in their order |
| `payment_exhausted` | `{"funding_id": ...}` of a session that pays, or `{"cancel": true}` |
| a `type` that an application has a rule for | what that rule says |
| one with a `response_schema` | what the schema says |
| anything else | anything |

An answer is checked before it is taken: by the middleware that asks, so that LangGraph does not keep a wrong one, and by whoever
admits answers from outside. A refused answer leaves its question open, under the same id.

Rule to keep: a fault names what is wrong and what to send instead, and never repeats what was sent, which may hold a secret.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stepwell.errors import AnswerShapeError

_log = logging.getLogger(__name__)

Json = Mapping[str, Any]
FindFault = Callable[[Json, Any], str | None]
"""Question and answer -> what is wrong with the answer, as a sentence; None if nothing is."""

ACTION_REQUESTS = "action_requests"
"""The kind of LangChain's approvals, which have no `type`: the field that they are known by."""

PAYMENT = "payment_exhausted"

_APPROVE = '{"decisions": [{"type": "approve"}]}'


class AnswerShapes:
    """The table: kind of question -> its rule. An application adds the kinds that it asks."""

    def __init__(self, more: Mapping[str, FindFault] | None = None) -> None:
        self._rules: Mapping[str, FindFault] = {
            ACTION_REQUESTS: approvals_fault,
            PAYMENT: payment_fault,
            **(more or {}),
        }

    def require(self, interrupt_id: str, question: Any, answer: Any, schema: Json | None = None) -> None:
        """Refuse an answer that does not fit its question.

        Raises:
            AnswerShapeError: With a sentence that says what to send.
        """
        rule = self._rules.get(_kind_of(question))
        fault = rule(question, answer) if rule else _schema_fault(schema, answer) if schema else None
        if fault:
            raise AnswerShapeError(f"{fault} The question '{interrupt_id}' is still open.", (interrupt_id,))


def _kind_of(question: Any) -> str:
    if not isinstance(question, Mapping):
        return ""
    kind = question.get("type")
    return kind if isinstance(kind, str) else ACTION_REQUESTS if isinstance(question.get(ACTION_REQUESTS), list) else ""


def payment_fault(question: Json, answer: Any) -> str | None:
    """What keeps an answer from saying who pays, or that nobody does."""
    if isinstance(answer, Mapping) and (answer.get("cancel") is True or _is_name(answer.get("funding_id"))):
        return None
    return (
        'A pause for money is answered with {"funding_id": "..."} of a session that pays, which POST /api/wallet/fund gives for a token, '
        'or with {"cancel": true}.'
    )


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def approvals_fault(question: Json, answer: Any) -> str | None:
    """What keeps an answer from deciding all requests of LangChain's approvals."""
    requests: Sequence[Json] = question[ACTION_REQUESTS]
    decisions = answer.get("decisions") if isinstance(answer, Mapping) else None
    if not isinstance(decisions, list | tuple):
        return (
            f"The answer to an approval is an object with a list of 'decisions', not {_worded(answer)}. "
            f"Send {_APPROVE}, with one decision for each request, in their order."
        )
    if len(decisions) != len(requests):
        return (
            f"The number of decisions is {len(decisions)}, the number of requests {len(requests)}. "
            "Send one decision for each request, in their order."
        )
    allowed = {config["action_name"]: config["allowed_decisions"] for config in question.get("review_configs", ())}
    faults = (
        _decision_fault(f"Decision {number}, on '{request['name']}',", decision, allowed.get(request["name"]))
        for number, (request, decision) in enumerate(zip(requests, decisions, strict=True), 1)
    )
    return next((fault for fault in faults if fault), None)


def approvals_schema(question: Json) -> dict[str, Any]:
    """The same as JSON schema, for clients that make a form of it."""
    count = len(question[ACTION_REQUESTS])
    decision = {
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"enum": ["approve", "edit", "reject", "respond"]},
            "message": {"type": ["string", "null"]},
            "edited_action": {
                "type": "object",
                "required": ["name", "args"],
                "properties": {"name": {"type": "string"}, "args": {"type": "object"}},
            },
        },
    }
    decisions = {"type": "array", "minItems": count, "maxItems": count, "items": decision}
    return {"title": "Approvals", "type": "object", "required": ["decisions"], "properties": {"decisions": decisions}}


def _decision_fault(which: str, decision: Any, allowed: Sequence[str] | None) -> str | None:
    allowed = allowed or ("approve", "edit", "reject", "respond")
    choices = ", ".join(allowed)
    kind = decision.get("type") if isinstance(decision, Mapping) else None
    if not isinstance(kind, str):
        return f"{which} is {_worded(decision)} where an object with a 'type' is needed. The type is one of: {choices}."
    if kind not in allowed:
        return f"{which} is of a type that is not allowed. Allowed are: {choices}."
    message = decision.get("message")
    if kind == "edit":
        action = decision.get("edited_action")
        name, args = (action.get("name"), action.get("args")) if isinstance(action, Mapping) else (None, None)
        if not isinstance(name, str) or not isinstance(args, Mapping):
            return f"{which} is an edit without the edited call. Send 'edited_action' with 'name' and 'args', an object."
    elif kind == "respond" and not isinstance(message, str):
        return f"{which} responds without a text. Send it as 'message'."
    elif kind == "reject" and not isinstance(message, str | None):
        return f"{which} gives a reason that is {_worded(message)}. Send 'message' as a text, or leave it out."
    return None


def _schema_fault(schema: Json, answer: Any) -> str | None:
    # An extra of the server. Without it a typed question is checked by LangGraph alone, when its task reads the answer.
    try:
        from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # its stubs are a package apart
        from referencing import Registry
    except ImportError:
        return None
    try:
        # The empty registry keeps a reference in the schema from being fetched over the network.
        first: Any = next(Draft202012Validator(schema, registry=Registry()).iter_errors(answer), None)
    except Exception as error:
        # Somebody's graph published it, LangGraph accepts it, and refusing every answer would leave the thread waiting for ever.
        _log.warning("an answer is not checked, because the schema of its question cannot be used: %s", type(error).__name__)
        return None
    if first is None:
        return None
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first.absolute_path).lstrip(".")
    return (
        f"The answer{f' at {place!r}' if place else ''} does not fit the question's schema: '{first.validator}' fails. "
        "Send what 'response_schema' of the question says."
    )


def _worded(value: Any) -> str:
    """The JSON type of a value, as a person says it."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    kinds: dict[type, str] = {
        bool: "true or false",
        str: "a text",
        int: "a number",
        float: "a number",
        list: "a list",
        tuple: "a list",
    }
    return kinds.get(type(value), f"a value of type {type(value).__name__}")
