"""What went wrong with a model call: the fault behind an exception (`fault_of`), and the error that a caller gets for it (`failure`).

Each SDK has its own classes for the same few faults. They are told apart by what they carry (a status, an error code, the names of
their base classes), so no SDK is imported, and a new one mostly needs nothing here. An exception that `fault_of` does not know is taken
for a mistake in the program and passes through untouched.

A caller's error says which model, what happened, and the way out. It does not repeat the provider's own words, since some repeat the
key; those stay in `__cause__`.

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
from langchain_core.language_models import BaseChatModel

from stepwell.control_flow import find_passing
from stepwell.errors import (
    ModelAccessError,
    ModelBusyError,
    ModelCallError,
    ModelDeadlineError,
    ModelStreamCutError,
    ModelUnreachableError,
)
from stepwell.models.facts import describe
from stepwell.settings import PROVIDER_VARIABLES

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
    if not isinstance(error, Exception) or isinstance(error, (ContextOverflowError, ModelInvalidRequestError, AssertionError)):
        return None
    if find_passing(error) is not None:
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


_SLOW = {
    "connect": "The connection was not there",
    "first token": "No answer began",
    "idle": "The answer stopped coming",
    "total": "The answer was not whole",
}


def label_of(model: BaseChatModel) -> str:
    """A model as people write it, `provider:name` where both are known."""
    facts = describe(model)
    parts = [part for part in (facts.provider, facts.name) if part]
    return ":".join(parts) or type(model).__name__


def failure(model: BaseChatModel, fault: Fault, attempts: int) -> ModelCallError:
    """The error for a fault that neither retries nor a fallback could mend."""
    name = label_of(model)
    status = f" ({fault.status})" if fault.status else ""
    asked = f" It was asked {attempts} times." if attempts > 1 else ""
    match fault.kind:
        case "key refused":
            return ModelAccessError(f"The provider of the model '{name}' refused the key{status}. {_key_hint(model)}")
        case "model unknown":
            return ModelAccessError(
                f"The provider does not know the model '{name}'{status}. Check the name, and the address of the server; a local "
                "server must have the model pulled or loaded."
            )
        case "no credit":
            return ModelAccessError(
                f"The account behind the model '{name}' has no credit left{status}. Top it up with the provider, or use another "
                "model."
            )
        case "rate limited":
            return ModelBusyError(
                f"The model '{name}' is rate limited{status}.{asked}{_wait(fault)} Or give it a fallback model."
            )
        case "overloaded":
            return ModelBusyError(
                f"The provider of the model '{name}' has trouble or is overloaded{status}.{asked}{_wait(fault)} Or give it a "
                "fallback model."
            )
        case "unreachable":
            return ModelUnreachableError(
                f"The model '{name}' cannot be reached: no connection.{asked} Is the server running, and is its address right?"
            )
        case "cut":
            return ModelStreamCutError(
                f"The answer of the model '{name}' broke off before its end.{asked} Nothing of it was kept. Ask again."
            )
        case "timeout":
            return ModelDeadlineError(_too_slow(name, fault) + asked, fault.deadline or "total")


def _key_hint(model: BaseChatModel) -> str:
    variables, _ = PROVIDER_VARIABLES.get(describe(model).provider or "", ((), ()))
    where = f"Set {variables[0]} to a valid one" if variables else "Set a valid one"
    return f"{where}, and check that it may use this model."


def _wait(fault: Fault) -> str:
    return f" Try again in {fault.retry_after_s:.0f} s." if fault.retry_after_s else " Try again later."


def _too_slow(name: str, fault: Fault) -> str:
    deadline = fault.deadline or "total"
    within = f" within {fault.seconds:g} s" if fault.seconds else " in time"
    setting = {"first token": "first_token_s", "idle": "idle_s", "connect": "connect_s"}.get(deadline, "total_s")
    return f"{_SLOW[deadline]}{within}: the model '{name}' is too slow ({deadline} time-out). Allow more with {setting}."
