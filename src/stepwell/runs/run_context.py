"""What a graph gets as `runtime.context`, from the context that its run was given.

LangGraph's older clients send `config.configurable` and newer ones `context`; a run has both, saying the same (`starting`). So the
context may hold names that are meant for somebody else, and only those that the graph's `context_schema` declares reach it:

| `context_schema` | the graph gets |
|---|---|
| a dataclass or a pydantic model | always one, with its defaults for what was not given; a missing field that has none ends the run |
| a TypedDict | an object, or `None` when nothing was given |
| none | all that was given, or `None` |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel
from typing_extensions import is_typeddict


def context_for(schema: Any, given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The context to hand to LangGraph, which makes the schema's object of it."""
    known = _known_names(schema)
    chosen = {name: value for name, value in (given or {}).items() if known is None or name in known}
    return chosen if chosen or _has_defaults(schema) else None


def _known_names(schema: Any) -> frozenset[str] | None:
    """The names that the schema declares; `None` when it takes any."""
    if isinstance(schema, type) and is_dataclass(schema):
        return frozenset(field.name for field in fields(schema) if field.init)
    if _is_model(schema) and schema.model_config.get("extra") == "forbid":  # otherwise it ignores what it does not know itself
        declared = schema.model_fields.items()
        return frozenset(text for name, field in declared for text in (name, field.validation_alias) if isinstance(text, str))
    if is_typeddict(schema):
        return frozenset(schema.__required_keys__ | schema.__optional_keys__)
    return None


def _has_defaults(schema: Any) -> bool:
    return _is_model(schema) or (isinstance(schema, type) and is_dataclass(schema))


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)
