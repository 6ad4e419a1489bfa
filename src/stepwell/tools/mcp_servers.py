"""Checks the descriptions of MCP servers before anything is started.

A server is a mapping in the usual form of MCP clients: `{"command": ..., "args": [...], "env": {...}}` for a process that we start,
`{"url": ..., "headers": {...}}` for a server that runs elsewhere. `transport` (or `type`) is optional. Any mistake raises a
`ConfigurationError` that names the server and never repeats a value, because values may contain tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stepwell.errors import ConfigurationError

_TRANSPORTS = {
    "stdio": "stdio",
    "http": "streamable_http",
    "streamable_http": "streamable_http",
    "streamable-http": "streamable_http",
    "sse": "sse",
}


def connection_of(name: str, server: object) -> dict[str, Any]:
    """A server's description in the complete form that langchain-mcp-adapters expects."""
    if not isinstance(server, Mapping):
        raise _wrong(name, f"its description is a {type(server).__name__}, not a mapping")
    given = dict(server)
    transport = _transport(name, given)
    checks = _STDIO if transport == "stdio" else _HTTP
    for key, value in given.items():
        if key not in checks:
            raise _wrong(name, f"'{key}' is not a setting of the transport '{transport}'; known settings: {_list(checks)}")
        if not checks[key](value):
            raise _wrong(name, f"the value of '{key}' does not fit")
    if transport == "stdio":
        given = {"args": [], **given}
    if isinstance(given.get("session_kwargs"), Mapping):
        given["session_kwargs"] = dict(given["session_kwargs"])  # the adapters write into it
    return {"transport": transport, **given}


def _transport(name: str, given: dict[str, Any]) -> str:
    """Take the transport out of the description, or infer it from the other keys."""
    stated = given.pop("transport", None) or given.pop("type", None)
    given.pop("type", None)
    if stated is None:
        if ("command" in given) == ("url" in given):
            raise _wrong(name, "it needs either a 'command' to start or a 'url' to call")
        stated = "stdio" if "command" in given else "http"
    if stated not in _TRANSPORTS:
        raise _wrong(name, f"the transport '{stated}' is unknown; known transports: {_list(_TRANSPORTS)}")
    transport = _TRANSPORTS[stated]
    needed = "command" if transport == "stdio" else "url"
    if needed not in given:
        raise _wrong(name, f"the transport '{stated}' needs a '{needed}'")
    return transport


def _wrong(name: str, fact: str) -> ConfigurationError:
    return ConfigurationError(f"The MCP server '{name}' is not described correctly: {fact}.")


def has_own_callback(connection: Mapping[str, Any]) -> bool:
    """Whether the caller answers the server's questions with a function of their own."""
    settings = connection.get("session_kwargs")
    return isinstance(settings, Mapping) and "elicitation_callback" in settings


def _list(names: Mapping[str, Any]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _is_table(value: object) -> bool:
    return value is None or (
        isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)
    )


def _is_address(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://"))


def _is_anything(value: object) -> bool:
    return True


_STDIO: Mapping[str, Callable[[object], bool]] = {
    "command": _is_text,
    "args": _is_texts,
    "env": _is_table,
    "cwd": _is_anything,
    "encoding": _is_text,
    "encoding_error_handler": _is_text,
    "session_kwargs": _is_anything,
}
_HTTP: Mapping[str, Callable[[object], bool]] = {
    "url": _is_address,
    "headers": _is_table,
    "timeout": _is_anything,
    "sse_read_timeout": _is_anything,
    "terminate_on_close": _is_anything,
    "session_kwargs": _is_anything,
    "httpx_client_factory": _is_anything,
    "auth": _is_anything,
}
