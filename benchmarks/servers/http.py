"""The driver's HTTP/1.1 client: one keep-alive connection, one request at a time, answers in pieces as they arrive.

Written by hand so that the driver is not what is measured: a general client costs as much CPU per request as a fast server. It
knows what the servers here send (a length or chunks) and nothing else. Callers bound every wait with a time-out.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

Take = Callable[[bytes], None]
"""Told of each piece of a body when it arrives."""


class BrokenAnswerError(Exception):
    """The connection ended before the answer did."""


class Connection(asyncio.Protocol):
    """`await Connection.open(port)`, then `await connection.post(path, {...})`."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._done: asyncio.Future[int] | None = None
        self._take: Take = _ignore
        self._status = 0
        self._left: int | None = None
        """Bytes of the body that are to come; None for chunks."""

    @classmethod
    async def open(cls, port: int) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return connection

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()

    async def post(self, path: str, body: Any) -> tuple[int, bytes]:
        """The status and the whole body."""
        pieces: list[bytes] = []
        status = await self.stream(path, body, pieces.append)
        return status, b"".join(pieces)

    async def stream(self, path: str, body: Any, take: Take) -> int:
        """The status, when the answer is complete; until then `take` gets its pieces."""
        assert self._transport is not None
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        self._take, self._status, self._left = take, 0, None
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(head.encode() + content)
        return await self._done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a stream's transport is a Transport

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if not self._status and not self._read_head():
            return
        ended = self._read_chunks() if self._left is None else self._read_rest()
        if ended and self._done and not self._done.done():
            self._done.set_result(self._status)

    def connection_lost(self, error: Exception | None) -> None:
        if self._done and not self._done.done():
            self._done.set_exception(BrokenAnswerError(str(error or "the server closed the connection")))

    def _read_head(self) -> bool:
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return False
        lines = head.lower().split(b"\r\n")
        self._status = int(lines[0].split()[1])
        lengths = [int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")]
        self._left = lengths[0] if lengths else None
        self._buffer = rest
        return True

    def _read_rest(self) -> bool:
        assert self._left is not None
        piece, self._buffer = self._buffer[: self._left], self._buffer[self._left :]
        self._left -= len(piece)
        if piece:
            self._take(piece)
        return not self._left

    def _read_chunks(self) -> bool:
        while True:
            line, found, rest = self._buffer.partition(b"\r\n")
            if not found:
                return False
            size = int(line.partition(b";")[0], 16)
            if len(rest) < size + 2:
                return False
            self._buffer = rest[size + 2 :]
            if not size:
                return True
            self._take(rest[:size])


def _ignore(piece: bytes) -> None:
    """Nobody asked for this."""


class Frames:
    """Cuts pieces of a `text/event-stream` into events; comments are left out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[tuple[str, bytes]]:
        """The events that are complete now, each as name and data."""
        *whole, self._rest = (self._rest + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for block in whole:
            fields = dict(line.partition(b": ")[::2] for line in block.split(b"\n"))
            if b"event" in fields:
                yield fields[b"event"].decode(), fields.get(b"data", b"")
