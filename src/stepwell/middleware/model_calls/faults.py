"""What went wrong with a model call: the fault behind an exception (`fault_of`), and the error that a caller gets for it (`failure`).

Each SDK has its own classes for the same few faults. We tell them apart by what they carry: a status and the names of their base classes
(`models.sdk_errors`), an error code, sometimes words. If `fault_of` does not know an exception, we treat it
as a bug in the program and let it through unchanged.

The caller's error names the model, what happened, and what to do. It does not repeat the provider's message, since some messages
contain the key; the message stays in `__cause__`.

| fault | retried | what it becomes |
|---|---|---|
| 429 | yes, after the Retry-After time | ModelBusyError |
| 408, 5xx, 529, a provider's "overloaded" inside a stream | yes | ModelBusyError |
| no connection | yes | ModelUnreachableError |
| an answer that broke off | yes; the client is told to drop the part it showed | ModelStreamCutError |
| the limit for connect, first token or idle passed | yes | ModelDeadlineError |
| the total limit passed | no, because all the time is used up | ModelDeadlineError |
| 401, 403, 404, 402, no credit | no | ModelAccessError |
| a context that is too long | no; middleware that shortens conversations sees it and asks again | ModelContextError |
| 400 and everything else | no | the original error |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from math import ceil
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
from stepwell.models.sdk_errors import TIMEOUTS, UNREACHABLE, class_names, status_of
from stepwell.models.usage import UNNAMED, label_of
from stepwell.settings import PROVIDER_VARIABLES

FaultKind = Literal[
    "rate limited", "overloaded", "unreachable", "cut", "timeout", "key refused", "model unknown", "no credit", "too long"
]

RETRYABLE: frozenset[FaultKind] = frozenset({"rate limited", "overloaded", "unreachable", "cut", "timeout"})

_KIND_OF_CLASS: tuple[tuple[type[Exception], FaultKind], ...] = (
    (ModelRateLimitError, "rate limited"),
    (ModelAPIError, "overloaded"),
    (ModelTimeoutError, "timeout"),  # before the connection error, from which SDKs derive their time-outs
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
# Error codes that providers send inside a stream, after the response already had status 200.
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
_CUTS = frozenset({"RemoteProtocolError", "ReadError", "IncompleteRead", "ClientPayloadError", "ChunkedEncodingError"})
"""Names of base classes, like those in `models.sdk_errors`."""


# Some providers tell these faults from other invalid requests only in words.
_WORDS: tuple[tuple[FaultKind, re.Pattern[str]], ...] = (
    (
        "too long",
        re.compile(
            r"context[_ ](?:length|window|size)|prompt is too long|input token count|too large for model with \d+|maximum context",
            re.I,
        ),
    ),
    (
        "no credit",
        re.compile(r"credit balance is too low|exceeded your current quota|insufficient (?:credit|balance|funds)", re.I),
    ),
    ("key refused", re.compile(r"api[ _-]?key (?:is )?(?:not valid|invalid|expired)|invalid api[ _-]?key", re.I)),
)
_SEARCHED = 2_000
_VARIABLES_OF = {"mistral": "mistralai", "google": "google_genai", "google_vertexai": "google_genai"}
"""What integrations call themselves -> what we call the provider."""


class ModelContextError(ModelCallError, ContextOverflowError):
    """The conversation is longer than the model can read. Middleware that shortens conversations knows it as LangChain's own error."""


class DeadlinePassedError(TimeoutError):
    """One of our own deadlines has passed. Never leaves the middleware."""

    def __init__(self, deadline: str, seconds: float) -> None:
        self.deadline = deadline
        self.seconds = seconds
        super().__init__(f"{deadline}: {seconds:g} s")


class StreamCutError(Exception):
    """A stream ended without an end marker. Never leaves the middleware."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the model, its provider, or the connection."""

    kind: FaultKind
    status: int | None = None
    deadline: str | None = None
    """For a time-out: which limit passed."""
    seconds: float | None = None
    """For one of our own time-outs: the limit in seconds."""
    retry_after_s: float | None = None
    """How long the provider asks us to wait."""

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.kind in RETRYABLE and self.deadline != "total"


def fault_of(error: BaseException, *, now: datetime | None = None, streamed: bool = False) -> Fault | None:
    """The fault behind an exception; None if the model is not to blame. `streamed`: a part of the answer had already arrived."""
    if not isinstance(error, Exception) or isinstance(error, AssertionError):
        return None
    if isinstance(error, ContextOverflowError):
        return Fault("too long", _status(error))
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
        # A provider also returns 429 for an account without credit; only the error code tells that from a real rate limit.
        if code in _KIND_OF_CODE and (status is None or status < 400 or _KIND_OF_CODE[code] == "no credit"):
            return _KIND_OF_CODE[code]
    if kind := _kind_of_words(error, status):
        return kind
    if isinstance(error, ModelInvalidRequestError):
        return None
    for kind_class, kind in _KIND_OF_CLASS:
        if isinstance(error, kind_class):
            return kind
    if status is not None and status >= 400:
        return "overloaded" if status >= 500 else _KIND_OF_STATUS.get(status)
    return _kind_of_connection(error)


def _kind_of_words(error: Exception, status: int | None) -> FaultKind | None:
    if status not in (400, 413, 422, 429) and not isinstance(error, (ModelInvalidRequestError, ModelRateLimitError)):
        return None
    words = str(error)[:_SEARCHED]
    return next((kind for kind, pattern in _WORDS if pattern.search(words)), None)


def _kind_of_connection(error: Exception) -> FaultKind | None:
    names = class_names(error)
    if isinstance(error, TimeoutError) or names & TIMEOUTS:
        return "timeout"
    if names & _CUTS:
        return "cut"
    if isinstance(error, ConnectionError) or names & UNREACHABLE:
        return "unreachable"
    if "ResponseError" in names and error.__class__.__module__.startswith("ollama"):
        return "overloaded"  # without a status: the server reported it in the middle of a stream
    return None


def _deadline(error: BaseException, streamed: bool) -> str:
    """Which of the SDK's own time-outs it was, as far as we can tell."""
    inner: BaseException | None = error
    while inner is not None:
        if "ConnectTimeout" in class_names(inner):
            return "connect"
        inner = inner.__cause__ or inner.__context__
    return "idle" if streamed else "first token"


def _status(error: Exception) -> int | None:
    # LangChain's own classes wrap the SDK's error, and not all of them carry its status.
    return status_of(error) or (status_of(error.__cause__) if error.__cause__ else None)


def _codes(error: Exception) -> list[str]:
    """The provider's own codes for the fault, from the error's attributes or the response body."""
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
    "connect": "No connection was made",
    "first token": "No answer started",
    "idle": "The answer stopped coming",
    "total": "The answer was not complete",
}


def name_of(model: BaseChatModel) -> str:
    """What messages call a model: its label, or its class if it reports neither provider nor name."""
    label = label_of(model)
    return type(model).__name__ if label == UNNAMED else label


def failure(model: BaseChatModel, fault: Fault, attempts: int) -> ModelCallError:
    """The error for a fault that neither retries nor a fallback could fix."""
    name = name_of(model)
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
                f"The provider of the model '{name}' limits how often it may be asked{status}.{asked}{_wait(fault)}"
            )
        case "overloaded":
            return ModelBusyError(
                f"The provider of the model '{name}' is overloaded or has an outage{status}.{asked}{_wait(fault)}"
            )
        case "too long":
            return ModelContextError(
                f"The conversation is too long for the model '{name}'. Start a new one, shorten what you sent, or choose a model with "
                "a larger context."
            )
        case "unreachable":
            return ModelUnreachableError(
                f"The model '{name}' cannot be reached: no connection.{asked} Is the server running, and is its address right?"
            )
        case "cut":
            return ModelStreamCutError(
                f"The answer of the model '{name}' broke off before its end.{asked} None of it was kept. Ask again."
            )
        case "timeout":
            return ModelDeadlineError(_too_slow(name, fault) + asked, fault.deadline or "total")


def _key_hint(model: BaseChatModel) -> str:
    provider = describe(model).provider or ""
    variables, _ = PROVIDER_VARIABLES.get(_VARIABLES_OF.get(provider, provider), ((), ()))
    or_variable = f", or in {variables[0]}" if variables else ""
    return f"Enter a valid one under Settings > Models{or_variable}, and check that it may use this model."


def _wait(fault: Fault) -> str:
    when = f"in {ceil(fault.retry_after_s)} s" if fault.retry_after_s else "in a moment"
    return f" Try again {when}, or choose another model."


def _too_slow(name: str, fault: Fault) -> str:
    deadline = fault.deadline or "total"
    within = f" within {fault.seconds:g} s" if fault.seconds else " in time"
    setting = {"first token": "first_token_s", "idle": "idle_s", "connect": "connect_s"}.get(deadline, "total_s")
    return f"{_SLOW[deadline]}{within}: the model '{name}' is too slow ({deadline} time-out). Allow more with {setting}."
