"""Limits on the head of a request: its duration and its size. uvicorn limits neither, and reads heads before anybody has signed in, so
connections that never finish a head would stay open forever, and an endless head would fill the memory.

`bodies` limits bodies, and uvicorn itself closes connections that idle after a response.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S = 30.0
"""The time from the first byte of a request (for the first one, from the start of the connection) to the end of its head."""
LARGEST_HEAD = 128 * 1024

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's HTTP protocol with these limits, for `uvicorn.Config(http=...)`."""

    _in_head = True
    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn itself
        super().connection_made(transport)
        self._await_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._forget_deadline()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > LARGEST_HEAD:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        """Starts the timer once per head, so that a client that sends it byte by byte gains no time."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_S, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
