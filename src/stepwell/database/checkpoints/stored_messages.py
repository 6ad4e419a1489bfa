"""Messages from their stored fields, without validating them a second time.

A thread is read whenever a run starts on it, so thousands of messages are deserialised at once. Pydantic's validation is most of that work,
and only repeats what it did when the message was made. So a message is put together directly if validation would change nothing about its
fields. We know that for the fields that LangChain's own four classes have today, with plain values; for everything else `revive` returns
`None`, and the caller uses the constructor.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

_CLASSES: dict[tuple[str, str], type[BaseMessage]] = {
    (each.__module__, each.__name__): each for each in (AIMessage, HumanMessage, SystemMessage, ToolMessage)
}
_TYPES: dict[type[BaseMessage], str] = {AIMessage: "ai", HumanMessage: "human", SystemMessage: "system", ToolMessage: "tool"}
_FIELDS = {each: list(each.model_fields) for each in _TYPES}
_FIELD_SETS = {each: set(names) for each, names in _FIELDS.items()}
_CALL = ["name", "args", "id", "type"]
_USAGE = {"input_tokens", "output_tokens", "total_tokens"}
_DETAILS = {"input_token_details": {"audio", "cache_creation", "cache_read"}, "output_token_details": {"audio", "reasoning"}}
# Pydantic's own `__setattr__` is not meant for these. Their descriptors are faster than `object.__setattr__`.
_set_fields = BaseModel.__dict__["__dict__"].__set__
_set_names = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


def revive(module: str, name: str, fields: Any) -> BaseMessage | None:
    """The message with these fields, which it keeps; `None` if only its constructor can tell."""
    kind = _CLASSES.get((module, name))
    if kind is None or type(fields) is not dict or list(fields) != _FIELDS[kind] or not _is_valid(kind, fields):
        return None
    message = kind.__new__(kind)
    _set_fields(message, fields)
    _set_names(message, _FIELD_SETS[kind].copy())
    _set_extra(message, {})
    _set_private(message, None)
    return message


def _is_valid(kind: type[BaseMessage], fields: dict[str, Any]) -> bool:
    id_, name = fields["id"], fields["name"]
    if (
        (type(fields["content"]) is not str and not _is_valid_list(fields["content"]))
        or (id_ is not None and type(id_) is not str)
        or (name is not None and type(name) is not str)
        or type(fields["additional_kwargs"]) is not dict
        or type(fields["response_metadata"]) is not dict
        or fields["type"] != _TYPES[kind]
    ):
        return False
    if kind is AIMessage:
        return _is_valid_answer(fields)
    return kind is not ToolMessage or (type(fields["tool_call_id"]) is str and fields["status"] in ("success", "error"))


def _is_valid_list(content: Any) -> bool:
    return type(content) is list and all(type(block) in (str, dict) for block in content)


def _is_valid_answer(fields: dict[str, Any]) -> bool:
    calls, usage = fields["tool_calls"], fields["usage_metadata"]
    # The constructor would look for calls in `additional_kwargs`.
    if type(calls) is not list or fields["invalid_tool_calls"] != [] or "tool_calls" in fields["additional_kwargs"]:
        return False
    for call in calls:
        if type(call) is not dict or list(call) != _CALL or not _is_valid_call(*call.values()):
            return False
    return usage is None or _is_valid_usage(usage)


def _is_valid_call(name: Any, args: Any, id_: Any, kind: Any) -> bool:
    if type(name) is not str or type(args) is not dict or (id_ is not None and type(id_) is not str) or kind != "tool_call":
        return False
    return all(map(_is_text, args))


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_valid_usage(usage: Any) -> bool:
    if type(usage) is not dict or not _USAGE <= usage.keys() <= _USAGE | _DETAILS.keys():
        return False
    return all(
        type(value) is int
        if name in _USAGE
        else type(value) is dict and value.keys() <= _DETAILS[name] and all(type(count) is int for count in value.values())
        for name, value in usage.items()
    )
