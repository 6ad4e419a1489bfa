"""Receives the body of a request into memory, with limits on its size, its pace, and the total of all bodies at once.

```
sender                         one body           all of its bodies at once     all senders at once
unknown (forms to sign in)     64 KiB, 10 s       -                             4 MiB
known                          `most_bytes`       half of what all may send     `most_at_once`
```
Bytes count from their arrival until the body is complete (`read`) or no longer needed (`hold`), so that a sender cannot block others by
announcing a large body. A sender has some time to start, and must then keep up a minimum pace.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from time import monotonic

from starlette.datastructures import Headers
from starlette.types import Message, Receive

UNKNOWN = ""
UNKNOWN_MOST_BYTES = 64 * 1024
UNKNOWN_AT_ONCE = 64 * UNKNOWN_MOST_BYTES

_UNKNOWN_S = 10.0
_START_S = 30.0
_BYTES_PER_S = 64 * 1024
_DRAINED_BYTES = 64 * 1024 * 1024


class BodyRefusedError(Exception):
    """The body is rejected."""

    def __init__(self, status: int, name: str, title: str, detail: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(detail)
        self.status, self.name, self.title, self.detail = status, name, title, detail
        self.headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}


class ClientGoneError(Exception):
    """The client disconnected while sending."""


@dataclass
class Pace:
    """How long a body may still take: a few seconds to start, plus the time for its bytes at the slowest pace."""

    start_s: float = _START_S
    bytes_per_s: float = _BYTES_PER_S
    now: Callable[[], float] = monotonic
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.now()

    def left_s(self, received: int) -> float:
        return self._began + self.start_s + received / self.bytes_per_s - self.now()


class Receiving:
    """The bytes being received now, and the room that is left. `share` is the limit for one known sender."""

    def __init__(self, most_bytes: int, most_at_once: int, share: int) -> None:
        self._most_bytes = most_bytes
        self._most_at_once = most_at_once
        self._share = share
        self._known = 0
        self._by_sender: Counter[str] = Counter()

    async def read(self, sender: str, headers: Headers, receive: Receive) -> bytes:
        """The whole body. `sender` is `UNKNOWN` or an owner; raises `BodyRefusedError`, `ClientGoneError`."""
        async with self.hold(sender, headers, receive) as body:
            return body

    @asynccontextmanager
    async def hold(self, sender: str, headers: Headers, receive: Receive) -> AsyncIterator[bytes]:
        """Like `read`; the body counts as received until the context ends."""
        with self._counting(sender) as count:
            yield await self._receive(sender, headers, receive, count)

    @property
    def held_bytes(self) -> int:
        """What is held now for all known senders."""
        return self._known

    async def _receive(self, sender: str, headers: Headers, receive: Receive, count: Callable[[int], None]) -> bytes:
        most = min(self._most_bytes, UNKNOWN_MOST_BYTES) if sender == UNKNOWN else self._most_bytes
        announced = headers.get("content-length", "0")
        too_large = _too_large(most)
        if announced.isdigit() and len(announced) > 12:
            raise too_large
        pace = Pace(_UNKNOWN_S) if sender == UNKNOWN else Pace()
        parts: list[bytes] = []
        size = 0
        # We read on for a while after a rejection: a client that is still sending would see a broken connection, not the response.
        keep = int(announced) <= most if announced.isdigit() else True
        while True:
            message = await _next(receive, pace, size)
            chunk = message.get("body", b"")
            size += len(chunk)
            keep = keep and size <= most
            if keep:
                count(len(chunk))
                parts.append(chunk)
            else:
                parts.clear()
            if not message.get("more_body") or size > _DRAINED_BYTES:
                break
        if not keep:
            raise too_large
        return b"".join(parts)

    @contextmanager
    def _counting(self, sender: str) -> Iterator[Callable[[int], None]]:
        held = 0

        def count(more: int) -> None:
            nonlocal held
            self._require_room(sender, more)
            held += more
            self._add(sender, more)

        try:
            yield count
        finally:
            self._add(sender, -held)

    def _require_room(self, sender: str, more: int) -> None:
        if sender == UNKNOWN:
            if self._by_sender[UNKNOWN] + more > UNKNOWN_AT_ONCE:
                raise _busy()
        elif self._by_sender[sender] + more > self._share:
            detail = f"You are sending more than {self._share} bytes at once. Wait for your current requests to finish, then send the next."
            raise BodyRefusedError(429, "limit-reached", "Limit reached", detail, retry_after_s=1)
        elif self._known + more > self._most_at_once:
            raise _busy()

    def _add(self, sender: str, more: int) -> None:
        self._known += 0 if sender == UNKNOWN else more
        self._by_sender[sender] += more
        if not self._by_sender[sender]:
            del self._by_sender[sender]


async def _next(receive: Receive, pace: Pace, received: int) -> Message:
    left_s = pace.left_s(received)
    try:
        async with asyncio.timeout(min(left_s, _START_S)):
            message = await receive()
    except TimeoutError:
        detail = f"The body arrives too slowly: {received} bytes so far. Send it faster, or send less at once."
        raise BodyRefusedError(408, "too-slow", "The body did not arrive in time", detail) from None
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message


def _too_large(most: int) -> BodyRefusedError:
    detail = f"The body is larger than {most} bytes. Send less at once, or put it where the agent can fetch it."
    return BodyRefusedError(413, "too-large", "The body is too large", detail)


def _busy() -> BodyRefusedError:
    detail = "The server is receiving too much data right now. Retry in a second."
    return BodyRefusedError(503, "busy", "The server is busy", detail, retry_after_s=1)
