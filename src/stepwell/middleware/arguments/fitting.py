"""Fits arguments to a tool's schema, where only their form is wrong.

| the schema wants | the model gave | becomes |
|---|---|---|
| a number | `"5"` | `5` |
| true or false | `"true"` | `true` |
| a list or an object | its JSON as a string | the list or object |
| a list | one item | a list with this item |

Text stays text: what the schema allows to be a string is never touched. A text that may be several items (`a, b`), none (an empty one) or a
broken list (`['a', 'b']`) is not taken for one item, and an object with two values for one key is not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from stepwell.middleware.arguments.nearly_json import read_json

Schema = Mapping[str, Any]

_NAMES = {
    "integer": "a number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_MAX_DEPTH = 8


def schema_of(tool: BaseTool) -> Schema:
    """The JSON schema of a tool's arguments; empty if it has none that can be written down."""
    schema: Any = tool.tool_call_schema
    if isinstance(schema, Mapping):
        return schema
    try:
        found: Schema = schema.model_json_schema()
    except Exception:  # a schema with types that JSON does not have; then nothing is fitted
        return {}
    return found


def is_valid(args: Mapping[str, Any], tool: BaseTool) -> bool:
    """Whether the tool would accept these arguments."""
    schema: Any = tool.tool_call_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        try:
            schema.model_validate(dict(args))
        except Exception:  # validators of the tool may raise anything
            return False
    described = schema_of(tool)
    properties = described.get("properties", {})
    if any(name not in args for name in described.get("required", ())):
        return False
    if isinstance(schema, Mapping):
        return _is_kind(args, described, described)
    return not args.keys() - properties.keys()


def fit(args: dict[str, Any], tool: BaseTool) -> tuple[dict[str, Any], list[str]]:
    """The arguments in the form that the schema wants, and what was changed; the same object if nothing was."""
    whole = schema_of(tool)
    properties = whole.get("properties")
    if not isinstance(properties, Mapping):
        return args, []
    repairs: list[str] = []
    fitted = {name: _fit(value, properties.get(name), whole, name, repairs, 0) for name, value in args.items()}
    return (fitted, repairs) if repairs else (args, [])


def _fit(value: Any, schema: Any, whole: Schema, name: str, repairs: list[str], depth: int) -> Any:
    choices = _choices(schema, whole)
    if not choices or depth > _MAX_DEPTH:
        return value
    suiting = [choice for choice in choices if _is_type(value, choice)]
    if suiting:
        return _fit_inside(value, suiting[0], whole, name, repairs, depth)
    for choice in choices:
        changed = _changed(value, choice, whole)
        if changed is not _NOTHING:
            repairs.append(f"{name} became {_NAMES[choice['type']]}")
            return _fit_inside(changed, choice, whole, name, repairs, depth)
    return value


def _fit_inside(value: Any, choice: Schema, whole: Schema, name: str, repairs: list[str], depth: int) -> Any:
    if isinstance(value, list) and "items" in choice:
        return [_fit(each, choice["items"], whole, name, repairs, depth + 1) for each in value]
    properties = choice.get("properties")
    if isinstance(value, dict) and isinstance(properties, Mapping):
        return {key: _fit(each, properties.get(key), whole, f"{name}.{key}", repairs, depth + 1) for key, each in value.items()}
    return value


_NOTHING = object()


def _changed(value: Any, choice: Schema, whole: Schema) -> Any:
    """The value in the form of this choice; `_NOTHING` if it has no such form."""
    wanted = choice.get("type")
    if isinstance(value, str) and wanted in _NAMES:
        read = _read(value.strip())
        if _is_type(read, choice):
            return read
    if wanted == "array" and _is_one_item(value) and _is_kind(value, choice.get("items", {}), whole):
        return [value]
    return _NOTHING


_MAY_BE_SEVERAL = re.compile(r"[\[\]{},;\n]|^\s*(?:[-*•]\s|$)")


def _is_one_item(value: Any) -> bool:
    return not isinstance(value, list | None) and not (isinstance(value, str) and _MAY_BE_SEVERAL.search(value))


def _read(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return _NOTHING


def _choices(schema: Any, whole: Schema) -> list[Schema]:
    """The kinds of value that a schema allows, with references resolved; empty if it allows anything."""
    if not isinstance(schema, Mapping):
        return []
    if isinstance(reference := schema.get("$ref"), str):
        target: Any = whole
        for part in reference.removeprefix("#/").split("/"):
            target = target.get(part) if isinstance(target, Mapping) else None
        return _choices(target, whole) if target is not schema else []
    for several in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(several), list):
            found = [_choices(option, whole) for option in options]
            return [] if not all(found) else [choice for each in found for choice in each]
    kind = schema.get("type")
    if isinstance(kind, list):
        return [{**schema, "type": each} for each in kind]
    return [schema] if isinstance(kind, str) else []


def _is_type(value: Any, choice: Schema) -> bool:
    kind = choice.get("type")
    if kind in ("integer", "number"):
        return isinstance(value, int | float if kind == "number" else int) and not isinstance(value, bool)
    types: dict[Any, type | tuple[type, ...]] = {
        "string": str,
        "boolean": bool,
        "array": list,
        "object": dict,
        "null": type(None),
    }
    return kind not in types or isinstance(value, types[kind])


def _is_kind(value: Any, schema: Any, whole: Schema) -> bool:
    """Whether a value has the types that a schema wants, all the way down."""
    choices = _choices(schema, whole)
    return not choices or any(_is_type(value, choice) and _suits(value, choice, whole) for choice in choices)


def _suits(value: Any, choice: Schema, whole: Schema) -> bool:
    if "enum" in choice and value not in choice["enum"]:
        return False
    if isinstance(value, list):
        return all(_is_kind(each, choice.get("items"), whole) for each in value)
    if isinstance(value, dict):
        properties = choice.get("properties") or {}
        if any(name not in value for name in choice.get("required", ())):
            return False
        if choice.get("additionalProperties") is False and value.keys() - properties.keys():
            return False
        return all(_is_kind(each, properties.get(name), whole) for name, each in value.items())
    return True
