"""The layers around the application, outermost first.

All of them are plain ASGI: a response passes through as it arrives, so event streams are never buffered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.runs.graphs.project.http import ProjectCors
from stepwell.server.limits.bodies import BodyLimits
from stepwell.server.limits.hosts import HostCheck
from stepwell.server.limits.origins import ForeignOrigins, cors_layer
from stepwell.server.limits.proxies import TrustedProxies
from stepwell.server.settings import ServerSettings

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-site",
    # Responses are for one person; those that may be cached set their own header.
    "cache-control": "no-store",
}
_PAGE_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)


def limit_layers(
    settings: ServerSettings, cors: ProjectCors | None = None, before_bodies: Sequence[Middleware] = ()
) -> list[Middleware]:
    """The layers of this package, for `FastAPI(middleware=...)`. A project may add origins, and layers before bodies are limited."""
    cors = cors or ProjectCors()
    return [
        Middleware(TrustedProxies, trusted=settings.trusted_proxies),  # before anything asks where a request comes from
        Middleware(SecurityHeaders),  # outermost of those that respond, so that rejections have the headers too
        Middleware(HostCheck, allowed=settings.allowed_hosts),  # before anything reads more of the request
        cors_layer(settings, cors),  # outside the limits, so that a page can read why it was rejected
        Middleware(ForeignOrigins, settings=settings, cors=cors),
        *before_bodies,
        Middleware(BodyLimits, settings=settings),
    ]


class SecurityHeaders:
    """Adds security headers that the response does not set itself."""

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
