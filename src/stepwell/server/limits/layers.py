"""The layers around the application, outermost first, and how many streams a user may hold open.

All of them are plain ASGI: an answer passes through as it comes, so a stream of events is never held back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.errors import LimitReachedError
from stepwell.server.limits.bodies import BodyLimits
from stepwell.server.limits.cors import ForeignOrigins, cors
from stepwell.server.problems import problem
from stepwell.server.settings import ServerSettings

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-site",
    # Answers are somebody's own; what may be kept says so itself.
    "cache-control": "no-store",
}
_PAGE_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)


def limit_layers(settings: ServerSettings) -> list[Middleware]:
    """For `FastAPI(middleware=...)`."""
    return [
        Middleware(SecurityHeaders),  # outermost, so that refusals carry them too
        Middleware(HostCheck, allowed=settings.allowed_hosts),  # before anything reads more of the request
        cors(settings),  # outside of the limits, so that a page may read why it was refused
        Middleware(ForeignOrigins, settings=settings),
        Middleware(BodyLimits, most_bytes=settings.body_limit_bytes, most_depth=settings.json_depth_limit),
    ]


class HostCheck:
    """Refuses requests that were addressed to another name. A page can point a name of its own at 127.0.0.1 and would then be
    "same origin" with a server there; the `Host` header gives that away."""

    def __init__(self, app: ASGIApp, *, allowed: tuple[str, ...]) -> None:
        self._app = app
        self._allowed = frozenset(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or "*" in self._allowed or self._is_allowed(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        detail = "This server does not answer to that host name. An operator can add it to STEPWELL_ALLOWED_HOSTS."
        await problem(400, "wrong-host", "Wrong host", detail)(scope, receive, send)

    def _is_allowed(self, headers: Headers) -> bool:
        named = headers.getlist("host")
        if len(named) != 1:
            return False
        host = named[0].lower()
        name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "0")
        return (name or host) in self._allowed and (not name or port.isdigit())


class SecurityHeaders:
    """Adds what browsers should know, where the answer does not say otherwise."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        def with_headers(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.setdefault("content-security-policy", _PAGE_POLICY)
            return send(message)

        await self._app(scope, receive, with_headers)


class OpenStreams:
    """How many streams each owner holds open in this process."""

    def __init__(self, most_per_owner: int | None) -> None:
        self._most = most_per_owner
        self._open: Counter[str] = Counter()

    def take(self, owner: str) -> Callable[[], None]:
        """Count one more, or raise `LimitReachedError`. Call what it gives when the stream has ended; more than once is fine."""
        if self._most is not None and self._open[owner] >= self._most:
            raise LimitReachedError(f"You have {self._most} streams open, as many as allowed. Close one first.", 1)
        self._open[owner] += 1
        taken = [owner]

        def give_back(*_: Any) -> None:
            if taken:
                self._open[taken.pop()] -= 1
                if not self._open[owner]:
                    del self._open[owner]

        return give_back

    def count(self, owner: str) -> int:
        return self._open.get(owner, 0)
