"""Fetches a file from a model hub over HTTP, and resumes an earlier attempt.

The URL is pinned to a revision and the file's size is known in advance, so a response of another length is rejected before a byte of it
is written. If the connection breaks or goes silent, we resume a few times; then the part stays for the next request. Redirects are
followed over https only (loopback is allowed, for tests and mirrors on this machine).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.errors import ModelDownloadError, needs_extra
from stepwell.models.local.catalogue import HubSource

if TYPE_CHECKING:
    import httpx

ReportBytes = Callable[[int, int], None]
"""Called with the number of bytes so far and the total."""

_REDIRECTS = 5


@dataclass(frozen=True)
class RetryLimits:
    """How long to wait, and how often to retry."""

    connect_s: float = 15.0
    silence_s: float = 30.0
    """The longest pause within a response."""
    retries: int = 5
    """How many attempts in a row may fail without any new data."""
    pause_s: float = 1.0
    """The pause before the first retry; it doubles with each further retry."""


class _TryAgain(Exception):
    """A temporary fault."""


def fetch_from_hub(
    source: HubSource,
    part: Path,
    size_bytes: int,
    report: ReportBytes,
    stop: threading.Event,
    patience: RetryLimits | None = None,
) -> None:
    """Write the file to `part`; if it fails, what has arrived stays there."""
    patience = patience or RetryLimits()
    failures = 0
    with _client(patience) as client:
        while True:
            before = _there(part)
            try:
                _attempt(client, source, part, size_bytes, report, stop)
                return
            except _TryAgain as fault:
                failures = 0 if _there(part) > before else failures + 1
                if failures > patience.retries:
                    raise ModelDownloadError(
                        f"The download from {source} failed: {fault}. {_there(part):,} of {size_bytes:,} bytes are kept; ask "
                        "again to resume."
                    ) from fault
                _pause(stop, patience.pause_s * 2 ** max(0, failures - 1))


@contextmanager
def _client(patience: RetryLimits) -> Iterator[httpx.Client]:
    with needs_extra("Downloading a model from a hub", "local"):
        import httpx
    timeout = httpx.Timeout(patience.silence_s, connect=patience.connect_s)
    with httpx.Client(timeout=timeout, headers={"User-Agent": "stepwell", "Accept-Encoding": "identity"}) as client:
        yield client


def _attempt(
    client: httpx.Client, source: HubSource, part: Path, size_bytes: int, report: ReportBytes, stop: threading.Event
) -> None:
    """One connection: from the end of the part to the end of the file."""
    import httpx

    start = _there(part)
    if start >= size_bytes:
        if start == size_bytes:
            return
        part.unlink()  # longer than the file should be: it cannot be resumed
        start = 0
    try:
        with _answer(client, source.url, start) as answer:
            start = _check(answer, source, start, size_bytes)
            with part.open("r+b" if start else "wb") as file:
                file.seek(start)
                for block in answer.iter_raw():  # as it arrives: fixed-size blocks would drop the last bytes before a break
                    file.write(block)
                    report(file.tell(), size_bytes)
                    if stop.is_set():
                        raise ModelDownloadError("The download was stopped. What has arrived is kept; ask again to resume.")
    except httpx.HTTPError as error:
        raise _TryAgain(_words(error)) from error
    if _there(part) != size_bytes:
        raise _TryAgain("the answer ended early")


@contextmanager
def _answer(client: httpx.Client, url: str, start: int) -> Iterator[httpx.Response]:
    """The response after redirects, each of which is checked before it is followed."""
    import httpx

    headers = {"Range": f"bytes={start}-"} if start else {}
    address = httpx.URL(url)
    for _ in range(_REDIRECTS + 1):
        if address.scheme != "https" and address.host not in ("127.0.0.1", "localhost", "::1"):
            raise ModelDownloadError("The model hub redirects to an address without encryption, which is refused.")
        with client.stream("GET", address, headers=headers) as answer:
            if not answer.is_redirect:
                yield answer
                return
            address = address.join(answer.headers["location"])
    raise ModelDownloadError(f"The model hub redirects more than {_REDIRECTS} times. Try again later.")


def _check(answer: httpx.Response, source: HubSource, start: int, size_bytes: int) -> int:
    """Where in the file the response's bytes belong; raises an error if the response cannot be the file."""
    status = answer.status_code
    if status == 429 or status >= 500:
        raise _TryAgain(f"it answered {status}")
    if status == 416:
        raise ModelDownloadError(f"{source} has a shorter file than it should have. Remove the model and ask again.")
    if status not in (200, 206):
        hint = "it no longer exists" if status in (404, 410) else "it refused"
        raise ModelDownloadError(
            f"The download from {source} failed: {hint} (HTTP {status}). Choose another model of the catalogue, or download a "
            "GGUF file yourself and give its path in STEPWELL_LOCAL_MODEL."
        )
    if status == 200:
        start = 0  # the range was ignored: start from the beginning
    total = _announced_size(answer, start)
    if total not in (None, size_bytes):
        raise ModelDownloadError(
            f"{source} offers a file of {total:,} bytes instead of {size_bytes:,}. That is another file (a sign-in page of the "
            "network, perhaps); none of it was kept."
        )
    return start


def _announced_size(answer: httpx.Response, start: int) -> int | None:
    """The size of the whole file according to the response."""
    if answer.status_code == 206:
        span, _, total = answer.headers.get("content-range", "").removeprefix("bytes ").partition("/")
        if not span.startswith(f"{start}-"):
            raise ModelDownloadError("The model hub sent another part of the file than the one asked for. Try again.")
        return int(total) if total.isdigit() else None
    length = answer.headers.get("content-length", "")
    return int(length) if length.isdigit() else None


def _there(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _pause(stop: threading.Event, seconds: float) -> None:
    if stop.wait(min(seconds, 30.0)):
        raise ModelDownloadError("The download was stopped. What has arrived is kept; ask again to resume.")


def _words(error: Exception) -> str:
    """What happened, without the address."""
    import httpx

    if isinstance(error, httpx.ConnectError):
        return "no connection (is this machine online?)"
    if isinstance(error, httpx.TimeoutException):
        return "it did not answer in time"
    return "the connection broke"
