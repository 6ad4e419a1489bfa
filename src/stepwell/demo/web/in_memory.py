"""The offline world as a `Web` without sockets: for demonstrations that run anywhere and for many users at once."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from stepwell.demo.web.serving import Received
from stepwell.demo.web.world import WorldReplies
from stepwell.errors import FetchFailedError
from stepwell.tools.web.transport import WebRequest, WebResponse


class InMemoryWorld:
    """Answers from memory, each time after `pace_s`. Names outside this world have no address."""

    def __init__(self, replies: WorldReplies | None = None, *, pace_s: float = 0.0) -> None:
        self._replies = replies or WorldReplies()
        self._hosts = self._replies.hosts
        self._pace_s = pace_s

    async def send(self, request: WebRequest) -> WebResponse:
        parts = urlsplit(request.url)
        host = parts.hostname or ""
        if host not in self._hosts:
            raise FetchFailedError(f"The name '{host}' has no address here: this web has invented pages only.", "network")
        if self._pace_s:
            await asyncio.sleep(self._pace_s)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {name.lower(): value for name, value in request.headers.items()}
        reply = self._replies.reply_to(Received(host, request.method, path, headers, request.body))
        kind = (("content-type", reply.content_type),) if reply.content_type else ()
        given = tuple((name.lower(), value) for name, value in reply.headers)
        return WebResponse(reply.status, (*kind, *given), reply.body, len(reply.body))
