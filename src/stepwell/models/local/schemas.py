"""JSON schemas for the embedded model: made from what callers pass, limited for generation, and checked afterwards.

A grammar keeps every token valid, but cannot make a small model finish: the model may list steps until the tokens run out, and a cut
answer is not JSON. So the schema that guides generation gets upper limits where the caller's has none; the answer is checked against
the caller's own schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepwell.errors import ConfigurationError, needs_extra
from stepwell.validation import describe_first_fault, name_place, reason_of

Json = dict[str, Any]

_TIERS = (
    *((12, 8000), (12, 4000), (12, 2000), (12, 1000), (8, 500), (6, 250), (5, 150), (5, 100), (4, 60), (3, 40)),
    *((3, 30), (2, 30), (2, 20), (1, 20), (1, 10)),
)
"""Pairs of the maximum items of a list and the maximum characters of a string, from generous to tight."""
_CHARACTERS_PER_TOKEN = 2
"""A cautious estimate for JSON. Digits take a token each; if an answer is full of them, the next, tighter attempt handles it."""
_TIGHTER = 3
"""How many tiers to go down per attempt, so that an answer that was cut is requested again with tighter limits."""


def bound_schema(schema: Json, attempt: int, max_tokens: int) -> Json:
    """A copy with limits on every list and string that has none, so that the longest answer fits into the tokens."""
    budget = max_tokens * _CHARACTERS_PER_TOKEN
    fitting = next((i for i, tier in enumerate(_TIERS) if _longest(_limit(schema, *tier)) <= budget), len(_TIERS) - 1)
    limited: Json = _limit(schema, *_TIERS[min(fitting + attempt * _TIGHTER, len(_TIERS) - 1)])
    return limited


def _limit(value: Any, items: int, characters: int) -> Any:
    if isinstance(value, list):
        return [_limit(each, items, characters) for each in value]
    if not isinstance(value, dict):
        return value
    copy = {
        key: each if key in ("enum", "const", "default") else _limit(each, items, characters) for key, each in value.items()
    }
    if value.get("type") == "array" and "maxItems" not in value:
        copy["maxItems"] = max(items, value.get("minItems", 0))
    if value.get("type") == "object" and value.get("properties"):
        copy.setdefault("additionalProperties", False)  # extra properties only make an answer longer
    if value.get("type") == "string" and not value.keys() & {"maxLength", "enum", "const", "pattern", "format"}:
        copy["maxLength"] = max(characters, value.get("minLength", 0))
    return copy


def _longest(schema: Any) -> int:
    """About how many characters the longest value has. What a schema leaves open counts little, because we cannot limit it."""
    if not isinstance(schema, dict):
        return 20
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return max(_longest(option) for option in options)
    if properties := schema.get("properties"):
        return sum(len(name) + 8 + _longest(each) for name, each in properties.items())
    if schema.get("type") == "array":
        return int(schema.get("maxItems", 1)) * (_longest(schema.get("items")) + 4)
    return int(schema.get("maxLength", 20))


def schema_of(wanted: Json | type) -> Json:
    """The JSON schema for a pydantic class, a TypedDict, a function in OpenAI's form, or a JSON schema."""
    from langchain_core.utils.function_calling import convert_to_openai_tool

    if isinstance(wanted, dict) and "function" not in wanted and "parameters" not in wanted:
        return wanted
    try:
        parameters: Json = convert_to_openai_tool(wanted)["function"]["parameters"]
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigurationError(
            f"No JSON schema can be made of {wanted!r}. Pass a pydantic class, a TypedDict or a JSON schema."
        ) from error
    return parameters


def checker(schema: Json) -> Callable[[Any], str | None]:
    """A function that returns what is wrong with a value, or None."""
    with needs_extra("Checking JSON of the embedded model", "local"):
        from jsonschema import Draft202012Validator, SchemaError  # type: ignore[import-untyped]  # its stubs are a package apart
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ConfigurationError(f"This is not a valid JSON schema: {error.message}") from error
    validator = Draft202012Validator(schema)

    def fault(value: Any) -> str | None:
        first = next(validator.iter_errors(value), None)
        return f"{first.json_path}: {first.message}" if first else None

    return fault


def class_reader(wanted: Json | type) -> Callable[[Any], Any] | None:
    """What makes an instance of a pydantic class, of either version, from a value, or raises a `ValueError`. None for anything else."""
    if not isinstance(wanted, type):
        return None
    from pydantic import BaseModel
    from pydantic.v1 import BaseModel as OldBaseModel

    if issubclass(wanted, BaseModel):
        return wanted.model_validate
    return wanted.parse_obj if issubclass(wanted, OldBaseModel) else None


def class_fault(read: Callable[[Any], Any], value: Any) -> str | None:
    """Why a pydantic class rejects a value, or None."""
    from pydantic import ValidationError
    from pydantic.v1 import ValidationError as OldValidationError

    try:
        read(value)
    except ValidationError as error:
        return describe_first_fault(error, "the value")
    except OldValidationError as error:
        fault = error.errors()[0]
        return f"{name_place([part for part in fault['loc'] if part != '__root__'], 'the value')}: {reason_of(fault)}"
    return None
