"""Which host names a server answers to, so that no web page can reach the server under the page's own host name."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from stepwell.server.problems import problem


class HostCheck:
    """Rejects requests for another host name. A page can point its own host name at 127.0.0.1 (DNS rebinding) and would then be "same
    origin" with a server there; the `Host` header reveals that."""

    def __init__(self, app: ASGIApp, *, allowed: tuple[str, ...]) -> None:
        self._app = app
        self._allowed = frozenset(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or "*" in self._allowed or self._is_allowed(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        detail = "This server does not accept that host name. An operator can add it to STEPWELL_ALLOWED_HOSTS."
        await problem(400, "wrong-host", "Wrong host", detail)(scope, receive, send)

    def _is_allowed(self, headers: Headers) -> bool:
        named = headers.getlist("host")
        if len(named) != 1:
            return False
        host = named[0].lower()
        name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "0")
        return (name or host) in self._allowed and (not name or port.isdigit())
