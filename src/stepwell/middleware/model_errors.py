"""What went wrong with a model call, told from the exception alone.

SDKs have each their own classes for the same few faults. They are told apart here by what they carry (a status, an error code, the
names of their base classes), so that no SDK is imported and a new one mostly needs nothing. `fault_of` is the only judge: whatever it
does not know is nobody's fault but the program's and passes through untouched.

| fault | retried | what it becomes |
|---|---|---|
| 429 | yes, after what Retry-After asks | ModelBusyError |
| 408, 5xx, 529, a provider's "overloaded" inside a stream | yes | ModelBusyError |
| no connection | yes | ModelUnreachableError |
| an answer that broke off | yes; the client is told to drop what it saw | ModelStreamCutError |
| connect, first token, idle | yes | ModelDeadlineError |
| total | no: its whole time is spent | ModelDeadlineError |
| 401, 403, 404, 402, no credit | no | ModelAccessError |
| 400 and everything else, a context that is too long above all | no | itself |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langgraph.errors import GraphBubbleUp

FaultKind = Literal["rate limited", "overloaded", "unreachable", "cut", "timeout", "key refused", "model unknown", "no credit"]

RETRYABLE: frozenset[FaultKind] = frozenset({"rate limited", "overloaded", "unreachable", "cut", "timeout"})

_KIND_OF_CLASS: tuple[tuple[type[Exception], FaultKind], ...] = (
    (ModelRateLimitError, "rate limited"),
    (ModelAPIError, "overloaded"),
    (ModelTimeoutError, "timeout"),  # before connection: SDKs derive it from that
    (ModelConnectionError, "unreachable"),
    (ModelAuthenticationError, "key refused"),
    (ModelPermissionDeniedError, "key refused"),
    (ModelNotFoundError, "model unknown"),
)
_KIND_OF_STATUS: Mapping[int, FaultKind] = {
    401: "key refused",
    402: "no credit",
    403: "key refused",
    404: "model unknown",
    408: "overloaded",
    429: "rate limited",
}
# What providers write into an error that comes inside a stream, whose status was 200 long ago.
_KIND_OF_CODE: Mapping[str, FaultKind] = {
    "insufficient_quota": "no credit",
    "billing_error": "no credit",
    "rate_limit_error": "rate limited",
    "rate_limit_exceeded": "rate limited",
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "server_error": "overloaded",
    "internal_server_error": "overloaded",
    "authentication_error": "key refused",
    "permission_error": "key refused",
    "not_found_error": "model unknown",
    "timeout_error": "timeout",
}
# Names of base classes: httpx and its forks, aiohttp, and the SDKs made by one well-known generator.
_TIMEOUTS = frozenset({"TimeoutException", "APITimeoutError", "ServerTimeoutError"})
_CUTS = frozenset({"RemoteProtocolError", "ReadError", "IncompleteRead", "ClientPayloadError", "ChunkedEncodingError"})
_UNREACHABLE = frozenset({"TransportError", "APIConnectionError", "ClientConnectionError", "NetworkError"})


class DeadlinePassedError(TimeoutError):
    """One of our own deadlines. Never leaves the middleware."""

    def __init__(self, deadline: str, seconds: float) -> None:
        self.deadline = deadline
        self.seconds = seconds
        super().__init__(f"{deadline}: {seconds:g} s")


class StreamCutError(Exception):
    """A stream that ended without saying that it is at its end. Never leaves the middleware."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the model, its provider, or the way there."""

    kind: FaultKind
    status: int | None = None
    deadline: str | None = None
    """For a time-out: which."""
    seconds: float | None = None
    """For a time-out of ours: how long it was."""
    retry_after_s: float | None = None
    """How long the provider asks us to wait."""

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.kind in RETRYABLE and self.deadline != "total"


def fault_of(error: BaseException, *, now: datetime | None = None, streamed: bool = False) -> Fault | None:
    """The fault behind an exception; None if it is not the model's. `streamed` says that a part of the answer had come."""
    if not isinstance(error, Exception) or isinstance(
        error, (GraphBubbleUp, ContextOverflowError, ModelInvalidRequestError, AssertionError)
    ):
        return None
    if isinstance(error, DeadlinePassedError):
        return Fault("timeout", deadline=error.deadline, seconds=error.seconds)
    if isinstance(error, StreamCutError):
        return Fault("cut")
    status = _status(error)
    kind = _kind(error, status)
    if kind is None:
        return None
    if kind == "timeout":
        return Fault(kind, status, deadline=_deadline(error, streamed))
    if kind == "unreachable" and streamed:
        return Fault("cut", status)
    return Fault(kind, status, retry_after_s=_retry_after(error, now))


def _kind(error: Exception, status: int | None) -> FaultKind | None:
    for code in _codes(error):
        # A rate limit that is really an empty account looks like any other 429 but for its code.
        if code in _KIND_OF_CODE and (status is None or status < 400 or _KIND_OF_CODE[code] == "no credit"):
            return _KIND_OF_CODE[code]
    for kind_class, kind in _KIND_OF_CLASS:
        if isinstance(error, kind_class):
            return kind
    if status is not None and status >= 400:
        return "overloaded" if status >= 500 else _KIND_OF_STATUS.get(status)
    return _kind_of_connection(error)


def _kind_of_connection(error: Exception) -> FaultKind | None:
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, TimeoutError) or names & _TIMEOUTS:
        return "timeout"
    if names & _CUTS:
        return "cut"
    if isinstance(error, ConnectionError) or names & _UNREACHABLE:
        return "unreachable"
    return None


def _deadline(error: BaseException, streamed: bool) -> str:
    """Which of the SDK's own time-outs it was, as far as can be told."""
    inner: BaseException | None = error
    while inner is not None:
        if "ConnectTimeout" in {kind.__name__ for kind in type(inner).__mro__}:
            return "connect"
        inner = inner.__cause__ or inner.__context__
    return "idle" if streamed else "first token"


def _status(error: Exception) -> int | None:
    response = getattr(error, "response", None)
    for owner in (error, response):
        for attribute in ("status_code", "status", "code"):
            found = getattr(owner, attribute, None)
            if isinstance(found, int) and 100 <= found < 600:
                return found
    return None


def _codes(error: Exception) -> list[str]:
    """The provider's own words for the fault: in attributes, or in the body of its answer."""
    body = getattr(error, "body", None)
    details: Any = body.get("error", body) if isinstance(body, Mapping) else None
    found = [getattr(error, "code", None), getattr(error, "type", None)]
    if isinstance(details, Mapping):
        found += [details.get("code"), details.get("type")]
    return [code for code in found if isinstance(code, str)]


def _retry_after(error: Exception, now: datetime | None) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    if headers is None or not hasattr(headers, "get"):
        return None
    text = str(headers.get("retry-after") or "").strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        asked = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (asked - now).total_seconds()) if now is not None and asked.tzinfo else None
