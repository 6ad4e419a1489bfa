"""Checks a value against a JSON schema: an answer against that of its question, for instance."""

from __future__ import annotations

import logging
from typing import Any

from stepwell.answers.asking import Json

_log = logging.getLogger(__name__)


def schema_fault(schema: Json, answer: Any) -> str | None:
    """Why an answer does not fit a schema; None if it does, or if the schema cannot be used."""
    broken = broken_rule(schema, answer)
    if broken is None:
        return None
    place, rule = broken
    return (
        f"The answer{f' at {place!r}' if place else ''} does not fit the question's schema: {rule}. "
        "Send what 'response_schema' of the question says."
    )


def broken_rule(schema: Json, value: Any) -> tuple[str, str] | None:
    """Where a value does not fit a schema, and which rule it breaks there; None if it fits, or if the schema cannot be used."""
    # `jsonschema` comes with the extras `server` and `mcp`. Without it, only LangGraph checks an answer, when the asking task reads it.
    try:
        from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # its stubs are a package apart
        from referencing import Registry
    except ImportError:
        return None
    try:
        # The empty registry prevents references in the schema from being fetched over the network.
        first: Any = next(Draft202012Validator(schema, registry=Registry()).iter_errors(value), None)
    except Exception as error:
        # The schema comes from another graph, LangGraph accepts it, and rejecting every answer would leave the thread waiting for ever.
        _log.warning("a value is not checked, because its schema cannot be used: %s", type(error).__name__)
        return None
    if first is None:
        return None
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first.absolute_path).lstrip(".")
    return place, _rule(first)


_RULES = {
    "minimum": "it must be at least {}",
    "maximum": "it must be at most {}",
    "exclusiveMinimum": "it must be above {}",
    "exclusiveMaximum": "it must be below {}",
    "minLength": "it must have at least {} characters",
    "maxLength": "it must have at most {} characters",
    "minItems": "it must have at least {} items",
    "maxItems": "it must have at most {} items",
}


def _rule(error: Any) -> str:
    """The rule that an answer breaks, in words. The answer is not repeated, because it may be a secret."""
    rule, value = error.validator, error.validator_value
    if rule in _RULES and isinstance(value, int | float):
        return _RULES[rule].format(value)
    if rule == "type":
        return f"it must be of the type {' or '.join(map(str, value)) if isinstance(value, list) else value}"
    if rule == "enum" and isinstance(value, list):
        return f"it must be one of {', '.join(repr(each) for each in value[:20])}"
    return f"'{rule}' fails"
