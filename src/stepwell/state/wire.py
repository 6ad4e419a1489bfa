"""LangGraph's values as JSON, in the shapes that LangGraph's SDKs read.

`encode` is the hot path (every event of every run): orjson writes what it knows, and calls `known` for the rest. The data is never
interpreted: a dict that looks like a LangChain constructor stays a dict.

| value | JSON |
|---|---|
| message | its fields, flat: `type`, `content`, `id`, `name`, `tool_calls`, ... |
| pydantic model, dataclass, NamedTuple | object of its fields (a dataclass's fields that begin with `_` are left out) |
| `Interrupt` | `{value, id, response_schema}` |
| `Send` | `{node, args}` |
| exception | `{error, message}` |
| set, deque, tuple | array |
| `bytes` | base64 |
| `Decimal`, `timedelta` | number (seconds) |
| NaN, infinity | null |
| a class, or an unknown object | its type's name in angle brackets: a `repr` may contain addresses and secrets |

If orjson rejects a value as a whole (a lone surrogate, an integer beyond 64 bit, a tuple as a key, a cycle, 250 levels), `repair` walks
it in Python: it checks every part, and replaces what cannot be encoded by a sentence, so that one odd value never ends a run.

| found | becomes |
|---|---|
| half of a surrogate pair | U+FFFD (two halves in a row become their character) |
| NaN, infinity | null |
| a key that is not a string | what orjson makes of it, otherwise `str` of its parts |
| a value that contains itself; more than `MAX_DEPTH` levels; a value that fails to describe itself | a sentence |
"""

from __future__ import annotations

import dataclasses
import json
import math
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePath
from re import Pattern
from typing import Any
from uuid import UUID

import orjson
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.types import Send
from pydantic import BaseModel, SecretBytes, SecretStr

from stepwell.secrets.text import hide_secrets

_OPTIONS = orjson.OPT_NON_STR_KEYS

_PLAIN_MESSAGES = frozenset({AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage, RemoveMessage})
"""The messages that we dump simply as their fields. A subclass may have its own serializers, so pydantic dumps it."""

MAX_DEPTH = 200
"""Maximum nesting that we send. orjson writes at most 254 levels, and Python's own stack limit is not far above."""

CYCLE = "Left out: this value contains itself."
TOO_DEEP = f"Left out: nested more than {MAX_DEPTH} levels deep."
TOO_LONG = "Left out: an integer of thousands of digits."
_MAX_BITS = 12_000
"""Python refuses to write integers of more than 4,300 digits."""


def encode(value: Any) -> bytes:
    """The value as JSON. Never raises because of what the value contains."""
    try:
        return orjson.dumps(value, known, _OPTIONS)
    except (TypeError, RecursionError):
        return _encode_repaired(repair(value))


def plain(value: Any) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and `None`, equal to what a reader of `encode` gets."""
    try:
        return orjson.loads(orjson.dumps(value, known, _OPTIONS))
    except (TypeError, RecursionError):
        return repair(value)


def known(value: Any) -> Any:
    """One step towards JSON for a value that is not JSON. The result may need further steps."""
    if type(value) in _PLAIN_MESSAGES:
        return _message(value)
    if isinstance(value, BaseModel):
        # By the actual types, not the declared ones: a `list[BaseMessage]` would lose tool calls, with a warning.
        return value.model_dump(serialize_as_any=True, warnings=False)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset | deque | tuple):
        return list(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode("ascii")
    if isinstance(value, BaseException):
        return {"error": type(value).__name__, "message": hide_secrets(str(value))}
    return _scalar(value)


def _message(message: BaseMessage) -> dict[str, Any]:
    extra = message.__pydantic_extra__
    return {**message.__dict__, **extra} if extra else message.__dict__


def _scalar(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, PurePath | IPv4Address | IPv6Address | SecretStr | SecretBytes):
        return str(value)
    if isinstance(value, Pattern):
        return value.pattern
    if isinstance(value, Send):
        return {"node": value.node, "args": value.arg}
    return _foreign(value)


def _foreign(value: Any) -> Any:
    """Arrays and numbers of other libraries can convert themselves; for other objects we only give the name."""
    if isinstance(value, type):
        return f"<{value.__qualname__}>"
    tolist = getattr(value, "tolist", None)
    return tolist() if callable(tolist) else f"<{type(value).__qualname__}>"


def _encode_repaired(value: Any) -> bytes:
    # The standard library writes integers of any size.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def repair(value: Any) -> Any:
    """The value as plain JSON values, with sentences in place of what cannot be encoded."""
    return _repair(value, 0, set())


def _repair(value: Any, depth: int, above: set[int]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _repair(value.value, depth, above)
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
    return _container(value, depth, above)


def _container(value: Any, depth: int, above: set[int]) -> Any:
    if id(value) in above:
        return CYCLE
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    above.add(id(value))
    try:
        if isinstance(value, dict):
            return {_key(key): _repair(item, depth + 1, above) for key, item in value.items()}
        if isinstance(value, list) or type(value) is tuple:
            return [_repair(item, depth + 1, above) for item in value]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {_key(name): _repair(item, depth + 1, above) for name, item in _fields(value).items()}
        return _describe(value, depth, above)
    finally:
        above.discard(id(value))


def _describe(value: Any, depth: int, above: set[int]) -> Any:
    """A value's description of itself. It is made by code of the value's class, which may fail in any way."""
    try:
        described = known(value)
    except Exception as error:
        # Whatever it raised, one value must not end the run; we report the kind of error.
        return f"Left out: a {type(value).__qualname__} could not be written as JSON ({type(error).__name__})."
    # One level deeper: an object that keeps describing itself by new objects ends at `MAX_DEPTH`.
    return _repair(described, depth + 1, above)


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
