"""Every exception Stepwell raises. Who can act on it decides its class.

```
StepwellError
├── ConfigurationError          the programmer, while building
│   ├── ToolNameConflictError   two tools of one name
│   ├── SubAgentSpecError       a subagent that cannot be built
│   ├── MissingExtraError       an optional dependency is not installed
│   ├── GraphBuildError         a graph that is served cannot be imported or built
│   └── ModelUnavailableError   no usable model, or an unknown provider
│       ├── ModelDownloadError      a model's file could not be fetched; asking again starts or goes on
│       │   ├── ModelChecksumError  what came is not the file that was asked for
│       │   └── ModelDiskFullError  no room for it
│       └── ModelLoadError          the file is missing, no model, or too big for this machine's memory
├── ModelAnswerError            who called a model: the answer does not have the form that was asked for
│   └── AnswerCutError          it was cut at the limit of tokens
├── MiddlewareError             the programmer, while running: a mistake in middleware; never a tool's result
├── ToolUseError                the model: becomes a ToolMessage(status="error")
├── BackendError                storage; `retryable` says whether trying again can help
│   └── VersionConflictError    somebody else changed the file in between
├── ModelCallError              the caller of a run: the model gave no answer; `retryable` says whether asking later can help
│   ├── ModelAccessError        the provider refuses: key, model name, credit
│   ├── ModelBusyError          rate limited or overloaded
│   ├── ModelUnreachableError   no connection
│   ├── ModelDeadlineError      too slow; `deadline` says which time was up
│   └── ModelStreamCutError     an answer that broke off
├── RunError                    the caller of a run
│   ├── InvalidRequestError         the request contradicts itself or names what the graph does not have
│   │   ├── AnswerShapeError            an answer that does not fit its question, which stays open
│   │   └── RequestKeyError             a caller's key for a request that came before, with another request
│   ├── NotFoundError               no such assistant, thread, run, checkpoint or item, or not the caller's
│   ├── AlreadyExistsError          the id is taken
│   ├── ThreadBusyError             another run is at work on the thread
│   ├── InterruptAnsweredError      the question has another answer already, or is no longer asked
│   │   └── InterruptGoneError          a device wants to carry out what waits no longer
│   ├── InterruptClaimedError       another device is about to carry out what is asked
│   ├── ResumeError                 a resume that does not say which question it answers, or answers none
│   ├── LimitReachedError           the caller has as many runs or streams as allowed
│   ├── InfrastructureError         nobody in the graph: what the run stands on is gone, and the run is driven again
│   │   ├── LeaseLostError              this worker no longer drives the thread; nothing of it is written any more
│   │   └── StorageUnavailableError     the database is full, locked or gone; nothing was acknowledged
│   │       └── OutcomeUnknownError         it may have been stored, or may be yet
│   └── NotReadyError               the server answers, but something it needs to drive runs is failing
├── WebError                    whoever asked for a page; `reason` is one word for records
│   ├── FetchRefusedError           we do not ask for it: its address, robots.txt, its type
│   └── FetchFailedError            it was asked for and nothing usable came
├── EvidenceError               who keeps or reads evidence: it cannot be stored, or does not say what it should
│   ├── EvidenceMissingError        nothing is stored under this hash
│   ├── EvidenceDamagedError        what is stored is not what was stored
│   ├── EntryConflictError          the trail has another entry under this key
│   ├── BundleError                 no bundle, or one that must not be opened
│   ├── SigningKeyError             the key that signs bundles cannot be made or read
│   ├── NotRecordedError            a replay was asked for an answer that its bundle does not hold
│   └── RequestCeilingError         as many requests as allowed have been sent
├── PaymentError                the payer; `code` is one word for programs, `retryable` says whether trying again can help
│   ├── TokenInvalidError           no token, or one that is not taken: its form, its mint, its unit, its worth
│   ├── TokenSpentError             the mint says that it was spent before
│   ├── TokenInUseError             it was handed in before, by somebody else or for something else
│   ├── MintUnavailableError        the mint gives no answer that can be used; nothing is decided, nothing is lost
│   │   └── MintAnswerError             it answers, but not with what it should
│   ├── MintRejectedError           the mint has looked at a request and refuses it; `mint_code` is its number for why
│   ├── PaymentRequiredError        the balance is smaller than the price
│   ├── SessionClosedError          the payment session takes and gives nothing more
│   └── RefundUnavailableError      nothing can be paid back now, or it has been fetched already
└── AccessError                 the visitor
    ├── NotSignedInError            nobody knows who asks; signing in helps
    └── SignInUnavailableError      who vouches for the visitor cannot be asked now
```

A message names the thing, the fact and the way out, and never holds a secret or a path of the host. Pausing is not an error:
LangGraph's bubble-up exceptions are never caught. Code that turns an exception into a result first calls `control_flow.let_pass`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime


class StepwellError(Exception):
    """The root of the tree above."""


class ConfigurationError(StepwellError):
    """The agent cannot be built as asked; the message says what to change."""


class ToolNameConflictError(ConfigurationError):
    """Two tools of one name would silently hide one another."""

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
    """Something optional was asked for that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.what = what
        self.extra = extra
        super().__init__(f"{what} needs an extra that is not installed. Install it with: pip install 'stepwell[{extra}]'")


_EXTRA_MODULES = {
    "research": {
        "httpx",
        "httpcore",
        "trafilatura",
        "lxml",
        "lxml_html_clean",
        "pypdf",
        "reportlab",
        "pymupdf_fonts",
        "docx",
        "cryptography",
    },
    "server": {"fastapi", "starlette", "uvicorn", "uvloop", "httptools", "prometheus_client", "jwt", "httpx"},
    "payments": {"coincurve", "cbor2", "httpx"},
    "local": {"xllamacpp", "httpx", "jsonschema", "onnxruntime", "tokenizers"},
    "objects": {"obstore"},
    "postgres": {"psycopg"},
    "otel": {
        "opentelemetry",
        "opentelemetry.sdk",
        "opentelemetry.exporter",
        "opentelemetry.exporter.otlp",
        "opentelemetry.exporter.otlp.proto",
        "opentelemetry.exporter.otlp.proto.http",
    },
}
"""What each extra brings that our own code imports."""


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Around the imports of an extra's packages: `MissingExtraError` if one of them is not there.

    A package that is there and fails when it is loaded is another matter. Installing the extra again would not help, so what
    really failed is said instead.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name in _EXTRA_MODULES[extra]:
            raise MissingExtraError(what, extra) from error
        raise _broken(what, extra, error) from error
    except ImportError as error:
        raise _broken(what, extra, error) from error


def _broken(what: str, extra: str, error: ImportError) -> ConfigurationError:
    return ConfigurationError(
        f"{what} does not work: the packages of 'stepwell[{extra}]' are installed, but one of them cannot be loaded: {error.msg} "
        "Mend or reinstall that package."
    )


class GraphBuildError(ConfigurationError):
    """A graph that is served cannot be imported or built. Once its cause is mended, asking again tries again."""


class ModelUnavailableError(ConfigurationError):
    """No model can be had: none configured, or a provider nobody knows."""


class ModelDownloadError(ModelUnavailableError):
    """A model's file could not be fetched. What was fetched is kept where the source can go on from it."""


class ModelChecksumError(ModelDownloadError):
    """The bytes are not those that were asked for; they have been thrown away."""


class ModelDiskFullError(ModelDownloadError):
    """There is no room for a model's file."""


class ModelLoadError(ModelUnavailableError):
    """A model's file is there but cannot be run, or is not there."""


class ModelAnswerError(StepwellError):
    """A model answered, but not in the form that was asked for, also when asked again."""


class AnswerCutError(ModelAnswerError):
    """An answer that ended at the limit of tokens is not an answer; `partial` holds what there was."""

    def __init__(self, message: str, partial: str = "") -> None:
        self.partial = partial
        super().__init__(message)


class MiddlewareError(StepwellError):
    """Middleware has a mistake, or lacks the half that this run needs. It fails the run: no model could mend it."""


class ToolUseError(StepwellError):
    """A tool was used in a way that cannot work; the text is written for the model."""


class BackendError(StepwellError):
    """Storage failed."""

    retryable = False


class VersionConflictError(BackendError):
    """The file is no longer the one that was read."""

    retryable = True


class ModelCallError(StepwellError):
    """A model was asked and gave no usable answer. `__cause__` holds what its SDK raised."""

    retryable = False


class ModelAccessError(ModelCallError):
    """The provider refuses to answer; only a change of key, model or account helps."""


class ModelBusyError(ModelCallError):
    """The provider has too much to do, or has had enough of us for now."""

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
    """An answer broke off. What had arrived of it is not an answer and is not kept."""

    retryable = True


class RunError(StepwellError):
    """A run cannot be started, resumed or found."""


class InvalidRequestError(RunError, ValueError):
    """The request cannot be carried out as it stands; the message says what to change."""


class AnswerShapeError(InvalidRequestError):
    """An answer that does not fit its interrupt. Nothing was taken: the interrupt is still open. `interrupt_ids` name it."""

    def __init__(self, message: str, interrupt_ids: tuple[str, ...] = ()) -> None:
        self.interrupt_ids = interrupt_ids
        super().__init__(message)


class RequestKeyError(InvalidRequestError):
    """A caller's own key for a request was sent before, with another request."""


class NotFoundError(RunError):
    """There is no such thing, or it belongs to somebody else: the two look the same on purpose."""

    def __init__(self, kind: str, name: str, way_out: str = "") -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"No {kind} '{name}'.{' ' + way_out if way_out else ''}")


class AlreadyExistsError(RunError):
    """A thing with this id is there already."""


class ThreadBusyError(RunError):
    """A run is at work on the thread, and the caller asked not to wait for it."""


class InterruptAnsweredError(RunError):
    """The question was answered otherwise, or is not asked any more. `interrupt_ids` are the ones concerned."""

    def __init__(self, message: str, interrupt_ids: tuple[str, ...] = ()) -> None:
        self.interrupt_ids = interrupt_ids
        super().__init__(message)


class InterruptGoneError(InterruptAnsweredError):
    """A device asks to carry out what was answered already, or is not asked any more. It must not do it."""


class InterruptClaimedError(RunError):
    """A device holds the interrupt; until `expires_at` only it may answer. Both are `None` where the sender's own claim is gone."""

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
    """A resume that cannot be matched with one open question. `interrupt_ids` are those that are open."""

    def __init__(self, message: str, interrupt_ids: tuple[str, ...] = ()) -> None:
        self.interrupt_ids = interrupt_ids
        super().__init__(message)


class LimitReachedError(RunError):
    """The caller has as many as allowed; `retry_after_s` says when asking again may help."""

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class InfrastructureError(RunError):
    """The run cannot go on here, through no fault of its graph. It is driven again; never the result of a tool, a subagent or a node."""


class LeaseLostError(InfrastructureError):
    """Another worker has taken the thread over. Whoever gets this stops, and writes nothing more."""


class StorageUnavailableError(InfrastructureError):
    """The database cannot take or give anything now. Nothing of the request was kept; asking again later may help.

    `away`: it cannot be reached, whatever was asked of it; otherwise it may be what was asked that it has no room for."""

    def __init__(self, message: str, retry_after_s: int = 5, *, away: bool = False) -> None:
        self.retry_after_s = retry_after_s
        self.away = away
        super().__init__(message)


class OutcomeUnknownError(StorageUnavailableError):
    """The database did not say whether it has stored this: it may have been, or may be yet. Asking again might do it twice."""


def errors_within(error: BaseException) -> Iterator[BaseException]:
    """The error, what it groups and what it was raised from, also where the raiser hid that (`from None`). Nearest first, each once."""
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
    """The lost database or lease behind an error, however it was wrapped."""
    return next((one for one in errors_within(error) if isinstance(one, InfrastructureError)), None)


class NotReadyError(RunError):
    """The server is up and cannot drive runs now. It keeps trying; asking again later may help."""

    def __init__(self, message: str, retry_after_s: int = 5) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class WebError(StepwellError):
    """A page or an answer from the web that cannot be had. `reason` is one word, such as `robots`, `address` or `time`."""

    def __init__(self, message: str, reason: str) -> None:
        self.reason = reason
        super().__init__(message)


class FetchRefusedError(WebError):
    """A rule of ours forbids it. Asking again does not help."""


class FetchFailedError(WebError):
    """The other side gave nothing that can be used; `status` is its answer's, where there was one."""

    def __init__(self, message: str, reason: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(message, reason)


class EvidenceError(StepwellError):
    """Evidence cannot be stored or used as asked; the message says why."""


class EvidenceMissingError(EvidenceError):
    """No bytes are stored under this hash."""


class EvidenceDamagedError(EvidenceError):
    """The trail or a stored page is no longer what it was when it was stored. Nothing is mended silently."""


class EntryConflictError(EvidenceError):
    """The trail has an entry under this key, and it says something else. Nothing was written; `key` names it."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"The trail has an entry '{key}' already, with other data. What is written is never changed: use another key."
        )


class BundleError(EvidenceError):
    """The file is no bundle of ours, or is built to do harm."""


class SigningKeyError(EvidenceError):
    """The key that signs bundles cannot be made or read, so none was written."""


class NotRecordedError(EvidenceError):
    """A replay has no answer for this request, and never asks the network for one."""


class RequestCeilingError(EvidenceError):
    """The ceiling of requests is reached; `ceiling` says how many were allowed. Nothing was sent."""

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        super().__init__(
            f"The ceiling of {ceiling} requests is reached; this one was not sent. Raise the ceiling in the policy."
        )


class PaymentError(StepwellError):
    """Money is missing or not acceptable. No message ever holds a token or a part of one."""

    code = "payment"
    """One word for programs. A class has its own; an error may have a more exact one."""
    retryable = False

    def __init__(self, message: str, code: str | None = None) -> None:
        if code is not None:
            self.code = code
        super().__init__(message)


class TokenInvalidError(PaymentError):
    """What was handed in is not money that is taken here. Nothing was taken."""

    code = "token_invalid"


class TokenSpentError(PaymentError):
    """The mint knows the token, or a part of it, as spent. Nothing was taken."""

    code = "token_spent"


class TokenInUseError(PaymentError):
    """The token, or a part of it, was handed in before. It counts there, and only there."""

    code = "token_in_use"


class MintUnavailableError(PaymentError):
    """The mint could not be asked. What was begun is written down and goes on later."""

    code = "mint_unavailable"
    retryable = True

    def __init__(self, message: str, code: str | None = None, retry_after_s: int = 5) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message, code)


class MintAnswerError(MintUnavailableError):
    """The mint's answer is malformed, or contradicts what it said before. Nothing is built on it."""

    code = "mint_answer"


class MintRejectedError(PaymentError):
    """The mint refuses a request. `mint_code` is its reason as a number, 0 where it gives none."""

    code = "mint_rejected"

    def __init__(self, message: str, mint_code: int = 0, code: str | None = None) -> None:
        self.mint_code = mint_code
        super().__init__(message, code)


class PaymentRequiredError(PaymentError):
    """There is not enough money for the next call. `needed_sats` is its price, `balance_sats` what can be spent, `spent_sats`
    what was spent by then where it is known, `request` what a wallet reads to pay (NUT-18)."""

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
    """The payment session is being settled, or has been; another one has to be funded."""

    code = "session_closed"


class RefundUnavailableError(PaymentError):
    """There is nothing to pay back, it is worth less than the mint's fee, calls are under way, or it was fetched before."""

    code = "refund_unavailable"


class AccessError(StepwellError):
    """The visitor may not do this, or may not know whether the thing exists."""


class NotSignedInError(AccessError):
    """The request says nothing, or nothing acceptable, about who sends it. `challenge` is the value of `WWW-Authenticate`."""

    def __init__(self, message: str, challenge: str = 'Bearer realm="stepwell"') -> None:
        self.challenge = challenge
        super().__init__(message)


class SignInUnavailableError(AccessError):
    """The identity provider does not answer; `retry_after_s` says when asking again may help."""

    def __init__(self, message: str, retry_after_s: int = 5) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)
