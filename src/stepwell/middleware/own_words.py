"""Messages that our own code writes in place of a model or a tool. They are marked, because they cost nothing and are not the model's
work.

| message | made by | in place of | marked in |
|---|---|---|---|
| final message, question to the user | `own_answer` | a model's answer | `response_metadata["finish_reason"]` |
| a refusal by one of our rules | `refuse` | a tool's result | `additional_kwargs` |
| a person's decision about a call | `decided_by_person` | a tool's result | `additional_kwargs` |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

Reason = Literal["budget", "hook", "payment", "stubborn"]

_REASONS = frozenset({"budget", "hook", "payment", "stubborn"})
_REFUSED = "stepwell_refused"
_DECIDED = "stepwell_decided_by_person"
_STANDS_IN = "stepwell_stands_in"


def own_answer(text: str, reason: Reason, tool_calls: Sequence[ToolCall] = (), *, stands_in: bool = False) -> AIMessage:
    """An answer that no model gave. `stands_in`: our code continues in the model's place, and reads the user's reply itself."""
    marks = {_STANDS_IN: True} if stands_in else {}
    metadata = {"finish_reason": reason}
    return AIMessage(text, tool_calls=list(tool_calls), response_metadata=metadata, additional_kwargs=marks)


def is_own_answer(message: BaseMessage) -> bool:
    return message.type == "ai" and message.response_metadata.get("finish_reason") in _REASONS


def stands_in(message: BaseMessage) -> bool:
    return is_own_answer(message) and bool(message.additional_kwargs.get(_STANDS_IN))


def answered_itself(response: ModelResponse[Any]) -> bool:
    """Whether our code made this answer."""
    return any(is_own_answer(message) for message in response.result)


def last_words(why: str, state: Mapping[str, Any], reason: Reason) -> AIMessage:
    """The final message of an agent that stops: why it stopped, what is left to do, and which files exist."""
    lines = [why]
    if left := [todo["content"] for todo in state.get("todos") or () if todo["status"] != "completed"]:
        lines.append("Left to do:\n" + "\n".join(f"- {item}" for item in left))
    if files := state.get("files"):
        lines.append(f"The files written so far are kept: {', '.join(sorted(files))}.")
    return own_answer("\n\n".join(lines), reason)


def refuse(call: ToolCall, text: str) -> ToolMessage:
    """The result of a call that one of our rules does not allow."""
    marked = {_REFUSED: True}
    said = text if text.startswith("Error") else f"Error: {text}"
    return ToolMessage(said, name=call["name"], tool_call_id=call["id"] or "", status="error", additional_kwargs=marked)


def is_refusal(message: ToolMessage) -> bool:
    return bool(message.additional_kwargs.get(_REFUSED))


def decided_by_person(message: ToolMessage) -> ToolMessage:
    """Mark a result that a person gave in place of the tool. The mark shows that the person was reached."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, _DECIDED: True}})


def is_decided_by_person(message: ToolMessage) -> bool:
    return bool(message.additional_kwargs.get(_DECIDED))
