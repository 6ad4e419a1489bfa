"""A few pages and a search engine as a `Web` without sockets: for demos that run anywhere and for many users at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from stepwell.demo.web.facts import WorldPage
from stepwell.demo.web.rendering import html, render
from stepwell.demo.web.search_pages import SEARXNG_URL, engine_reply
from stepwell.demo.web.serving import Received, ServedResponse
from stepwell.errors import FetchFailedError
from stepwell.tools.web.transport import WebRequest, WebResponse

_SEARCH_HOST = urlsplit(SEARXNG_URL).hostname or ""


class InMemoryWorld:
    """Answers from memory, each time after `pace_s`: the pages, and a SearXNG that finds them at `SEARXNG_URL`. Other host names have
    no address, so nothing can be mistaken for a real site."""

    def __init__(self, pages: Sequence[WorldPage], *, pace_s: float = 0.0) -> None:
        self._pages = {(urlsplit(page.url).hostname or "", urlsplit(page.url).path): page for page in pages}
        self._hosts = {_SEARCH_HOST, *(host for host, _ in self._pages)}
        self._pace_s = pace_s

    async def send(self, request: WebRequest) -> WebResponse:
        parts = urlsplit(request.url)
        host = parts.hostname or ""
        if host not in self._hosts:
            raise FetchFailedError(f"The name '{host}' has no address here: this web has only the demo's own pages.", "network")
        if self._pace_s:
            await asyncio.sleep(self._pace_s)
        reply = self._reply_to(host, request)
        kind = (("content-type", reply.content_type),) if reply.content_type else ()
        given = tuple((name.lower(), value) for name, value in reply.headers)
        return WebResponse(reply.status, (*kind, *given), reply.body, len(reply.body))

    def _reply_to(self, host: str, request: WebRequest) -> ServedResponse:
        parts = urlsplit(request.url)
        place = unquote(parts.path or "/")
        if place == "/robots.txt":
            return ServedResponse(404, body=b"no such file")
        if host == _SEARCH_HOST:
            path = place + (f"?{parts.query}" if parts.query else "")
            headers = {name.lower(): value for name, value in request.headers.items()}
            received = Received(host, request.method, path, headers, request.body)
            return engine_reply("searxng", "normal", received, list(self._pages.values()))
        page = self._pages.get((host, place))
        if page is None:
            return ServedResponse(404, body=html("Not found", ["There is no such page."]))
        content_type, body = render(page)
        return ServedResponse(content_type=content_type, body=body)
