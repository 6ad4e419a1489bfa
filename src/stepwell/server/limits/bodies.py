"""What a request may bring: its size, its kind, its depth, its numbers. A plain ASGI layer; it looks at requests and never at
responses.

A body is read whole before the application sees it, within the limit. That costs nothing (routes need it whole) and lets the
depth be measured *before* anything parses it: a parser that recurses must not meet a thousand brackets. Integers that do not fit into
64 bits are refused, never rounded: a parser would make a float near them, and a checkpoint cannot keep them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterator
from itertools import accumulate
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.server.problems import problem

FORM = "application/x-www-form-urlencoded"
ZIP = "application/zip"

_IDLE_S = 30.0
_WHOLE_S = 300.0
_DRAINED_BYTES = 64 * 1024 * 1024
_IN_A_THREAD_BYTES = 256 * 1024
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_DIGITS_AS_ZEROS = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))
_MANY_DIGITS = b"0" * 19
"""As many as the first integer has that is too long."""
_MOST_DIGITS = 20


class _Refused(Exception):
    def __init__(self, status: int, name: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.name, self.title, self.detail = status, name, title, detail


class _Gone(Exception):
    """The client went away while sending."""


class BodyLimits:
    """Refuses bodies that are too large (413), too deep or with too long an integer (422), too slow (408), not JSON by their own
    word (415)."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        most_bytes: int,
        most_depth: int,
        form_paths: Collection[str] = ("/login", "/logout"),
        upload_paths: Collection[str] = ("/api/research/verify",),
        file_paths: tuple[str, ...] = ("/api/workspace/files/", "/api/workspace/uploads/"),
    ) -> None:
        """What comes to `upload_paths` as `application/zip`, and what is PUT below `file_paths`, is not read here: the route does,
        once it knows who sends it. (A page cannot PUT across sites without the browser asking us first.)"""
        self._app = app
        self._most_bytes = most_bytes
        self._most_depth = most_depth
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
            async with asyncio.timeout(_WHOLE_S):  # also for one that comes byte by byte: nobody has said yet who they are
                body = await self._read(headers, receive)
            await self._check(scope["path"], headers.get("content-type", ""), body)
        except _Refused as refusal:
            await problem(refusal.status, refusal.name, refusal.title, refusal.detail)(scope, receive, send)
        except TimeoutError:
            detail = f"The body was not there after {_WHOLE_S:.0f} s. Send it faster, or less at once."
            await problem(408, "too-slow", "The body did not arrive", detail)(scope, receive, send)
        except _Gone:
            return
        else:
            await self._app(scope, _replay(body, receive), send)

    def _is_upload(self, scope: Scope, headers: Headers) -> bool:
        if scope["path"] in self._upload_paths:
            return headers.get("content-type", "").lower() == ZIP
        return scope.get("method") == "PUT" and str(scope["path"]).startswith(self._file_paths)

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        announced = headers.get("content-length", "0")
        if announced.isdigit() and len(announced) > 12:
            raise self._too_large()
        parts, size = [], 0
        # What is refused is read on for a while: a client that is still sending would see a broken connection, not the response.
        keep = int(announced) <= self._most_bytes if announced.isdigit() else True
        while True:
            message = await _next(receive)
            chunk = message.get("body", b"")
            size += len(chunk)
            keep = keep and size <= self._most_bytes
            if keep:
                parts.append(chunk)
            else:
                parts.clear()
            if not message.get("more_body") or size > _DRAINED_BYTES:
                break
        if not keep:
            raise self._too_large()
        return b"".join(parts)

    async def _check(self, path: str, content_type: str, body: bytes) -> None:
        if not body:
            return
        kind = content_type.partition(";")[0].strip().lower()
        if kind == FORM and path in self._form_paths:
            return
        if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
            # Anything else can be sent across sites by a page without the browser asking us first.
            raise _Refused(415, "not-json", "The body is not JSON", "Send JSON, with 'Content-Type: application/json'.")
        if b"\0" in body:
            raise _Refused(400, "not-json", "The body is not JSON", "The body holds a zero byte. JSON is sent as UTF-8.")
        large = len(body) > _IN_A_THREAD_BYTES
        depth = await asyncio.to_thread(json_depth, body) if large else json_depth(body)
        if depth > self._most_depth:
            detail = f"The body nests lists and objects more than {self._most_depth} deep. Send it flatter, or as text."
            raise _Refused(422, "too-deep", "The body is nested too deep", detail)
        if may_hold_long_integer(body):
            place = await asyncio.to_thread(place_of_long_integer, body) if large else place_of_long_integer(body)
            if place is not None:
                raise _too_long(place)

    def _too_large(self) -> _Refused:
        detail = f"The body is larger than {self._most_bytes} bytes. Send less at once, or put it where the agent can fetch it."
        return _Refused(413, "too-large", "The body is too large", detail)


def json_depth(body: bytes) -> int:
    """How deep the brackets outside of strings go. Linear, without recursion; what is not JSON is left to the parser."""
    if body.count(b"[") + body.count(b"{") <= 10:
        return 0
    # Escaped backslashes first, then escaped quotes: what is left of the quotes opens and closes strings in turn.
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(unescaped.split(b'"')[::2])
    steps = memoryview(outside.translate(_STEPS, _NO_BRACKETS)).cast("b")
    return max(accumulate(steps), default=0)


def _too_long(place: str) -> _Refused:
    detail = f"The integer at '{place[-200:]}' does not fit into 64 bits. Send it as text."
    return _Refused(422, "too-long-integer", "An integer is too long", detail)


async def _next(receive: Receive) -> Message:
    try:
        async with asyncio.timeout(_IDLE_S):
            message = await receive()
    except TimeoutError:
        detail = f"Nothing of the body came for {_IDLE_S:.0f} s. Send it again."
        raise _Refused(408, "too-slow", "The body did not arrive", detail) from None
    if message["type"] == "http.disconnect":
        raise _Gone
    return message


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


class _Long:
    """Stands in for an integer that is too long, in what is parsed."""


def may_hold_long_integer(body: bytes) -> bool:
    """Seen without parsing: the usual body has no number of so many digits. Only one that has is parsed once more to look."""
    return _MANY_DIGITS in body.translate(_DIGITS_AS_ZEROS)


def place_of_long_integer(body: bytes) -> str | None:
    """Where the first that is too long stands, as `body` and the keys below it, joined by dots.

    What is not JSON has none: the parser that follows says so. The number itself is not told: it may be a secret.
    """
    try:
        value = json.loads(body, parse_int=_look)
    except ValueError:
        return None
    return next(_places_in(value), None)


def _look(digits: str) -> int | _Long:
    return 0 if len(digits) <= _MOST_DIGITS and -(2**63) <= int(digits) < 2**64 else _Long()


def _places_in(value: Any) -> Iterator[str]:
    waiting: list[tuple[str, Any]] = [("body", value)]
    while waiting:
        place, one = waiting.pop()
        if isinstance(one, _Long):
            yield place
        parts = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        waiting += [(f"{place}.{name}", part) for name, part in reversed(list(parts))]
