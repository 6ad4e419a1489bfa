"""Mends the tool calls of a model's answer before anything else looks at it.

| a call | becomes | who is told |
|---|---|---|
| whose arguments are nearly JSON | a call, if the tool accepts the repaired arguments | the model, in the result; the thread, in both |
| whose arguments have the wrong form for the schema | the same call in the right form, if the tool accepts that | the same |
| at which the provider stopped the answer, for any reason | a call that is not made | the model, in the call's result |
| whose arguments cannot be read, beside calls that can | the same | the same |

The cut is the dangerous one. LangChain reads a streamed call as far as it came, so half of a file would be written as if it were whole.
An answer that did not end by itself (`models.endings`) therefore never makes its last call, and nothing of it is repaired.

An answer whose only calls cannot be read is left as it is; `stubborn` asks the model again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from stepwell.middleware.arguments.fitting import fit, is_valid
from stepwell.middleware.arguments.nearly_json import NotNearlyJsonError, read_nearly_json
from stepwell.models.endings import ending_of, is_finished, may_be_cut

REPAIRED = "stepwell_repaired"
"""Where messages say what was repaired, in `additional_kwargs`: by call id in the model's message, as a text in the result."""


def mend_calls(message: AIMessage, tools: Sequence[Any]) -> tuple[AIMessage, list[ToolMessage]]:
    """The message with its calls mended, and the results of calls that are not made. The same message if there is nothing to mend."""
    if not message.tool_calls and not message.invalid_tool_calls:
        return message, []
    if may_be_cut(message):
        return _without_cut_call(message)
    known = {tool.name: tool for tool in tools if isinstance(tool, BaseTool)}
    repairs: dict[str, str] = {}
    calls = [_fitted(call, known.get(call["name"]), repairs) for call in message.tool_calls]
    read = [(broken, _read(broken, known, is_finished(message), repairs)) for broken in message.invalid_tool_calls]
    unread = [broken for broken, call in read if call is None]
    calls += [call for _, call in read if call is not None]
    results: list[ToolMessage] = []
    if unread and calls:
        results = [_unreadable(broken) for broken in unread]
        calls += [_empty(broken) for broken in unread]
        unread = []
    if not repairs and not results:
        return message, []
    marks = {**message.additional_kwargs, REPAIRED: repairs} if repairs else message.additional_kwargs
    changes = {"tool_calls": calls, "invalid_tool_calls": unread, "additional_kwargs": marks}
    return message.model_copy(update=changes), results


def repairs_of(call_id: str | None, messages: Sequence[BaseMessage]) -> str | None:
    """What was repaired in a call of the newest answer."""
    for message in reversed(messages):
        if message.type == "ai":
            noted = message.additional_kwargs.get(REPAIRED)
            return noted.get(call_id) if isinstance(noted, Mapping) else None
    return None


def with_repairs(result: ToolMessage, repairs: str) -> ToolMessage:
    """The result of a repaired call, which says so."""
    note = f"(The arguments of this call were repaired: {repairs}.)"
    content: Any = f"{result.content}\n\n{note}" if isinstance(result.content, str) else [*result.content, _block(note)]
    return result.model_copy(update={"content": content, "additional_kwargs": {**result.additional_kwargs, REPAIRED: repairs}})


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _fitted(call: ToolCall, tool: BaseTool | None, repairs: dict[str, str]) -> ToolCall:
    if tool is None or not call["id"] or not call["args"]:
        return call
    args, changes = fit(call["args"], tool)
    # Many tools accept "5" for 5 by themselves; then there is nothing to repair.
    if not changes or is_valid(call["args"], tool) or not is_valid(args, tool):
        return call
    repairs[call["id"]] = ", ".join(changes)
    return {**call, "args": args}


def _read(broken: InvalidToolCall, tools: Mapping[str, BaseTool], finished: bool, repairs: dict[str, str]) -> ToolCall | None:
    tool, call_id, text = tools.get(broken["name"] or ""), broken["id"], broken["args"]
    if tool is None or not call_id or not isinstance(text, str):
        return None
    try:
        args, changes = read_nearly_json(text, is_finished=finished)
        if isinstance(args, str):  # the whole object as a JSON string
            args, more = read_nearly_json(args, is_finished=finished)
            changes = ["the JSON was taken out of a string", *changes, *more]
    except NotNearlyJsonError:
        return None
    if not isinstance(args, dict):
        return None
    fitted, more = fit(args, tool)
    if not is_valid(fitted, tool):
        return None
    repairs[call_id] = ", ".join([*changes, *more]) or "they were read again"
    return {"name": tool.name, "args": fitted, "id": call_id, "type": "tool_call"}


def _without_cut_call(message: AIMessage) -> tuple[AIMessage, list[ToolMessage]]:
    """The message without the arguments of the calls that may be incomplete: the last one, and those that cannot be read."""
    kept, cut = message.tool_calls[:-1], message.tool_calls[-1:]
    emptied: list[ToolCall] = [{**call, "args": {}} for call in cut]
    lost = [*emptied, *(_empty(broken) for broken in message.invalid_tool_calls)]
    named = [call for call in lost if call["id"] and call["name"]]
    why = _TOO_LONG if ending_of(message) == "cut short" else _STOPPED
    results = [_not_made(call, why) for call in named]
    changes = {"tool_calls": [*kept, *named], "invalid_tool_calls": []}
    return message.model_copy(update=changes), results


_TOO_LONG = (
    "your answer reached the limit for its length in the middle of this call, so it was not made and nothing was changed. "
    "Make it shorter, or split the work into several calls."
)
_STOPPED = (
    "the provider stopped your answer before its end, so this call may be incomplete. It was not made and nothing was changed. "
    "Make it again in other words, or tell the user that it cannot be done."
)


def _unreadable(broken: InvalidToolCall) -> ToolMessage:
    return _not_made(
        _empty(broken), "the arguments of this call were not valid JSON, so it was not made. Send it again as JSON."
    )


def _empty(broken: InvalidToolCall) -> ToolCall:
    return {"name": broken["name"] or "", "args": {}, "id": broken["id"], "type": "tool_call"}


def _not_made(call: ToolCall, why: str) -> ToolMessage:
    return ToolMessage(f"Error: {why}", name=call["name"], tool_call_id=call["id"] or "", status="error")
