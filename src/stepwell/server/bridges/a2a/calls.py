"""Requests of JSON-RPC: which version and method they mean, and what they get back.

| the caller's header `A2A-Version` | |
|---|---|
| 1.0, or 1.0.x | served |
| missing | served if the method has its name of 1.0 (0.3 sends no header and calls it `message/send`) |
| anything else | refused with VERSION_NOT_SUPPORTED |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from stepwell.errors import (
    AnswerShapeError,
    InterruptAnsweredError,
    InvalidRequestError,
    NotFoundError,
    RequestKeyError,
    RunError,
    StepwellError,
)
from stepwell.server.bridges.a2a.faults import (
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    PUSH_NOT_SUPPORTED,
    UNSUPPORTED_OPERATION,
    VERSION_NOT_SUPPORTED,
    A2AFault,
)
from stepwell.server.bridges.a2a.tasks import unknown_task

VERSION_HEADER = "a2a-version"
STREAMING = frozenset({"SendStreamingMessage", "SubscribeToTask"})
ANSWERED = frozenset({"SendMessage", "GetTask", "ListTasks", "CancelTask", "GetExtendedAgentCard"})
_PUSH = frozenset(
    f"{verb}TaskPushNotificationConfig{plural}" for verb in ("Create", "Get", "Delete", "List") for plural in ("", "s")
)
_EARLIER = {
    "message/send": "SendMessage",
    "message/stream": "SendStreamingMessage",
    "tasks/get": "GetTask",
    "tasks/list": "ListTasks",
    "tasks/cancel": "CancelTask",
    "tasks/resubscribe": "SubscribeToTask",
    "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
}
"""Names of methods in version 0.3 -> in 1.0."""
_FREE = ("data", "metadata")
_SERVED = re.compile(r"1(\.0(\.\d{1,9})?)?", re.ASCII)


@dataclass(frozen=True)
class Call:
    """A request that can be answered."""

    id: str | int | None
    method: str
    params: Mapping[str, Any]


def read_call(body: bytes, version: str | None) -> Call:
    """The call in a body. `CallError` if we do not serve it."""
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise CallError(None, A2AFault(PARSE_ERROR, "The body is not JSON.")) from None
    if not isinstance(given, dict):
        raise CallError(
            None, A2AFault(INVALID_REQUEST, "Send one JSON-RPC request, as an object; batches are not part of A2A.")
        )
    call_id = given.get("id")
    if not isinstance(call_id, str | int | None) or isinstance(call_id, bool):
        raise CallError(None, A2AFault(INVALID_REQUEST, "'id' must be a string or a whole number."))
    try:
        return _check(given, call_id, version)
    except A2AFault as fault:
        raise CallError(call_id, fault) from fault


class CallError(StepwellError):
    """A request that gets an error of JSON-RPC."""

    def __init__(self, call_id: str | int | None, fault: A2AFault) -> None:
        self.call_id = call_id
        self.fault = fault
        super().__init__(str(fault))


def _check(given: Mapping[str, Any], call_id: str | int | None, version: str | None) -> Call:
    method, params = given.get("method"), given.get("params", {})
    if given.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise A2AFault(INVALID_REQUEST, 'A request has "jsonrpc": "2.0" and the name of a method.')
    version = (version or "").strip()
    if version and not _SERVED.fullmatch(version):
        raise A2AFault(VERSION_NOT_SUPPORTED, "This server speaks A2A 1.0. Send 'A2A-Version: 1.0'.")
    if method in _EARLIER:
        code = METHOD_NOT_FOUND if version else VERSION_NOT_SUPPORTED
        raise A2AFault(
            code, f"'{method}' belongs to A2A 0.3, and this server speaks 1.0: call {_EARLIER[method]} with 'A2A-Version: 1.0'."
        )
    if method in _PUSH:
        raise A2AFault(PUSH_NOT_SUPPORTED, "This server sends no push notifications of A2A. Use SubscribeToTask or GetTask.")
    if method not in STREAMING | ANSWERED:
        known = ", ".join(sorted(STREAMING | ANSWERED))
        raise A2AFault(METHOD_NOT_FOUND, f"There is no such method. There are: {known}.")
    if not isinstance(params, dict):
        raise A2AFault(INVALID_PARAMS, "'params' must be an object.")
    return Call(call_id, method, _camel_names(params))


def _camel_names(given: Any) -> Any:
    """The same with names like `historyLength`. Some clients send `history_length`, as the JSON of protocol buffers allows."""
    if isinstance(given, list):
        return [_camel_names(each) for each in given]
    if not isinstance(given, dict):
        return given
    return {_camel(name): value if name in _FREE else _camel_names(value) for name, value in given.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def answer(call_id: str | int | None, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id, "result": result}


def refuse(call_id: str | int | None, fault: A2AFault) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id, "error": fault.wire()}


def fault_of(error: StepwellError) -> A2AFault | None:
    """An error of ours as one of A2A; None if it is one of HTTP (not signed in, too many requests, no database)."""
    match error:
        case A2AFault():
            return error
        case NotFoundError():
            return unknown_task()
        case InterruptAnsweredError():
            return A2AFault(
                UNSUPPORTED_OPERATION,
                "The question has another answer already, or is no longer asked. Read the task with GetTask.",
            )
        case InvalidRequestError() | AnswerShapeError() | RequestKeyError():
            return A2AFault(INVALID_PARAMS, str(error))
        case RunError():
            return A2AFault(INTERNAL, str(error))
    return None
