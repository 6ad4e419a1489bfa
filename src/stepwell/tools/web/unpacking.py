"""Decompresses a response as it arrives, and stops at a limit: a few kilobytes can expand to gigabytes."""

from __future__ import annotations

import zlib
from typing import Protocol

from stepwell.errors import FetchFailedError

ACCEPTED = "gzip, deflate"
_STEP = 64 * 1024


class Unpacker(Protocol):
    def feed(self, data: bytes, room: int) -> bytes:
        """The decompressed data, at most `room` + 1 bytes. The extra byte shows that the data does not fit into `room`."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the data so far could be complete."""
        ...


def unpacker(encoding: str | None) -> Unpacker:
    """The unpacker for a value of `Content-Encoding`. Nested encodings are refused, because no honest server uses them."""
    name = (encoding or "identity").strip().lower()
    if name in ("identity", ""):
        return _Plain()
    if name in ("gzip", "x-gzip"):
        return _Zlib(16 + zlib.MAX_WBITS)
    if name == "deflate":
        return _Zlib(zlib.MAX_WBITS)
    raise FetchFailedError(f"The response is encoded as '{name[:40]}', which we did not ask for.", "encoding")


class _Plain:
    finished = True

    def feed(self, data: bytes, room: int) -> bytes:
        return data[: room + 1]


class _Zlib:
    def __init__(self, window: int) -> None:
        self._window = window
        self._inner = zlib.decompressobj(window)
        self._begun = False

    @property
    def finished(self) -> bool:
        return self._inner.eof or not self._begun

    def feed(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        while data and len(out) <= room:
            if self._inner.eof:
                self._next_member()
            out += self._step(data, min(_STEP, room + 1 - len(out)))
            data = self._inner.unconsumed_tail or self._inner.unused_data
            if self._inner.eof and self._window == zlib.MAX_WBITS:
                break  # deflate has one member; anything after it is not content
        return bytes(out)

    def _step(self, data: bytes, most: int) -> bytes:
        try:
            piece = self._inner.decompress(data, most)
        except zlib.error as error:
            if self._begun or self._window != zlib.MAX_WBITS:
                raise FetchFailedError("The response is not compressed correctly and cannot be read.", "encoding") from error
            # Some servers say `deflate` and send it without the zlib frame (RFC 9110, 8.4.1.2).
            self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
            self._begun = True
            return self._step(data, most)
        self._begun = True
        return piece

    def _next_member(self) -> None:
        self._inner = zlib.decompressobj(self._window)
