"""Every error below `/v1/` in OpenAI's form, whichever layer refuses a request: `{"error": {message, type, param, code}}`.

A plain ASGI layer around the others: it rewrites our problems (RFC 9457), which are small and sent in one piece. Other responses pass
untouched. Clients of OpenAI repeat a request after most errors; where that would start a second run, `x-should-retry` forbids it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.server.addresses import path_of
from stepwell.server.problems import MEDIA_TYPE

PREFIX = "/v1/"
_TYPES = {
    401: ("authentication_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("permission_error", None),
    404: ("invalid_request_error", "not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}
NO_RETRY = {"x-should-retry": "false"}


def error_body(message: str, status: int, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """An error as OpenAI writes it."""
    kind, usual = _TYPES.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    return {"error": {"message": message, "type": kind, "param": param, "code": code or usual}}


class OpenAiErrors:
    """Translates problems below `/v1/`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not path_of(scope).startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Translation(send))


class _Translation:
    """Holds the head of a problem back until its body is there."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._head = message
        elif self._head is not None and message["type"] == "http.response.body":
            head, self._head = self._head, None
            # OpenAI knows no 422.
            status = 400 if head["status"] == 422 else head["status"]
            body = orjson.dumps(_translate(orjson.loads(message["body"]), status))
            headers = MutableHeaders(raw=list(head["headers"]))
            headers["content-type"] = "application/json"
            headers["content-length"] = str(len(body))
            await self._send({**head, "status": status, "headers": headers.raw})
            await self._send({**message, "body": body})
        else:
            await self._send(message)


def _is_problem(message: Message) -> bool:
    return any(name == b"content-type" and value.startswith(MEDIA_TYPE.encode()) for name, value in message["headers"])


def _translate(problem: Mapping[str, Any], status: int) -> dict[str, Any]:
    fields = problem.get("errors") or [{}]
    return error_body(str(problem.get("detail") or problem.get("title")), status, problem.get("code"), fields[0].get("field"))
