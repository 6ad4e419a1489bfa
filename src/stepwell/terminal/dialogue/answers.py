"""Puts each open interrupt to a person until a typed line answers it. `stepwell.answers.typed` says what a line means.

Approvals come in two shapes: one interrupt with several requests (asked about in order), and one interrupt per call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from stepwell.answers.approvals import is_approval
from stepwell.answers.typed import CHOICES, parse_decision, read_line, request_wording, wording
from stepwell.terminal.dialogue.session import OpenInterrupt

Ask = Callable[[str], str]
"""Shows a question and returns the line that the person typed."""

__all__ = ["CHOICES", "Ask", "answer_all"]


def answer_all(interrupts: Iterable[OpenInterrupt], ask: Ask) -> dict[str, Any]:
    """Ask the person about every interrupt; returns interrupt id -> answer."""
    return {interrupt.id: _answer(interrupt, ask) for interrupt in interrupts}


def _answer(interrupt: OpenInterrupt, ask: Ask) -> Any:
    value = interrupt.value
    if is_approval(value):
        allowed = {config["action_name"]: config["allowed_decisions"] for config in value["review_configs"]}
        return {"decisions": [_decide(request, allowed.get(request["name"]), ask) for request in value["action_requests"]]}
    if isinstance(value, Mapping) and value.get("type") == "tool_approval" and _is_request(value):
        return _decide(value, value.get("allowed_decisions"), ask)
    return _ask_until_read(interrupt, ask)


def _is_request(request: Any) -> bool:
    return isinstance(request, Mapping) and isinstance(request.get("name"), str) and "args" in request


def _decide(request: Mapping[str, Any], allowed: Sequence[str] | None, ask: Ask) -> dict[str, Any]:
    """Ask until the line is a decision that this tool allows."""
    name = request["name"]
    prompt = f"{request_wording(request)}\n{CHOICES}"
    while True:
        decision = parse_decision(name, ask(prompt))
        if isinstance(decision, str):
            prompt = decision
        elif allowed and decision["type"] not in allowed:
            prompt = f"'{decision['type']}' is not allowed for {name}; it allows: {', '.join(allowed)}"
        else:
            return decision


def _ask_until_read(interrupt: OpenInterrupt, ask: Ask) -> Any:
    prompt = wording(interrupt.value, interrupt.schema)
    while True:
        try:
            return read_line(interrupt.value, ask(prompt), interrupt.schema)
        except ValueError as error:
            prompt = str(error)
