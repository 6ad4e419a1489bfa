"""A proxy in front of an HTTP server that loses, delays, cuts and replaces answers on request, each request on its own connection.

```python
async with FaultProxy("127.0.0.1", port) as proxy:
    proxy.faults = [("POST /v1/swap", "lose_answer")]     # once, for the next request that begins so
    client = Client(proxy.url)
```
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Literal, Self

Fault = Literal["none", "lose_request", "lose_answer", "cut_answer", "unavailable", "html", "delay"]
"""No fault, to count on to the next; not passed on; passed on, and the answer thrown away; half of the answer; 503 without passing it on; a
page instead; a second late."""

_REPLACED = {
    "unavailable": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "html": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<html>hi</html>",
}
_LARGEST = 16 * 1024 * 1024


class FaultProxy:
    """Listens on a free port of this machine. `seen` are the first lines of all requests, without what they carry."""

    def __init__(self, host: str, port: int, *, delay_s: float = 1.0) -> None:
        self.faults: list[tuple[str, Fault]] = []
        self.seen: list[str] = []
        self._target = (host, port)
        self._delay_s = delay_s
        self._at_work: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_LARGEST)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._at_work:
            task.cancel()
        await asyncio.gather(*self._at_work, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_message(reader)
            if request:
                await self._answer(request, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # one side has gone: that is what a proxy sees every day
        finally:
            writer.close()

    async def _answer(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        line = request.split(b" HTTP", 1)[0].decode(errors="replace")
        self.seen.append(line)
        fault = self._next_fault(line)
        if fault == "lose_request":
            return
        if fault in _REPLACED:
            writer.write(_REPLACED[fault])
            await writer.drain()
            return
        answer = await self._pass_on(request)
        if fault == "lose_answer":
            return
        if fault == "delay":
            await asyncio.sleep(self._delay_s)
        writer.write(answer[: len(answer) // 2] if fault == "cut_answer" else answer)
        await writer.drain()

    def _next_fault(self, line: str) -> Fault | None:
        for number, (begins, fault) in enumerate(self.faults):
            if line.startswith(begins):
                del self.faults[number]
                return fault
        return None

    async def _pass_on(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(*self._target, limit=_LARGEST)
        try:
            writer.write(_close_after(request))
            await writer.drain()
            return await reader.read(-1)
        finally:
            writer.close()


async def _read_message(reader: asyncio.StreamReader) -> bytes:
    """One request: its head, and as much behind it as the head says."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    return head + (await reader.readexactly(length) if length else b"")


def _close_after(request: bytes) -> bytes:
    """Both servers and clients keep connections open unless they are told not to."""
    head, separator, body = request.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + separator + body
