"""A request and a response of the fake object store, as its two APIs see them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Request:
    """A request. Header names are in lower case."""

    method: str
    raw_path: str
    """Without the query, and still percent-encoded, because in the JSON API an encoded slash belongs to an object's name."""
    query: dict[str, str] = field(hash=False)
    headers: dict[str, str] = field(hash=False, repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def path(self) -> str:
        return unquote(self.raw_path)

    @classmethod
    def parse(cls, method: str, target: str, headers: dict[str, str], body: bytes) -> Self:
        address = urlsplit(target)
        return cls(method, address.path, dict(parse_qsl(address.query, keep_blank_values=True)), headers, body)


@dataclass(frozen=True)
class Response:
    """A response."""

    status: int
    body: bytes = field(default=b"", repr=False)
    headers: dict[str, str] = field(default_factory=dict, hash=False)


def cut_range(whole: Response, wanted: str | None) -> Response:
    """The part of a body that a `Range` header asks for: `bytes=a-b`, `bytes=a-` or `bytes=-n`."""
    if not wanted or not wanted.startswith("bytes="):
        return whole
    size = len(whole.body)
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last) + 1, size) if first and last else size
    if start >= size:
        return Response(416, b"", {"content-range": f"bytes */{size}"})
    headers = {**whole.headers, "content-range": f"bytes {start}-{end - 1}/{size}"}
    return replace(whole, status=206, body=whole.body[start:end], headers=headers)
