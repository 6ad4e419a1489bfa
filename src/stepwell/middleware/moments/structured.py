"""A structured answer and the checks of `after_model`.

With `response_format`, a model answers with JSON, either as its text or as the arguments of a call that stands for the answer. A check
reads the same in both cases: the JSON is (the last line of) `AnswerEvent.text`. What it returns is read again: text whose JSON still fits
becomes the structured answer, any other text takes its place. So nothing that a check has taken away stays in `structured_response`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from pydantic import TypeAdapter


def answering_call(message: AIMessage, results: Sequence[BaseMessage], structured: Any) -> str | None:
    """The id of the call whose arguments are the structured answer; None if there is none."""
    if structured is None:
        return None
    answered = {each.tool_call_id for each in results if isinstance(each, ToolMessage)}
    return next((call["id"] for call in message.tool_calls if call["id"] in answered), None)


def text_of(message: AIMessage, call_id: str | None) -> str:
    """What a check reads: the text, and on a last line the arguments of the call that is the answer."""
    text, args = str(message.text), _args(message, call_id)
    return text if args is None else "\n".join(part for part in (text, json.dumps(args, ensure_ascii=False)) if part)


def with_text(message: AIMessage, call_id: str | None, text: str) -> AIMessage:
    """The message with what a check returned in place of `text_of`."""
    if call_id is None:
        return message.model_copy(update={"content": text})
    beside, _, last = ("", "", text) if _object_in(text) is not None else text.rpartition("\n")
    args = _object_in(last)
    if args is None:
        return _without(message.model_copy(update={"content": text}), call_id)
    calls = [ToolCall({**call, "args": args}) if call["id"] == call_id else call for call in message.tool_calls]
    return _with_calls(message.model_copy(update={"content": beside}), calls)


def read_again(message: AIMessage, call_id: str | None, before: Any) -> tuple[AIMessage, Any]:
    """The message and its structured answer after a check has changed it. If what it says no longer fits: None, without its call."""
    given = _args(message, call_id) if call_id else _object_in(str(message.text))
    found = None if given is None else _like(before, given)
    return (_without(message, call_id) if call_id and found is None else message), found


def with_result(result: BaseMessage, call_id: str | None, before: Any, now: Any) -> BaseMessage | None:
    """The result of the call, which repeats the answer; None if there is no such answer any more."""
    if not isinstance(result, ToolMessage) or result.tool_call_id != call_id:
        return result
    return None if now is None else result.model_copy(update={"content": str(result.text).replace(str(before), str(now))})


def _like(before: Any, given: dict[str, Any]) -> Any:
    """An answer of the same form as the one before; None if this is no answer."""
    if isinstance(before, dict):
        return given if given.keys() == before.keys() else None
    try:
        return TypeAdapter(type(before)).validate_python(given)
    except ValueError:
        return None


def _args(message: AIMessage, call_id: str | None) -> dict[str, Any] | None:
    return next((call["args"] for call in message.tool_calls if call_id and call["id"] == call_id), None)


def _without(message: AIMessage, call_id: str) -> AIMessage:
    return _with_calls(message, [call for call in message.tool_calls if call["id"] != call_id])


def _with_calls(message: AIMessage, calls: list[ToolCall]) -> AIMessage:
    raw = {
        key: value for key, value in message.additional_kwargs.items() if key != "tool_calls"
    }  # a provider's form of the same
    return message.model_copy(update={"tool_calls": calls, "additional_kwargs": raw})


def _object_in(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
