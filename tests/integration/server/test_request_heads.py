"""Heads of requests have bounds: nobody keeps connections without asking for something, or fills the memory with a header."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from stepwell.server.limits import heads
from stepwell.server.limits.heads import LARGEST_HEAD, BoundedHeads

ASK = b"GET /ok HTTP/1.1\r\nHost: localhost\r\n"


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    await asyncio.sleep(4.5 if scope["path"] == "/slow" else 0)  # longer than a head may take below
    await PlainTextResponse("fine")(scope, receive, send)


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(heads, "HEAD_S", 3.0)
    server = uvicorn.Server(uvicorn.Config(_answer, port=0, lifespan="off", http=BoundedHeads, log_level="critical"))
    serving = asyncio.create_task(server._serve())
    async with asyncio.timeout(60):
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await serving


async def _send(port: int, *pieces: bytes) -> bytes:
    """All that comes back until the server closes."""
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        try:
            return await reader.read()
        except ConnectionResetError:  # the server closed with bytes of ours unread
            return b"reset"
        finally:
            writer.close()


@pytest.mark.parametrize(
    "pieces", [(), (b"GET /ok HTTP/1.1\r\nHost: loc",), (ASK + b"\r\n", ASK)], ids=["silent", "half", "second"]
)
async def test_a_head_that_does_not_come_ends_the_connection(port: int, pieces: tuple[bytes, ...]) -> None:
    answered = await _send(port, *pieces)
    assert answered.count(b"200 OK") == (1 if len(pieces) > 1 else 0)


async def test_a_header_without_end_is_not_read_to_its_end(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "HEAD_S", 60)
    answered = await _send(port, ASK + b"X: ", *([b"a" * 65536] * (LARGEST_HEAD // 65536 + 4)))
    assert answered == b"reset" or answered.startswith(b"HTTP/1.1 431 ")


async def test_a_request_that_takes_longer_than_its_head_is_answered(port: int) -> None:
    answered = await _send(port, ASK.replace(b"/ok", b"/slow") + b"Connection: close\r\n\r\n")
    assert answered.endswith(b"fine")
