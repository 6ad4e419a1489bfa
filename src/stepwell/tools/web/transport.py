"""`Web`: the one way out. A request is one exchange with one server; nothing is followed, kept or repeated behind it.

Counting, receipts, recording and replay each wrap a `Web` with another. Redirects are answers like any other (`fetch` follows
them), so every hop passes here and is seen.

Rule to keep: no secret in `url`, because addresses are recorded. Keys go into `headers`, which are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Protocol

PRODUCT = "Stepwell"
"""The token by which robots.txt names us."""

DEFAULT_MAX_BYTES = 8 * 1024 * 1024
DEFAULT_TIMEOUT_S = 20.0


def user_agent() -> str:
    """Who we say we are: a program, by name."""
    return f"Mozilla/5.0 (compatible; {PRODUCT}/{version('stepwell')})"


@dataclass(frozen=True)
class WebRequest:
    """What is sent."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    body: bytes = field(default=b"", repr=False)
    purpose: str = "page"
    """Why it is sent: `page`, `robots` or `search:<engine>`. For receipts; it goes nowhere."""
    timeout_s: float = DEFAULT_TIMEOUT_S
    """For all of it, from the name's address to the last byte."""
    max_bytes: int = DEFAULT_MAX_BYTES
    """The most the answer may have, packed or unpacked."""
    cut: bool = False
    """An answer that is longer is cut there instead of refused."""
    inside: bool = False
    """The operator named this origin in the settings, so it may be one inside the network. Never set from what a model, a
    page or a user says."""


@dataclass(frozen=True)
class WebResponse:
    """What came back, unpacked."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case, in the order they came."""
    content: bytes = field(default=b"", repr=False)
    wire_bytes: int = 0
    """The length of the content as it came, packed."""
    complete: bool = True
    """Nothing was cut."""

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        return next((value for key, value in self.headers if key == name.lower()), None)


class Web(Protocol):
    """Sends a request. Raises `FetchRefusedError` when it may not be sent, `FetchFailedError` when nothing usable came."""

    async def send(self, request: WebRequest) -> WebResponse: ...
