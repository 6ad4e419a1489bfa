"""The exceptions that Stepwell raises. The class of an exception says who can act on it.

```
StepwellError
├── ConfigurationError          the programmer, while building
│   ├── ToolNameConflictError   two tools of one name
│   ├── SubAgentSpecError       a subagent that cannot be built
│   ├── MissingExtraError       an optional dependency is not installed
│   ├── GraphBuildError         a graph that is served cannot be imported or built
│   └── ModelUnavailableError   no usable model, or an unknown provider
│       ├── ModelDownloadError      a model's file could not be downloaded; a retry restarts or resumes the download
│       │   ├── ModelChecksumError  the downloaded file is not the requested one
│       │   └── ModelDiskFullError  no room for the file
│       └── ModelLoadError          the file is missing, not a model, or too big for this machine's memory
├── ModelAnswerError            the caller of a model: the answer does not have the requested form
│   └── AnswerCutError          the answer was cut at the token limit
├── MiddlewareError             the programmer, while running: a mistake in middleware; never a tool's result
├── ToolUseError                the model: becomes a ToolMessage(status="error")
├── BackendError                storage; `retryable` says whether a retry can help
│   └── VersionConflictError    the file was changed in between
├── ModelCallError              the caller of a run: the model gave no answer; `retryable` says whether a later retry can help
│   ├── ModelAccessError        the provider refuses: key, model name, credit
│   ├── ModelCannotSeeError     the message has images, and the model reads only text
│   ├── ModelBusyError          rate limited or overloaded
│   ├── ModelUnreachableError   no connection
│   ├── ModelDeadlineError      too slow; `deadline` says which time was up
│   └── ModelStreamCutError     an answer that broke off
├── RunError                    the caller of a run
│   ├── InvalidRequestError         the request contradicts itself or names something the graph does not have
│   │   ├── AnswerShapeError            an answer that does not fit its interrupt, which stays open
│   │   └── RequestKeyError             an idempotency key was already used with another request
│   ├── NotFoundError               no such assistant, thread, run, checkpoint or item, or not the caller's
│   ├── AlreadyExistsError          the id is taken
│   ├── ThreadBusyError             another run is active on the thread
│   ├── RewindError                 a turn cannot be taken back; nothing is lost
│   │   └── RewindConflictError         another user or program has changed a file since; nothing was rewound
│   ├── SteeringError               a message cannot enter the run; `code` says why
│   │   ├── NoActiveRunError            the run has ended
│   │   ├── RunPausedError              the run waits for an answer
│   │   ├── SteerQueueFullError         too many messages wait for the run
│   │   ├── SideQuestionPausedError     a side question needs something from the user first, such as money
│   │   └── MessageTakenError           the message cannot be withdrawn: the agent has it already
│   ├── InterruptAnsweredError      the interrupt already has another answer, or is no longer open
│   │   └── InterruptGoneError          a device wants to carry out an interrupt that is no longer open
│   ├── InterruptClaimedError       another device is about to carry out the interrupt
│   ├── ResumeError                 a resume that does not match exactly one open interrupt
│   ├── LimitReachedError           the caller has as many runs or streams as allowed
│   ├── InfrastructureError         nobody in the graph can act: the run lost its database or lease, and is executed again
│   │   ├── LeaseLostError              this worker no longer owns the thread and must write nothing more
│   │   └── StorageUnavailableError     the database is full, locked or gone; nothing was acknowledged
│   │       └── OutcomeUnknownError         the write may have been stored, or may be stored later
│   └── NotReadyError               the server answers, but something it needs to execute runs is failing
├── WebError                    the caller that requested a page; `reason` is one word for records
│   ├── FetchRefusedError           we do not request or read the page, because of its address, robots.txt or its type
│   └── FetchFailedError            we requested the page and got nothing usable
├── EvidenceError               the code that stores or reads evidence: the evidence cannot be stored, or is not as it should be
│   ├── EvidenceMissingError        nothing is stored under this hash
│   ├── EvidenceDamagedError        the stored data has changed
│   ├── EntryConflictError          the trail has another entry under this key
│   ├── BundleError                 not a bundle, or one that must not be opened
│   ├── SigningKeyError             the key that signs bundles cannot be created or read
│   ├── NotRecordedError            a replay needs an answer that its bundle does not contain
│   └── RequestCeilingError         the maximum number of requests is reached
├── PaymentError                the payer; `code` is one word for programs, `retryable` says whether a retry can help
│   ├── TokenInvalidError           not a token, or not acceptable: its form, mint, unit or value
│   ├── TokenSpentError             the mint says that the token was spent before
│   ├── TokenInUseError             the token was already submitted, by another user or for another purpose
│   ├── MintUnavailableError        the mint gives no usable answer; the outcome is open, nothing is lost
│   │   └── MintAnswerError             its answer is malformed or inconsistent
│   ├── MintRejectedError           the mint rejects a request; `mint_code` is its reason as a number
│   ├── PaymentRequiredError        the balance is smaller than the price
│   ├── SessionClosedError          the payment session is closed
│   └── RefundUnavailableError      there is no refund now, or it has been fetched already
└── AccessError                 the visitor
    ├── NotSignedInError            the visitor has to sign in
    ├── HandlerRefusalError         the project's own auth refuses; `status` is the one that it chose
    ├── HandlerResultError          the project's own auth failed, or returned something that cannot be applied
    └── SignInUnavailableError      the identity provider cannot be reached now
```

A few errors are not here but beside the only code that raises them, such as `SpendLimitError` in `connections.spend`.

A message says what is concerned, what happened and what to do, and never contains a secret. Only messages for the operator's own terminal
name a path of the host. Pausing is not an error, so LangGraph's bubble-up exceptions are never caught. Code that turns an exception into
a result first calls `control_flow.let_pass`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime


class StepwellError(Exception):
    """The root of the tree above."""


class ConfigurationError(StepwellError):
    """The configuration is invalid; the message says what to change."""


class ToolNameConflictError(ConfigurationError):
    """Two tools have the same name, and one would silently hide the other."""

    def __init__(self, name: str, first_owner: str, second_owner: str, way_out: str = "") -> None:
        self.name = name
        self.owners = (first_owner, second_owner)
        super().__init__(
            f"Two tools are named '{name}': one from {first_owner}, one from {second_owner}. "
            + (way_out or "Rename one of them, or replace the middleware that brings the other.")
        )


class SubAgentSpecError(ConfigurationError):
    """A subagent's description is incomplete or contradicts itself."""


class MissingExtraError(ConfigurationError):
    """An optional feature is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.what = what
        self.extra = extra
        super().__init__(f"{what} needs an extra that is not installed. Install it with: pip install 'stepwell[{extra}]'")


EXTRA_MODULES: Mapping[str, tuple[str, ...]] = {
    "server": (
        "fastapi",
        "starlette",
        "uvicorn",
        "httptools",
        "prometheus_client",
        "jsonschema",
        "jwt",
        "cryptography",
        "httpx",
        "cronsim",
        "websockets",
    ),
    "acp": ("acp",),
    "research": (
        "httpx",
        "httpcore",
        "trafilatura",
        "lxml",
        "lxml_html_clean",
        "pypdfium2",
        "reportlab",
        "pymupdf_fonts",
        "docx",
        "cryptography",
    ),
    "payments": ("coincurve", "cbor2", "httpx"),
    "local": ("xllamacpp", "httpx", "jsonschema", "onnxruntime", "tokenizers"),
    "objects": ("obstore",),
    "postgres": ("psycopg",),
    "redis": ("redis",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "mcp": ("langchain_mcp_adapters",),
}
"""Extra -> the modules of its packages that our own code cannot do without."""


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Wraps the imports of an extra's packages; raises `MissingExtraError` if one of them is missing.

    If a package is installed but fails to load, installing the extra again would not help, so the error names the real cause.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # `error.name` may be the parent of a module that is listed.
        if any(f"{module}.".startswith(f"{error.name}.") for module in EXTRA_MODULES[extra]):
            raise MissingExtraError(what, extra) from error
        raise _broken(what, extra, error) from error
    except ImportError as error:
        raise _broken(what, extra, error) from error


def _broken(what: str, extra: str, error: ImportError) -> ConfigurationError:
    return ConfigurationError(
        f"{what} does not work: the packages of 'stepwell[{extra}]' are installed, but one of them cannot be loaded: {error.msg} "
        "Repair or reinstall that package."
    )


class GraphBuildError(ConfigurationError):
    """A served graph cannot be imported or built. Each request tries again, so the graph works once the cause is fixed."""


class ModelUnavailableError(ConfigurationError):
    """No usable model: none is configured, or the provider is unknown."""


class ModelDownloadError(ModelUnavailableError):
    """A model's file could not be downloaded. A partial download is kept if the source can resume it."""


class ModelChecksumError(ModelDownloadError):
    """The downloaded bytes are not the requested file; they have been deleted."""


class ModelDiskFullError(ModelDownloadError):
    """There is no room for a model's file."""


class ModelLoadError(ModelUnavailableError):
    """A model's file is missing, or cannot be run."""


class ModelAnswerError(StepwellError):
    """A model answered, but not in the requested form, even after a retry."""


class AnswerCutError(ModelAnswerError):
    """The answer was cut at the token limit, so it is unusable; `partial` holds what arrived."""

    def __init__(self, message: str, partial: str = "") -> None:
        self.partial = partial
        super().__init__(message)


class MiddlewareError(StepwellError):
    """Middleware has a bug, or lacks the sync or async half that this run needs. The run fails, because no model could fix this."""


class ToolUseError(StepwellError):
    """A tool was used in a way that cannot work; the message is written for the model."""


class BackendError(StepwellError):
    """Storage failed."""

    retryable = False


class VersionConflictError(BackendError):
    """The file has changed since it was read."""

    retryable = True


class ModelCallError(StepwellError):
    """A model call gave no usable answer. `__cause__` is the SDK's exception."""

    retryable = False


class ModelAccessError(ModelCallError):
    """The provider rejects the call; only another key, model or account helps."""


class ModelCannotSeeError(ModelCallError):
    """The user sent images to a model that reads only text."""

    def __init__(self, model: str | None) -> None:
        super().__init__(
            f"{model or 'This model'} cannot see images. Choose a model that can, or send the message without them."
        )


class ModelBusyError(ModelCallError):
    """The provider is overloaded, or limits our rate."""

    retryable = True


class ModelUnreachableError(ModelCallError):
    """There was no connection, or it broke before an answer began."""

    retryable = True


class ModelDeadlineError(ModelCallError):
    """The model was too slow."""

    retryable = True

    def __init__(self, message: str, deadline: str = "total") -> None:
        self.deadline = deadline
        """`connect`, `first token`, `idle` or `total`."""
        super().__init__(message)


class ModelStreamCutError(ModelCallError):
    """An answer broke off. The part that arrived is discarded."""

    retryable = True


class RunError(StepwellError):
    """A run cannot be started, resumed or found."""


class InvalidRequestError(RunError, ValueError):
    """The request is invalid; the message says what to change."""


class AnswerShapeError(InvalidRequestError):
    """An answer that does not fit its interrupt, which is still open. `interrupt_ids` identifies the interrupt."""

    def __init__(self, message: str, interrupt_ids: tuple[str, ...] = ()) -> None:
        self.interrupt_ids = interrupt_ids
        super().__init__(message)


class RequestKeyError(InvalidRequestError):
    """The caller has already used this idempotency key with another request."""


class NotFoundError(RunError):
    """The thing does not exist, or belongs to another user; both cases look the same on purpose."""

    def __init__(self, kind: str, name: str, way_out: str = "") -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"No {kind} '{name}'.{' ' + way_out if way_out else ''}")


class AlreadyExistsError(RunError):
    """The id already exists."""


class ThreadBusyError(RunError):
    """A run is active on the thread, and the caller asked not to wait for it."""


class RewindError(RunError):
    """A turn cannot be taken back; the message says why, and what to do."""


class RewindConflictError(RewindError):
    """Another user or program has changed a file since the turn. Nothing was rewound."""


class SteeringError(RunError):
    """A message cannot enter the run; `code` says why, for programs."""

    code = "NO_ACTIVE_RUN"


class NoActiveRunError(SteeringError):
    """The run has ended."""


class RunPausedError(SteeringError):
    """The run waits for an answer to a question."""

    code = "RUN_PAUSED"


class SteerQueueFullError(SteeringError):
    """The maximum number of messages is already waiting for the run."""

    code = "STEER_QUEUE_FULL"


class SideQuestionPausedError(SteeringError):
    """A side question needs something from the user before it can be answered, such as money. It has no thread
    of its own, so it cannot pause until the user answers."""

    code = "SIDE_QUESTION_PAUSED"


class MessageTakenError(SteeringError):
    """The message cannot be withdrawn, because the agent has it already."""

    code = "MESSAGE_TAKEN"


class InterruptAnsweredError(RunError):
    """The interrupt already has another answer, or is no longer open. `interrupt_ids` are the interrupts concerned."""

    def __init__(self, message: str, interrupt_ids: tuple[str, ...] = ()) -> None:
        self.interrupt_ids = interrupt_ids
        super().__init__(message)


class InterruptGoneError(InterruptAnsweredError):
    """A device wants to carry out an interrupt that is already answered or no longer open. The device must not carry it out."""


class InterruptClaimedError(RunError):
    """Only the device `device_id` may answer the interrupt until `expires_at`. Both are `None` if the claim
    that expired was that of the device which sent the answer."""

    def __init__(
        self,
        message: str,
        interrupt_ids: tuple[str, ...] = (),
        *,
        device_id: str | None = None,
        expires_at: datetime | None = None,
    ) -> None:
        self.interrupt_ids = interrupt_ids
        self.device_id = device_id
        self.expires_at = expires_at
        super().__init__(message)


class ResumeError(RunError):
    """A resume that cannot be matched with one open interrupt. `interrupt_ids` are those that are open."""

    def __init__(self, message: str, interrupt_ids: tuple[str, ...] = ()) -> None:
        self.interrupt_ids = interrupt_ids
        super().__init__(message)


class LimitReachedError(RunError):
    """The caller has reached a limit; `retry_after_s` says when a retry may help."""

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class InfrastructureError(RunError):
    """The run cannot continue here, but its graph is not to blame; the run is executed again. This error never becomes the result of a
    tool, subagent or node."""


class LeaseLostError(InfrastructureError):
    """Another worker has taken over the thread. The worker that gets this error must stop and write nothing more."""


class StorageUnavailableError(InfrastructureError):
    """The database cannot be used now. Nothing of the request was stored; a later retry may help.

    If `away` is true, the database cannot be reached at all; if not, it may only lack room for this particular request."""

    def __init__(self, message: str, retry_after_s: int = 5, *, away: bool = False) -> None:
        self.retry_after_s = retry_after_s
        self.away = away
        super().__init__(message)


class OutcomeUnknownError(StorageUnavailableError):
    """The database did not confirm this write: it may have been stored, or may be stored later. A retry might store it twice."""


def errors_within(error: BaseException) -> Iterator[BaseException]:
    """The error, the errors it groups and its causes, even those hidden by `from None`. Nearest first, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        grouped = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting += [*grouped, *(each for each in (one.__cause__, one.__context__) if each is not None)]


def find_infrastructure(error: BaseException) -> InfrastructureError | None:
    """The `InfrastructureError` behind an error, however it was wrapped."""
    return next((one for one in errors_within(error) if isinstance(one, InfrastructureError)), None)


class NotReadyError(RunError):
    """The server is up but cannot execute runs now. It keeps trying; a later retry may help."""

    def __init__(self, message: str, retry_after_s: int = 5) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class WebError(StepwellError):
    """A page or response from the web is unavailable. `reason` is one word, such as `robots`, `address` or `time`."""

    def __init__(self, message: str, reason: str) -> None:
        self.reason = reason
        super().__init__(message)


class FetchRefusedError(WebError):
    """One of our rules forbids fetching or reading the page. A retry does not help."""


class FetchFailedError(WebError):
    """The other side sent nothing usable; `status` is its HTTP status, if it responded."""

    def __init__(self, message: str, reason: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(message, reason)


class EvidenceError(StepwellError):
    """Evidence cannot be stored or used; the message says why."""


class EvidenceMissingError(EvidenceError):
    """No bytes are stored under this hash."""


class EvidenceDamagedError(EvidenceError):
    """The trail or a page has changed since it was stored. We never repair it silently."""


class EntryConflictError(EvidenceError):
    """The trail already has a different entry under `key`. Nothing was written."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"The trail has an entry '{key}' already, with other data. What is written is never changed: use another key."
        )


class BundleError(EvidenceError):
    """The file is not one of our bundles, or is malicious."""


class SigningKeyError(EvidenceError):
    """The key that signs bundles cannot be created or read, so no bundle was written."""


class NotRecordedError(EvidenceError):
    """A replay has no answer for this request, and never asks the network for one."""


class RequestCeilingError(EvidenceError):
    """The maximum number of requests (`ceiling`) is reached. This request was not sent."""

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        super().__init__(
            f"The ceiling of {ceiling} requests is reached; this one was not sent. Raise the ceiling in the policy."
        )


class PaymentError(StepwellError):
    """Money is missing or not acceptable. No message ever contains a token or a part of one."""

    code = "payment"
    """One word for programs. Each class has its own; an instance may have a more specific one."""
    retryable = False

    def __init__(self, message: str, code: str | None = None) -> None:
        if code is not None:
            self.code = code
        super().__init__(message)


class TokenInvalidError(PaymentError):
    """The token is not acceptable here. No money was taken."""

    code = "token_invalid"


class TokenSpentError(PaymentError):
    """The mint reports the token, or a part of it, as spent. No money was taken."""

    code = "token_spent"


class TokenInUseError(PaymentError):
    """The token, or a part of it, was already submitted. It counts only for that submission."""

    code = "token_in_use"


class MintUnavailableError(PaymentError):
    """The mint could not be reached. Unfinished operations are recorded and continue later."""

    code = "mint_unavailable"
    retryable = True

    def __init__(self, message: str, code: str | None = None, retry_after_s: int = 5) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message, code)


class MintAnswerError(MintUnavailableError):
    """The mint's answer is malformed, or contradicts an earlier one. We ignore it."""

    code = "mint_answer"


class MintRejectedError(PaymentError):
    """The mint rejects a request. `mint_code` is its reason as a number, 0 if it gives none."""

    code = "mint_rejected"

    def __init__(self, message: str, mint_code: int = 0, code: str | None = None) -> None:
        self.mint_code = mint_code
        super().__init__(message, code)


class PaymentRequiredError(PaymentError):
    """The balance is too low for the next call. `needed_sats` is its price, `balance_sats` the available balance, `spent_sats` what was
    spent so far, if known, `request` the payment request for a wallet (NUT-18)."""

    code = "payment_required"

    def __init__(
        self,
        message: str,
        *,
        needed_sats: int = 0,
        balance_sats: int = 0,
        code: str | None = None,
        request: str | None = None,
        spent_sats: int | None = None,
    ) -> None:
        self.request = request
        self.spent_sats = spent_sats
        self.needed_sats = needed_sats
        self.balance_sats = balance_sats
        super().__init__(message, code)


class SessionClosedError(PaymentError):
    """The payment session is being settled, or has been; the payer must fund another one."""

    code = "session_closed"


class RefundUnavailableError(PaymentError):
    """No refund is possible: there is nothing to refund, it is worth less than the mint's fee, it was already fetched, or calls are in
    progress."""

    code = "refund_unavailable"


class AccessError(StepwellError):
    """The visitor is not allowed to do this, or to learn whether the thing exists."""


class NotSignedInError(AccessError):
    """The request has no valid credentials. `challenge` is the value of `WWW-Authenticate`."""

    def __init__(self, message: str, challenge: str = 'Bearer realm="stepwell"') -> None:
        self.challenge = challenge
        super().__init__(message)


class HandlerRefusalError(AccessError):
    """The project's own auth refuses the request, with a status and headers of its choice."""

    def __init__(self, message: str, status: int, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.headers = dict(headers or {})
        super().__init__(message)


class HandlerResultError(AccessError):
    """The project's own auth failed, or returned something that cannot be applied. The request is not carried out."""


class SignInUnavailableError(AccessError):
    """The identity provider does not answer; `retry_after_s` says when a retry may help."""

    def __init__(self, message: str, retry_after_s: int = 5) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)
