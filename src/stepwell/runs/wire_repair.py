"""The slow way to JSON, for a value that orjson refuses as a whole: every part is looked at, and what cannot be said is
replaced by a sentence, so that one odd value never ends a run.

| found | becomes |
|---|---|
| half of a surrogate pair | U+FFFD (two halves in a row become their character) |
| NaN, infinity | null |
| a key that is no string | what orjson makes of it, else `str` of its parts |
| a value that contains itself; more than `MAX_DEPTH` levels; a value that fails to describe itself | a sentence |

`known` is `wire.known`; it is passed in because `wire` stands above this module.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from datetime import date, datetime, time
from enum import Enum
from typing import Any
from uuid import UUID

MAX_DEPTH = 200
"""Levels of nesting that are sent. orjson writes at most 254, and Python's own stack is not far above."""

CYCLE = "Left out: this value contains itself."
TOO_DEEP = f"Left out: nested more than {MAX_DEPTH} levels deep."
TOO_LONG = "Left out: an integer of thousands of digits."
_MAX_BITS = 12_000
"""Python refuses to write integers of more than 4,300 digits."""

Known = Callable[[Any], Any]


def repair(value: Any, known: Known) -> Any:
    """The value as plain JSON values, with sentences in place of what cannot be sent."""
    return _repair(value, known, 0, set())


def _repair(value: Any, known: Known, depth: int, above: set[int]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _repair(value.value, known, depth, above)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MAX_BITS else TOO_LONG
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return _container(value, known, depth, above)


def _container(value: Any, known: Known, depth: int, above: set[int]) -> Any:
    if id(value) in above:
        return CYCLE
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    above.add(id(value))
    try:
        if isinstance(value, dict):
            return {_key(key): _repair(item, known, depth + 1, above) for key, item in value.items()}
        if isinstance(value, list) or type(value) is tuple:
            return [_repair(item, known, depth + 1, above) for item in value]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {_key(name): _repair(item, known, depth + 1, above) for name, item in _fields(value).items()}
        return _described(value, known, depth, above)
    finally:
        above.discard(id(value))


def _described(value: Any, known: Known, depth: int, above: set[int]) -> Any:
    """A value in its own words, which are code of whoever wrote its class and may fail in any way."""
    try:
        described = known(value)
    except Exception as error:
        # Whatever it raised, one value must not end the run; the kind of error is told.
        return f"Left out: a {type(value).__qualname__} could not be written as JSON ({type(error).__name__})."
    # The description of a value stands on the same level as the value; an object that answers with ever new objects ends below.
    return _repair(described, known, depth + 1, above)


def _fields(value: Any) -> dict[str, Any]:
    names = (field.name for field in dataclasses.fields(value))
    return {name: getattr(value, name) for name in names if not name.startswith("_") and hasattr(value, name)}


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return str.__str__(value)


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        return _key(key.value)
    if isinstance(key, str):
        return _text(key)
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(int(key)) if key.bit_length() <= _MAX_BITS else TOO_LONG
    if isinstance(key, float):
        return repr(float(key)) if math.isfinite(key) else "null"
    if isinstance(key, datetime | date | time):
        return key.isoformat()
    if isinstance(key, UUID):
        return str(key)
    if isinstance(key, tuple | frozenset):
        return ",".join(_key(part) for part in key)
    return f"<{type(key).__qualname__}>"
