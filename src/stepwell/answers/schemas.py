"""Checks an answer against the JSON schema of its question."""

from __future__ import annotations

import logging
from typing import Any

from stepwell.answers.asking import Json

_log = logging.getLogger(__name__)


def schema_fault(schema: Json, answer: Any) -> str | None:
    """Why an answer does not fit a schema; None if it does, or if the schema cannot be used."""
    # `jsonschema` comes with the extras `server` and `mcp`. Without it, only LangGraph checks the answer, when the asking task reads it.
    try:
        from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # its stubs are a package apart
        from referencing import Registry
    except ImportError:
        return None
    try:
        # The empty registry prevents references in the schema from being fetched over the network.
        first: Any = next(Draft202012Validator(schema, registry=Registry()).iter_errors(answer), None)
    except Exception as error:
        # The schema comes from another graph, LangGraph accepts it, and rejecting every answer would leave the thread waiting for ever.
        _log.warning("an answer is not checked, because the schema of its question cannot be used: %s", type(error).__name__)
        return None
    if first is None:
        return None
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first.absolute_path).lstrip(".")
    return (
        f"The answer{f' at {place!r}' if place else ''} does not fit the question's schema: {_rule(first)}. "
        "Send what 'response_schema' of the question says."
    )


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
