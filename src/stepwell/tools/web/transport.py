"""`Web`: the only way out. A request is one exchange with one server; it does not follow redirects, cache or retry.

Counting, receipts, recording and replay are each a `Web` that wraps another. Redirects are ordinary responses (`fetch` follows them), so
every hop passes through here.

Rule to keep: no secret in `url`, because URLs are recorded. Keys go into `headers`, which are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Protocol

from stepwell.tools.documents.robots_rules import PRODUCT

DEFAULT_MAX_BYTES = 8 * 1024 * 1024
DEFAULT_TIMEOUT_S = 20.0


@cache
def user_agent() -> str:
    """How we identify ourselves: as a program, by name."""
    return f"Mozilla/5.0 (compatible; {PRODUCT}/{version('stepwell')})"


@dataclass(frozen=True)
class WebRequest:
    """What is sent."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    body: bytes = field(default=b"", repr=False)
    purpose: str = "page"
    """Why it is sent: `page`, `robots` or `search:<engine>`. For receipts only; it is not sent."""
    timeout_s: float = DEFAULT_TIMEOUT_S
    """For the whole exchange, from resolving the name to the last byte."""
    max_bytes: int = DEFAULT_MAX_BYTES
    """The maximum size of the response, both compressed and decompressed."""
    cut: bool = False
    """Cut a longer response at the limit instead of refusing it."""
    inside: bool = False
    """The operator named this origin in the settings, so it may be inside the network. Never set this because of what a model, a page or a
    user says."""


@dataclass(frozen=True)
class WebResponse:
    """A response, decompressed."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case, in the order received."""
    content: bytes = field(default=b"", repr=False)
    wire_bytes: int = 0
    """The length of the content as received, compressed."""
    complete: bool = True
    """Whether nothing was cut."""

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        return next((value for key, value in self.headers if key == name.lower()), None)


class Web(Protocol):
    """Sends a request. Raises `FetchRefusedError` if it may not be sent, `FetchFailedError` if there is no usable response."""

    async def send(self, request: WebRequest) -> WebResponse: ...
