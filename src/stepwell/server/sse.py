"""Slow responses: server-sent events, and JSON that is not ready yet.

```
EventStream   headers and a comment at once -> frames as they arrive -> a comment after every quiet HEARTBEAT_S
PatientJson   short waits: plain JSON; long ones: a newline every HEARTBEAT_S, then the JSON
```
A client that disconnects is noticed at once, and `on_gone` decides what that means for the run. A reader that has lost access (its key
was revoked, its session is over, its token has expired) is cut off: `policy.StreamPolicy` leaves a check in the request's state, and a
stream calls this check every RECHECK_S. A stream that fails midway, or whose server stops, breaks off without a proper end, so that
clients reconnect with the last id they saw and nothing is lost. This module knows only the events of a run. It is plain ASGI: one task
reads, one watches the connection, one keeps it alive, and no task is started for a single event.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stepwell.database.types import RunEvent

HEARTBEAT_S = 5.0
RECHECK_S = 15.0
READER_CHECK = "reader_check"
OPENING = b": connected\n\n"
HEARTBEAT = b": heartbeat\n\n"

Gone = Callable[[], Awaitable[object]]
"""Called when the client disconnects before the end."""

LateHeaders = Callable[[], Awaitable[Mapping[str, str]]]
"""Headers that are known only together with the result."""

ReaderCheck = Callable[[], Awaitable[bool]]
"""Whether the reader of a stream still has access."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_log = logging.getLogger("stepwell.server")


def frame(event: RunEvent) -> bytes:
    """One event as text/event-stream. The data is JSON on one line."""
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.seq, event.event.encode(), event.data)


def data_frame(data: bytes) -> bytes:
    """A frame without a name or an id."""
    return b"data: %b\n\n" % data


async def frames(
    batches: AsyncIterator[Sequence[RunEvent]], wanted: Callable[[str], bool] | None = None
) -> AsyncGenerator[bytes, None]:
    """Each batch as one piece of text. `wanted` filters by the event's name."""
    async for batch in batches:
        piece = b"".join(frame(event) for event in batch if wanted is None or wanted(event.event))
        if piece:
            yield piece


class LiveStreams:
    """The open streams, so that a stopping server can cut them: their clients then reconnect to another one."""

    def __init__(self) -> None:
        self._pumps: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._pumps)

    def add(self, pump: asyncio.Task[None]) -> None:
        self._pumps.add(pump)
        pump.add_done_callback(self._pumps.discard)

    def end_all(self) -> None:
        for pump in tuple(self._pumps):
            pump.cancel()


class EventStream(Response):
    """A `text/event-stream` response made of pieces of text."""

    media_type = "text/event-stream"

    def __init__(
        self,
        pieces: AsyncGenerator[bytes, None],
        live: LiveStreams,
        *,
        headers: Mapping[str, str] | None = None,
        on_gone: Gone | None = None,
    ) -> None:
        super().__init__(headers={**_HEADERS, **(headers or {})})
        del self.headers["content-length"]
        self._pieces = pieces
        self._live = live
        self._on_gone = on_gone
        self._sent_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send(_part(OPENING))
        pump = asyncio.create_task(self._pump(send))
        self._live.add(pump)
        may_read: ReaderCheck | None = scope.get("state", {}).get(READER_CHECK)
        stayed = await _unless_gone(receive, pump, self._beat(send), _watch(pump, may_read))
        if not stayed:
            await _tell(self._on_gone)
        elif pump.cancelled():
            # The server is stopping, or this reader has lost access. We send no last part, because a client that sees a clean end would
            # ask for the run and, if the run has ended in the meantime, would not reconnect for the rest.
            _log.debug("a stream was cut off")
        elif (error := pump.exception()) is not None:  # cut as well, so that the client reconnects
            _log.error("a stream broke off", exc_info=error)
        else:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, send: Send) -> None:
        now = asyncio.get_running_loop().time
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                self._sent_at = now()
                await send(_part(piece))

    async def _beat(self, send: Send) -> None:
        now = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            if now() - self._sent_at >= HEARTBEAT_S:
                await send(_part(HEARTBEAT))


class PatientJson(Response):
    """The JSON of `result` once it is ready. White space before JSON has no meaning, and keeps proxies from timing out.

    With `late_headers`, which are known only together with the result, nothing is sent meanwhile."""

    media_type = "application/json"

    def __init__(
        self,
        result: Coroutine[Any, Any, bytes],
        *,
        headers: Mapping[str, str] | None = None,
        on_gone: Gone | None = None,
        late_headers: LateHeaders | None = None,
    ) -> None:
        super().__init__(headers={**_HEADERS, **(headers or {})})
        del self.headers["content-length"]
        self._result = result
        self._on_gone = on_gone
        self._late_headers = late_headers
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        result = asyncio.create_task(self._result)
        if not await _unless_gone(receive, result, self._beat(send)):
            await _tell(self._on_gone)
            return
        body = result.result()  # an error before the first byte becomes a problem
        if self._late_headers is not None:
            self.headers.update(await self._late_headers())
        if not self._begun:
            self.headers["content-length"] = str(len(body))
            await self._begin(send)
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _begin(self, send: Send) -> None:
        self._begun = True
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})

    async def _beat(self, send: Send) -> None:
        while self._late_headers is None:
            await asyncio.sleep(HEARTBEAT_S)
            if not self._begun:
                await self._begin(send)
            await send(_part(b"\n"))


async def _unless_gone(receive: Receive, work: asyncio.Task[Any], *beside: Coroutine[Any, Any, None]) -> bool:
    """Let `work` run to its end unless the client disconnects first. When this returns, `work` has stopped."""
    gone = asyncio.create_task(_until_gone(receive))
    others = [gone, *(asyncio.create_task(each) for each in beside)]
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        return work.done()
    finally:
        for task in (work, *others):
            task.cancel()
        await asyncio.gather(work, *others, return_exceptions=True)


async def _watch(pump: asyncio.Task[None], may_read: ReaderCheck | None) -> None:
    """End the stream when its reader loses access."""
    while may_read is not None:
        await asyncio.sleep(RECHECK_S)
        if not await may_read():
            pump.cancel()
            return


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _tell(on_gone: Gone | None) -> None:
    if on_gone is not None:
        await on_gone()


def _part(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}
