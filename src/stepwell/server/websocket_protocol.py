"""uvicorn's protocol for websockets, imported only when the first one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent


class RefusableSocket(WebSocketsSansIOProtocol):
    """A websocket that may be refused with an HTTP response. uvicorn takes such a handshake for a forgotten one, and would log an error
    each time, so that anybody could fill the log."""

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True
