"""Limits on the body of a request: who may send it, its size, type and depth, and the numbers in it. A plain ASGI layer that looks only
at requests, never at responses.

```
head ─> who sends it? (401 without having read any of it) ─> receive it whole, within the budget ─> check it ─> the application
```
We read a body completely before the application sees it. That costs nothing (routes need all of it) and lets us measure it before
anything parses it. Integers that do not fit into 64 bits are rejected, never rounded: a parser would turn them into an approximate float,
and a checkpoint cannot store them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.errors import StepwellError
from stepwell.server.addresses import PUBLIC_PATHS, path_of
from stepwell.server.limits.json_bounds import (
    may_be_over,
    may_hold_long_integer,
    measure_json,
    place_of_long_integer,
    place_of_many_messages,
)
from stepwell.server.limits.receiving import UNKNOWN, BodyRefusedError, ClientGoneError, Receiving
from stepwell.server.problems import problem, problem_of
from stepwell.server.settings import ServerSettings

FORM = "application/x-www-form-urlencoded"
ZIP = "application/zip"
BYTES = "application/octet-stream"

_IN_A_THREAD_BYTES = 256 * 1024

T = TypeVar("T")


class Sender(Protocol):
    """The part of a principal that matters here."""

    @property
    def owner(self) -> str: ...


class Identifies(Protocol):
    """The part of `Authenticator` that matters here."""

    @property
    def needs_body(self) -> bool: ...

    async def identify(self, request: HTTPConnection) -> Sender: ...


class BodyLimits:
    """Rejects bodies that come without credentials (401), are too large or have too many values (413), are too deep or have too long an
    integer (422), arrive too slowly (408) or are not declared as JSON (415), and those that the server cannot hold now (429, 503)."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServerSettings,
        form_paths: Collection[str] = ("/login", "/logout"),
        upload_paths: Mapping[str, str] = MappingProxyType({"/api/research/verify": ZIP, "/api/documents/read": BYTES}),
        file_paths: tuple[str, ...] = ("/api/workspace/files/", "/api/workspace/uploads/"),
    ) -> None:
        """Bodies sent to `upload_paths` with the type named there, and those sent with PUT below `file_paths`, are not read here; the route
        reads them once it knows the sender. (A page cannot PUT across sites without the browser asking us first.)"""
        self._app = app
        self._settings = settings
        at_once = settings.bodies_at_once_bytes
        share = at_once // 2 if settings.asks_who else at_once
        self._receiving = Receiving(settings.body_limit_bytes, at_once, max(share, settings.body_limit_bytes))
        self._checks = BodyChecks(settings)
        self._form_paths = form_paths
        self._upload_paths = upload_paths
        self._file_paths = file_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        if empty or self._is_upload(scope, headers):
            await self._app(scope, receive, send)
            return
        try:
            body = await self._receiving.read(await _sender_of(scope), headers, receive)
            await self._check(path_of(scope), headers.get("content-type", ""), body)
        except BodyRefusedError as refusal:
            answer = problem(refusal.status, refusal.name, refusal.title, refusal.detail, headers=refusal.headers)
            await answer(scope, receive, send)
        except StepwellError as error:
            response = problem_of(error)
            if response is None:
                raise
            await response(scope, receive, send)
        except ClientGoneError:
            return
        else:
            await self._app(scope, _replay(body, receive), send)

    def _is_upload(self, scope: Scope, headers: Headers) -> bool:
        if wanted := self._upload_paths.get(path_of(scope)):
            return headers.get("content-type", "").lower() == wanted
        return scope.get("method") == "PUT" and path_of(scope).startswith(self._file_paths)

    async def _check(self, path: str, content_type: str, body: bytes) -> None:
        if not body:
            return
        kind = content_type.partition(";")[0].strip().lower()
        if kind == FORM and path in self._form_paths:
            return
        if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
            # A page can send some other types, such as text/plain, across sites without the browser asking us first.
            raise BodyRefusedError(415, "not-json", "The body is not JSON", "Send JSON, with 'Content-Type: application/json'.")
        await self._checks.check(body)


class BodyChecks:
    """What JSON may contain, wherever it arrives."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings

    async def check(self, body: bytes) -> None:
        """Raise `BodyRefusedError` for zero bytes, deep nesting, too many values or messages, and integers beyond 64 bits."""
        if b"\0" in body:
            raise BodyRefusedError(
                400, "not-json", "The body is not JSON", "The body contains a zero byte. Send JSON as UTF-8."
            )
        most_depth, most_items = self._settings.json_depth_limit, self._settings.json_items_limit
        if may_be_over(body, most_depth, most_items):
            depth, items = await _off_the_loop(measure_json, body)
            if depth > most_depth:
                detail = f"The body nests lists and objects more than {most_depth} levels deep. Flatten it, or send it as text."
                raise BodyRefusedError(422, "too-deep", "The body is nested too deeply", detail)
            if items > most_items:
                raise _too_many_values(most_items)
        await self._check_values(body)

    async def _check_values(self, body: bytes) -> None:
        most = self._settings.json_messages_limit
        if body.count(b",") >= most and (place := await _off_the_loop(place_of_many_messages, body, most)):
            detail = f"'{place}' has more than {most} messages. Send fewer, or ask the operator for a higher STEPWELL_JSON_MESSAGES_LIMIT."
            raise BodyRefusedError(413, "too-many-messages", "Too many messages", detail)
        if may_hold_long_integer(body) and (place := await _off_the_loop(place_of_long_integer, body)):
            detail = f"The integer at '{place}' does not fit into 64 bits. Send it as text."
            raise BodyRefusedError(422, "too-long-integer", "An integer is too large", detail)


async def _sender_of(scope: Scope) -> str:
    """The sender of a body, identified before we read any of it; `UNKNOWN` on public paths. The route's policy finds the principal in
    the request's state."""
    if path_of(scope) in PUBLIC_PATHS:
        return UNKNOWN
    authenticator: Identifies = scope["app"].state.authenticator
    if authenticator.needs_body:
        return UNKNOWN
    return (await authenticator.identify(HTTPConnection(scope))).owner


async def _off_the_loop(work: Callable[..., T], body: bytes, *more: int) -> T:
    return await asyncio.to_thread(work, body, *more) if len(body) > _IN_A_THREAD_BYTES else work(body, *more)


def _too_many_values(most: int) -> BodyRefusedError:
    detail = f"The body has more than {most} values. Send fewer, or ask the operator for a higher STEPWELL_JSON_ITEMS_LIMIT."
    return BodyRefusedError(413, "too-many-values", "The body has too many values", detail)


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting = [body]  # freed when it is read, because the response may be a stream that lasts for hours

    async def receive_again() -> Message:
        if not waiting:
            return await receive()
        return {"type": "http.request", "body": waiting.pop(), "more_body": False}

    return receive_again
