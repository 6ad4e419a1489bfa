"""LangGraph's values as JSON, in the shapes that LangGraph's SDKs read.

`encode` is the hot path (every event of every run): orjson writes what it knows, `known` names the rest. Only a value that
orjson refuses (a lone surrogate, an integer beyond 64 bit, a tuple as a key, a cycle, 250 levels) is walked in Python
(`wire_repair`). Nothing is ever read *from* the data: a dict that looks like a LangChain constructor is a dict.

| value | JSON |
|---|---|
| message | its fields, flat: `type`, `content`, `id`, `name`, `tool_calls`, ... |
| pydantic model, dataclass, NamedTuple | object of its fields (a dataclass's names with `_` in front are left out) |
| `Interrupt` | `{value, id, response_schema}` |
| `Send` | `{node, args}` |
| exception | `{error, message}` |
| set, deque, tuple | array |
| `bytes` | base64 |
| `Decimal`, `timedelta` | number (seconds) |
| NaN, infinity | null |
| a class, or an object nobody knows | its type's name in angle brackets: a `repr` may hold addresses and secrets |
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePath
from re import Pattern
from typing import Any

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

from stepwell.runs.wire_repair import repair
from stepwell.secrets.text import hide_secrets

_OPTIONS = orjson.OPT_NON_STR_KEYS

_PLAIN_MESSAGES = frozenset({AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage, RemoveMessage})
"""Their dump is their fields as they are; a subclass may have serializers of its own and is dumped by pydantic."""


def encode(value: Any) -> bytes:
    """The value as JSON. Never raises because of what the value holds."""
    try:
        return orjson.dumps(value, known, _OPTIONS)
    except (TypeError, RecursionError):
        return _encode_repaired(repair(value, known))


def plain(value: Any) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and `None`, equal to what a reader of `encode` gets."""
    try:
        return orjson.loads(orjson.dumps(value, known, _OPTIONS))
    except (TypeError, RecursionError):
        return repair(value, known)


def known(value: Any) -> Any:
    """One step towards JSON for a value that is not JSON. What comes back may need further steps."""
    if type(value) in _PLAIN_MESSAGES:
        return _message(value)
    if isinstance(value, BaseModel):
        # By the types that are there, not those declared: a `list[BaseMessage]` would lose tool calls, with a warning.
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
    """Arrays and numbers of other libraries know how to become Python's; of the rest only the name is told."""
    if isinstance(value, type):
        return f"<{value.__qualname__}>"
    tolist = getattr(value, "tolist", None)
    return tolist() if callable(tolist) else f"<{type(value).__qualname__}>"


def _encode_repaired(value: Any) -> bytes:
    # The standard library writes integers of any size as they are.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
