"""Every request has an id, and a line in the log when its response is complete.

We keep an id that the caller sends as `X-Request-Id` if it is a plain word, so that a request can be traced through several servers;
otherwise we create one. The response contains the id. Probes (`/ok`, `/ready`, `/metrics`) are logged only at level `debug`, and a
terminal shows only requests that failed with a server error (`logs.open_logs`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.runs.graphs.project.http import HeaderChoice
from stepwell.server.monitoring.log_context import enter_request

HEADER = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
_CREDENTIALS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "x-cashu"})
_PROBES = frozenset({"/ok", "/ready", "/metrics"})
REQUESTS = "stepwell.requests"
_log = logging.getLogger(REQUESTS)


class RequestLog:
    """The outermost ASGI layer."""

    def __init__(self, app: ASGIApp, new_id: Callable[[], str], headers: HeaderChoice | None = None) -> None:
        """`headers` are those of requests that a project wants in the log; credentials never are."""
        self._app = app
        self._headers = headers
        self._new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = perf_counter(), 0
        request_id = _sent_id(scope) or self._new_id().encode()
        enter_request(request_id.decode())

        def send_marked(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (HEADER, request_id)]
            return send(message)

        try:
            await self._app(scope, receive, send_marked)
        finally:
            level = logging.WARNING if status >= 500 else logging.DEBUG if scope["path"] in _PROBES else logging.INFO
            if _log.isEnabledFor(level):
                fields: dict[str, Any] = {
                    "status": status,
                    "seconds": round(perf_counter() - began, 4),
                    "route": route_of(scope),
                }
                if self._headers:
                    fields["headers"] = _chosen_headers(scope, self._headers)
                # Without the query: it may contain a secret. Status 0: the client disconnected before there was a response.
                _log.log(level, "%s %s", scope["method"], scope["path"], extra=fields)


def _chosen_headers(scope: Scope, choice: HeaderChoice) -> dict[str, str]:
    named = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"])
    return {name: value for name, value in named if name not in _CREDENTIALS and choice.takes(name)}


def route_of(scope: Scope) -> str:
    """The pattern of the route that responded, never the path: ids would create endless series."""
    return getattr(scope.get("route"), "path", None) or "unknown"


def _sent_id(scope: Scope) -> bytes | None:
    for name, value in scope["headers"]:
        if name == HEADER and _SANE.fullmatch(value):
            return bytes(value)
    return None
