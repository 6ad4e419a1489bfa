"""A graph's input schema in few words, for the model of another program.

LangChain describes a list of messages in 20,000 characters, of which a caller needs two: a role and a text. Definitions that are no longer
referred to are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_DEFINITIONS = "$defs"
_MESSAGE = "HumanMessage"
MESSAGES: Mapping[str, Any] = {
    "type": "array",
    "minItems": 1,
    "description": "What you say to the assistant: usually one message of the user.",
    "items": {
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"type": "string", "enum": ["user", "assistant", "system"]}, "content": {"type": "string"}},
    },
}


def small_input_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with messages in their short form. A graph of one value that is not an object takes it as `input`."""
    definitions = schema.get(_DEFINITIONS) or {}
    if schema.get("type", "object") != "object":
        return {"type": "object", "properties": {"input": dict(schema)}, "required": ["input"]}
    rest = {name: value for name, value in schema.items() if name != _DEFINITIONS}
    properties = {name: _small(value) for name, value in (rest.get("properties") or {}).items()}
    small = {**rest, "type": "object", "properties": properties}
    if needed := _needed(small, definitions):
        small[_DEFINITIONS] = needed
    return small


def takes_object(schema: Mapping[str, Any] | None) -> bool:
    """Whether the input is an object of named fields."""
    return schema is None or schema.get("type", "object") == "object"


def takes_messages(value: Any) -> bool:
    """Whether the schema of a field describes LangChain's messages."""
    return _MESSAGE in _references(value)


def _small(value: Any) -> Any:
    return {**MESSAGES, "title": value.get("title", "Messages")} if takes_messages(value) else value


def _needed(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in found:
            found[name] = definitions[name]
            waiting += _references(definitions[name])
    return found


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference.rsplit("/", 1)[-1]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def compact(value: Any) -> str:
    """A value as JSON text, for a person or a model."""
    return json.dumps(value, ensure_ascii=False, default=str)
