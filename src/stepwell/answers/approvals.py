"""The answer to LangChain's approvals: one decision per request, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepwell.answers.asking import ACTION_REQUESTS, Json, worded

RULE_ASKS = "A rule asks before "
"""How the description of a request begins if a permission asks about it, whatever the person has allowed before."""

_APPROVE = '{"decisions": [{"type": "approve"}]}'
_KEYS_NAMED, _KEY_CHARS = 3, 40


def is_approval(question: Any) -> bool:
    """Whether a question has the complete form of LangChain's approvals."""
    if not isinstance(question, Mapping):
        return False
    requests, configs = question.get(ACTION_REQUESTS), question.get("review_configs")
    if not isinstance(requests, list | tuple) or not isinstance(configs, list | tuple) or not requests:
        return False
    return all(isinstance(each, Mapping) and isinstance(each.get("name"), str) and "args" in each for each in requests) and all(
        isinstance(each, Mapping) and "action_name" in each and "allowed_decisions" in each for each in configs
    )


def approvals_fault(question: Json, answer: Any) -> str | None:
    """Why an answer does not decide all requests of LangChain's approvals; None if it does."""
    requests: Sequence[Json] = question[ACTION_REQUESTS]
    decisions = answer.get("decisions") if isinstance(answer, Mapping) else None
    if not isinstance(decisions, list | tuple):
        given = f"and this one has {_keys(answer)}" if isinstance(answer, Mapping) else f"not {worded(answer)}"
        return (
            f"The answer to an approval is an object with a list of 'decisions', {given}. "
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


def _keys(answer: Mapping[str, Any]) -> str:
    return ", ".join(f"'{str(key)[:_KEY_CHARS]}'" for key in list(answer)[:_KEYS_NAMED]) or "nothing"


def approvals_schema(question: Json) -> dict[str, Any]:
    """The rule of `approvals_fault` as JSON schema, for clients that build a form from it."""
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
        return f"{which} is {worded(decision)} where an object with a 'type' is needed. The type is one of: {choices}."
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
        return f"{which} gives a reason that is {worded(message)}. Send 'message' as a text, or leave it out."
    return None
