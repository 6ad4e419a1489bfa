"""Turns errors into responses: RFC 9457 `application/problem+json`. The only module that knows the HTTP status codes of errors.

```
StepwellError      -> the nearest class in KINDS, its own sentence as `detail`
body, query, path  -> 422 with the field named; a body that is not JSON 400
unknown path       -> 404, wrong method 405, not JSON 415
anything else      -> 500 with a reference to the log; no internal details
```
`detail` is where LangGraph's SDKs look for a sentence. We never repeat what the caller sent: it may contain a secret.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from langgraph.store.base import InvalidNamespaceError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell import errors
from stepwell.server.addresses import path_of
from stepwell.validation import name_place, reason_of

MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger("stepwell.server")


@dataclass(frozen=True)
class ProblemKind:
    """A kind of problem: its status code, and the last part of its type."""

    status: int
    name: str
    title: str


KINDS: Mapping[type[BaseException], ProblemKind] = {
    errors.AnswerShapeError: ProblemKind(422, "answer-shape", "The answer does not fit the interrupt"),
    errors.RequestKeyError: ProblemKind(422, "idempotency-key", "The Idempotency-Key was already used with another request"),
    errors.InvalidRequestError: ProblemKind(422, "invalid-request", "The request is invalid"),
    errors.NotFoundError: ProblemKind(404, "not-found", "Not found"),
    errors.AlreadyExistsError: ProblemKind(409, "already-exists", "The id already exists"),
    errors.ThreadBusyError: ProblemKind(409, "thread-busy", "Another run is active on the thread"),
    errors.RewindError: ProblemKind(409, "rewind", "The turn cannot be taken back"),
    errors.SteerQueueFullError: ProblemKind(429, "steer-queue-full", "Too many messages wait for the run"),
    errors.SideQuestionPausedError: ProblemKind(409, "side-question", "The side question was not answered"),
    errors.SteeringError: ProblemKind(409, "steering", "The message cannot enter the run"),
    errors.InterruptAnsweredError: ProblemKind(409, "interrupt-answered", "The interrupt is already answered"),
    errors.InterruptGoneError: ProblemKind(410, "interrupt-gone", "The interrupt is no longer open"),
    errors.InterruptClaimedError: ProblemKind(409, "interrupt-claimed", "Another device has claimed the interrupt"),
    errors.ResumeError: ProblemKind(409, "resume", "The resume does not fit an open interrupt"),
    errors.LimitReachedError: ProblemKind(429, "limit-reached", "Limit reached"),
    errors.LeaseLostError: ProblemKind(503, "thread-taken-over", "Another worker took over the thread"),
    # Not 5xx: clients retry those automatically (LangGraph's JavaScript SDK retries all of them), and the data could be stored twice.
    errors.OutcomeUnknownError: ProblemKind(409, "outcome-unknown", "It may have been stored"),
    errors.StorageUnavailableError: ProblemKind(503, "storage-unavailable", "The database is unavailable"),
    errors.NotReadyError: ProblemKind(503, "not-ready", "The server cannot execute runs now"),
    errors.VersionConflictError: ProblemKind(412, "version-conflict", "The file has another version"),
    errors.SigningKeyError: ProblemKind(503, "signing-key", "The server cannot sign a bundle now"),
    errors.BackendError: ProblemKind(503, "files-unavailable", "The files are unavailable"),
    errors.RunError: ProblemKind(422, "run", "The run cannot be started, resumed or found"),
    errors.TokenInvalidError: ProblemKind(400, "token-invalid", "The token is not accepted here"),
    errors.TokenSpentError: ProblemKind(400, "token-spent", "The token is already spent"),
    errors.TokenInUseError: ProblemKind(409, "token-in-use", "The token was already submitted"),
    errors.MintUnavailableError: ProblemKind(503, "mint-unavailable", "The mint is unavailable"),
    errors.MintRejectedError: ProblemKind(400, "mint-rejected", "The mint rejected the request"),
    errors.SessionClosedError: ProblemKind(409, "session-closed", "The payment session has ended"),
    errors.RefundUnavailableError: ProblemKind(409, "refund-unavailable", "There is nothing to refund now"),
    errors.PaymentError: ProblemKind(402, "payment", "Payment is missing or not accepted"),
    errors.NotSignedInError: ProblemKind(401, "not-signed-in", "Not signed in"),
    errors.SignInUnavailableError: ProblemKind(503, "sign-in-unavailable", "The identity provider is not responding"),
    errors.HandlerRefusalError: ProblemKind(403, "refused-by-project", "The project refuses this"),
    errors.HandlerResultError: ProblemKind(500, "project-auth", "The project's auth failed"),
    errors.AccessError: ProblemKind(403, "access", "Not allowed"),
    errors.FetchRefusedError: ProblemKind(422, "page-refused", "The page may not be fetched"),
    errors.FetchFailedError: ProblemKind(422, "page-unavailable", "The page could not be fetched"),
    errors.GraphBuildError: ProblemKind(503, "graph-unavailable", "The graph cannot be built"),
    errors.MissingExtraError: ProblemKind(503, "not-installed", "A required package is not installed"),
    errors.ModelCallError: ProblemKind(503, "model-call", "A model call failed"),
    errors.ModelUnavailableError: ProblemKind(503, "model-unavailable", "No usable model"),
}
"""The nearest class in an error's ancestry applies. Errors that are not listed are unexpected."""

_UNEXPECTED = ProblemKind(500, "unexpected", "Internal server error")


def problem(
    status: int, name: str, title: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
) -> Response:
    """A problem response. `members` are added to the standard ones."""
    body = {"type": f"urn:stepwell:problem:{name}", "title": title, "status": status, "detail": detail, **members}
    return Response(orjson.dumps(body), status, dict(headers or {}), MEDIA_TYPE)


def problem_of(error: errors.StepwellError) -> Response | None:
    """The response to an error that the caller can act on; `None` for an unexpected one."""
    kind = next((KINDS[ancestor] for ancestor in type(error).__mro__ if ancestor in KINDS), None)
    if kind is None:
        return None
    headers: dict[str, str] = {}
    members: dict[str, Any] = {}
    if isinstance(error, errors.HandlerRefusalError):
        status = error.status if 400 <= error.status < 600 else 403
        return problem(status, kind.name, kind.title, str(error), headers=error.headers)
    if kind.status in (429, 503):
        headers["Retry-After"] = str(getattr(error, "retry_after_s", 1))
    if isinstance(error, errors.NotSignedInError):
        headers["WWW-Authenticate"] = error.challenge
    if isinstance(error, errors.PaymentError | errors.SteeringError):
        members["code"] = error.code
    if isinstance(error, errors.PaymentRequiredError):
        members |= {"needed_sats": error.needed_sats, "balance_sats": error.balance_sats}
        headers |= {"X-Cashu": error.request} if error.request else {}
    if interrupt_ids := getattr(error, "interrupt_ids", ()):
        members["interrupt_ids"] = list(interrupt_ids)
    if isinstance(error, errors.InterruptClaimedError) and error.device_id is not None:
        members["claim"] = {"device_id": error.device_id, "expires_at": error.expires_at}
    return problem(kind.status, kind.name, kind.title, str(error), headers=headers, **members)


def _for_stepwell(request: Request, error: Exception) -> Response:
    response = problem_of(cast("errors.StepwellError", error))
    if response is None:
        raise error
    return response


def _for_http(request: Request, error: Exception) -> Response:
    """Starlette's own errors: unknown path, wrong method."""
    error = cast("HTTPException", error)
    status = HTTPStatus(error.status_code)
    details = {
        404: f"Nothing is served at '{request.url.path}'{_switched_off(request)}.{_where_routes_are(request)}",
        405: f"'{request.url.path}' does not accept {request.method}.",
    }
    plain = error.detail == status.phrase
    detail = details.get(error.status_code, error.detail) if plain else error.detail
    headers = {**(error.headers or {})}
    if status == HTTPStatus.METHOD_NOT_ALLOWED:  # Starlette names the methods of one route; a path may have several routes
        headers["Allow"] = ", ".join(methods_at(request.app, path_of(request.scope)))
    name = status.phrase.lower().replace(" ", "-")
    return problem(error.status_code, name, status.phrase, detail, headers=headers)


def _switched_off(request: Request) -> str:
    switch_of = getattr(request.app.state, "switch_of", None)
    part = switch_of(path_of(request.scope)) if switch_of else None
    return f": the project's langgraph.json has 'http.disable_{part}'" if part else ""


def _where_routes_are(request: Request) -> str:
    listed: str | None = request.app.openapi_url  # None if the project disables it
    return f" {request.scope.get('root_path') or ''}{listed} lists all routes." if listed else ""


def methods_at(app: FastAPI, path: str) -> list[str]:
    """The methods that the routes of a path accept."""
    found = (route for route in iter_route_contexts(app.routes) if compile_path(route.path or "")[0].match(path))
    return sorted({method for route in found for method in route.methods or ()})


def _for_validation(request: Request, error: Exception) -> Response:
    faults = cast("RequestValidationError", error).errors()
    if faults and faults[0]["type"] == "json_invalid":
        at = faults[0]["loc"][-1]
        return problem(400, "not-json", "The body is not JSON", f"The body is not valid JSON: the error is at character {at}.")
    fields = [{"field": name_place(fault["loc"], "body"), "message": reason_of(fault)} for fault in faults[:20]]
    first = fields[0] if fields else {"field": "request", "message": "invalid"}
    return problem(422, "invalid-field", "Invalid field", f"{first['field']}: {first['message']}.", errors=fields)


def _for_namespace(request: Request, error: Exception) -> Response:
    """The response if a namespace of the store breaks LangGraph's own rules."""
    kind = KINDS[errors.InvalidRequestError]
    return problem(kind.status, kind.name, kind.title, str(error))


def install_problems(app: FastAPI) -> None:
    """Turn every error of the routes into a problem."""
    app.add_exception_handler(errors.StepwellError, _for_stepwell)
    app.add_exception_handler(HTTPException, _for_http)
    app.add_exception_handler(RequestValidationError, _for_validation)
    app.add_exception_handler(InvalidNamespaceError, _for_namespace)


class UnexpectedErrors:
    """Outermost ASGI layer: logs unexpected errors under a reference, and sends the caller only that reference."""

    def __init__(self, app: ASGIApp, new_id: Callable[[], str]) -> None:
        self._app = app
        self._new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        def send_watched(message: Message) -> Awaitable[None]:
            nonlocal begun
            begun = True
            return send(message)

        try:
            await self._app(scope, receive, send_watched)
        except Exception:
            reference = self._new_id()
            _log.exception("unexpected error, reference %s: %s %s", reference, scope["method"], scope["path"])
            if begun:  # the response has started; a broken connection tells the client to retry
                raise
            detail = f"The server failed to answer. The operator can find the cause in the log under '{reference}'."
            response = problem(_UNEXPECTED.status, _UNEXPECTED.name, _UNEXPECTED.title, detail, reference=reference)
            await response(scope, receive, send)
