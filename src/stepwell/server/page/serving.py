"""Serves the built web page. A plain ASGI layer before the routes, so that no route has to know the page's files.

```
GET a file of `static/`                            the file; cached forever below /assets/ (hash in the name), otherwise revalidated
    /service-worker.js                             at the root, because it may only serve what lies below it; under the page's policy
GET /, /t/..., /inbox ... by a browser             the page itself, which reads its address
the same where the page is not built               a substitute (`front`)
anything else                                      the routes
```

The page itself contains no user data: it requests that from the API, which requires sign-in. So the page needs no key.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stepwell.server.page.front import render_front

STATIC = Path(__file__).parent / "static"
ADDRESSES = ("/inbox", "/operator", "/sign-in")
BELOW = ("/t/", "/new/")
"""Paths that the page routes itself: the server sends the page for each of them."""

POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'{hosts}; "
    "worker-src 'self'; manifest-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
"""`{hosts}` are the addresses that products name (`page_hosts`), such as mints; besides them the page contacts only its own server.
`'wasm-unsafe-eval'` allows compiling the embedder's WebAssembly; JavaScript still cannot be created from text. Scripts are sent with the
policy too, because a worker has the policy of its own script and not the page's."""
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".map": "application/json",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
}
"""The types of file served from `static/`; other types are not served. Not Python's own table, because that depends on the machine."""
_COMPRESSED = (".html", ".js", ".mjs", ".css", ".svg", ".json", ".map", ".webmanifest", ".txt", ".wasm")
_SCRIPTS = (".js", ".mjs")
_FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class PageFile:
    """A file, ready to send."""

    media_type: str
    body: bytes
    zipped: bytes | None
    etag: str
    version: tuple[int, int]
    """Its modification time and size, so that a rebuilt page is read again."""


def is_address(path: str) -> bool:
    """Whether a browser gets the page itself here."""
    return path == "/" or path in ADDRESSES or path.startswith(BELOW)


def write_policy(hosts: Iterable[str] = ()) -> str:
    """The page's Content-Security-Policy, which allows it to contact these hosts besides its server."""
    origins = dict.fromkeys(f" {place.scheme}://{place.netloc}" for place in map(urlsplit, hosts))
    return POLICY.format(hosts="".join(origins))


class PageFiles:
    """The files of the page, each read and compressed on its first request."""

    def __init__(self, folder: Path = STATIC) -> None:
        self._folder = folder.resolve()
        self._read: dict[str, PageFile] = {}

    async def find(self, path: str) -> PageFile | None:
        """The page's file at a path of the server; `None` if there is none."""
        place = self._place(path)
        if place is None:
            return None
        try:
            stat = place.stat()
            known = self._read.get(path)
            if known and known.version == (stat.st_mtime_ns, stat.st_size):
                return known
            self._read[path] = await asyncio.to_thread(_read, place, (stat.st_mtime_ns, stat.st_size))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        return self._read[path]

    def _place(self, path: str) -> Path | None:
        """Where the file lies in the folder; `None` unless it is inside the folder, of a permitted type and not hidden."""
        parts = path.split("/")[1:]
        if "." not in parts[-1]:  # true of nearly every request for the routes
            return None
        if not all(parts) or any(part.startswith(".") or "\\" in part or "\0" in part for part in parts):
            return None
        place = self._folder.joinpath(*parts)
        return place if place.suffix in _MEDIA_TYPES and place.resolve().is_relative_to(self._folder) else None


def _read(place: Path, version: tuple[int, int]) -> PageFile:
    body = place.read_bytes()
    zipped = gzip.compress(body, 9, mtime=0) if place.suffix in _COMPRESSED else None
    smaller = zipped if zipped is not None and len(zipped) < len(body) else None
    return PageFile(_MEDIA_TYPES[place.suffix], body, smaller, f'"{hashlib.sha256(body).hexdigest()[:32]}"', version)


class ServePage:
    """The layer. `asks_who` is for the substitute shown if the page is not built; the page may contact `hosts` besides its server."""

    def __init__(self, app: ASGIApp, *, files: PageFiles, asks_who: bool, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._files = files
        self._asks_who = asks_who
        self._policy = write_policy(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._respond(scope) if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        await (response or self._app)(scope, receive, send)

    async def _respond(self, scope: Scope) -> Response | None:
        path, headers = scope["path"], Headers(scope=scope)
        if is_address(path):
            # A browser asks for HTML by name; a program that accepts JSON or anything gets the route's response.
            return await self._page(scope, headers) if "text/html" in headers.get("accept", "") else None
        if path == "/index.html":  # the page has only one address
            return None
        found = await self._files.find(path)
        if found is None:
            return None
        keep = {"cache-control": _FOR_GOOD if path.startswith("/assets/") else "no-cache"}
        return _send(found, headers, {**keep, "content-security-policy": write_policy()} if path.endswith(_SCRIPTS) else keep)

    async def _page(self, scope: Scope, headers: Headers) -> Response:
        found = await self._files.find("/index.html")
        if found:
            allowed = {"cache-control": "no-cache", "content-security-policy": self._policy, "vary": "Accept"}
            return _send(found, headers, allowed)
        address = str(Request(scope).base_url).rstrip("/")
        return Response(render_front(address, asks_who=self._asks_who), media_type="text/html", headers={"vary": "Accept"})


def _send(file: PageFile, asked: Headers, headers: dict[str, str]) -> Response:
    headers = {**headers, "etag": file.etag}
    if file.zipped is not None:
        headers["vary"] = ", ".join(filter(None, (headers.get("vary"), "Accept-Encoding")))
    if file.etag in (each.strip().removeprefix("W/") for each in asked.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers=headers)
    if file.zipped is not None and _takes_gzip(asked.get("accept-encoding", "")):
        return Response(file.zipped, headers={**headers, "content-encoding": "gzip"}, media_type=file.media_type)
    return Response(file.body, headers=headers, media_type=file.media_type)


def _takes_gzip(accepted: str) -> bool:
    named = {each.partition(";")[0].strip().lower(): each.partition(";")[2].strip() for each in accepted.split(",")}
    return "gzip" in named and named["gzip"] not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
