"""Which page a browser's request comes from, by `Origin` and `Sec-Fetch-Site`, and which pages may use the server.

Only browsers send these headers, and a page cannot forge them. The server's own pages may do everything; pages of other origins need to
be on the list or, on a server for one machine, to be from that machine. CORS alone only keeps a page from *reading* a response.
`ForeignOrigins` rejects the request before anything happens:

```
                                          an allowed Origin   no Origin, or another one
a change                                  passes              refused if there is an Origin, or if it comes from another site
a read from another site                  passes              refused, unless a person follows a link to a page of ours
anything else (programs, our own pages)   passes              passes
```
Cookies are never allowed across origins: such pages use a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from stepwell.runs.graphs.project.http import ProjectCors
from stepwell.server.addresses import LOCAL_HOSTS, PUBLIC_PATHS, path_of
from stepwell.server.page.serving import is_address
from stepwell.server.problems import problem
from stepwell.server.settings import ServerSettings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
LOCAL_PAGES = rf"http://({'|'.join(map(re.escape, LOCAL_HOSTS))})(:\d{{1,5}})?"
EXPOSED = (
    "Content-Location",
    "Location",
    "X-Pagination-Total",
    "X-Pagination-Next",
    "Retry-After",
    "WWW-Authenticate",
    "X-Cashu",
    "X-Stepwell-Funding-Id",
)
ALLOWED = ("authorization", "x-api-key", "last-event-id", "content-type", "cache-control", "accept", "x-cashu")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def cors_layer(settings: ServerSettings, cors: ProjectCors) -> Middleware:
    """The CORS rules for pages of other origins: the operator's, and those of the project that is served."""
    return Middleware(
        CORSMiddleware,
        allow_origins=[*settings.cors_origins, *cors.allow_origins],
        allow_origin_regex=_patterns(settings, cors),
        allow_methods=list(cors.allow_methods or METHODS),
        allow_headers=list(dict.fromkeys((*ALLOWED, *cors.allow_headers))),
        expose_headers=list(dict.fromkeys((*EXPOSED, *cors.expose_headers))),
        allow_credentials=cors.allow_credentials,
        max_age=cors.max_age,
    )


def _patterns(settings: ServerSettings, cors: ProjectCors) -> str | None:
    patterns = [*([] if settings.reachable else [LOCAL_PAGES]), *([cors.allow_origin_regex] if cors.allow_origin_regex else [])]
    return "|".join(f"(?:{pattern})" for pattern in patterns) or None


class ForeignOrigins:
    """Rejects requests of pages that are neither ours nor allowed. Programs send neither of the headers and pass."""

    def __init__(self, app: ASGIApp, *, settings: ServerSettings, cors: ProjectCors | None = None) -> None:
        cors = cors or ProjectCors()
        self._app = app
        self._listed = frozenset((*settings.cors_origins, *cors.allow_origins))
        patterns = _patterns(settings, cors)
        self._patterns = re.compile(patterns) if patterns else None
        self._public_url = settings.public_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._is_welcome(scope):
            await self._app(scope, receive, send)
            return
        detail = (
            "This request came from a page of another origin. An operator can allow that origin with STEPWELL_CORS_ORIGINS."
        )
        await problem(403, "foreign-origin", "Origin not allowed", detail)(scope, receive, send)

    def _is_welcome(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is not None and self._is_allowed(origin, headers):
            return True
        if headers.get("sec-fetch-site") == "cross-site":
            return _opens_page(scope, headers)
        return origin is None or scope.get("method") in SAFE_METHODS

    def _is_allowed(self, origin: str, headers: Headers) -> bool:
        fits = self._patterns is not None and self._patterns.fullmatch(origin) is not None
        return (
            fits or "*" in self._listed or origin in self._listed or is_own(origin, headers.get("host", ""), self._public_url)
        )


def _opens_page(scope: Scope, headers: Headers) -> bool:
    """Whether a person follows a link, from any site, to a public page: the web page or the sign-in form."""
    follows = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return follows and scope.get("method") in SAFE_METHODS and (path_of(scope) in PUBLIC_PATHS or is_address(path_of(scope)))


def from_own_page(headers: Mapping[str, str], public_url: str | None) -> bool:
    """Whether a page of this very server sent the request: same host and port, not merely the same site."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return is_own(origin, headers.get("host", ""), public_url)


def is_own(origin: str, host: str, public_url: str | None) -> bool:
    """Compares the origin with the request's host and, behind a proxy, with the server's public address."""
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return False
    if public_url and origin.lower() == "{0.scheme}://{0.netloc}".format(urlsplit(public_url)).lower():
        return True
    return parts.netloc.lower() == host.lower()
