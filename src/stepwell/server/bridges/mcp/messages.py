"""JSON-RPC and the parts of MCP that need nothing but the message: versions, sessions, errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeGuard

from stepwell.server.parts import Services

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions, oldest first."""
ASSUMED = "2025-03-26"
"""The version of a request without the header, by the specification."""

INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32600, -32601, -32602

RpcId = str | int
_SESSION = re.compile(r"[0-9a-f-]{36}(\.[a-z]+)*")
_FORM, _URL = "form", "url"
_MOST_CHARS = 200
_LARGEST = 2**53
"""Whole numbers up to here are the same in all languages."""


class RpcError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Session:
    """What a client can do, as its session's id says. The id is made by `initialize` and comes with every later request; a client that
    changes it only changes what itself is asked."""

    id: str = ""
    version: str = ASSUMED

    @property
    def name(self) -> str:
        """Which session it is, whatever its client can do."""
        return self.id.split(".")[0]

    @property
    def answers_forms(self) -> bool:
        return _FORM in self.id.split(".")[1:]

    @property
    def opens_addresses(self) -> bool:
        return _URL in self.id.split(".")[1:]

    @property
    def knows_priming(self) -> bool:
        """Whether an event without data may begin a stream."""
        return self.version >= "2025-11-25"


def read_session(headers: Mapping[str, str]) -> Session:
    """The session of a request.

    Raises:
        RpcError: If the version is not supported, or the id not one of ours.
    """
    named = headers.get("mcp-protocol-version", ASSUMED)
    if named not in VERSIONS:
        raise RpcError(
            INVALID_REQUEST, f"This server speaks the MCP versions {', '.join(VERSIONS)}. Initialize with one of them."
        )
    session_id = headers.get("mcp-session-id", "")
    if session_id and not _SESSION.fullmatch(session_id):
        raise RpcError(INVALID_REQUEST, "The Mcp-Session-Id is not one of this server. Initialize again.")
    return Session(session_id, named)


def initialize(services: Services, params: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The result of `initialize`, and the session's id."""
    wanted = params.get("protocolVersion")
    declared = params.get("capabilities") or {}
    asks = declared.get("elicitation") if isinstance(declared, Mapping) else declared
    if asks is not None and not isinstance(asks, Mapping):
        raise RpcError(INVALID_PARAMS, "'capabilities' is an object, and 'elicitation' in it too.")
    # A client that says nothing more about elicitation can show forms.
    modes = [] if asks is None else [_FORM] if not asks else [mode for mode in (_FORM, _URL) if mode in asks]
    result = {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "stepwell", "title": "Stepwell", "version": version("stepwell")},
        "instructions": "Each tool is an assistant. A call may take minutes; send a progressToken to hear what it does.",
    }
    return result, ".".join([services.new_id(), *modes])


def rpc_result(message_id: RpcId, result: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def rpc_error(message_id: RpcId | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": message}}


def read_id(message: Mapping[str, Any]) -> RpcId | None:
    """A request's id; None for a notification."""
    found = message.get("id")
    if found is None or is_rpc_id(found):
        return found
    raise RpcError(
        INVALID_REQUEST, f"The id of a message is a text of at most {_MOST_CHARS} characters, or a whole number below 2^53."
    )


def is_rpc_id(value: object) -> TypeGuard[RpcId]:
    """Whether a value can be an id, or a progress token."""
    if isinstance(value, str):
        return len(value) <= _MOST_CHARS and not any("\ud800" <= char <= "\udfff" for char in value)  # no half characters
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST


def params_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    params = message.get("params")
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise RpcError(INVALID_PARAMS, "'params' is an object.")
    return params
