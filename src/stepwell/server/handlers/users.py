"""Who calls, according to the project's `authenticate`.

It takes the place of keys, tokens and sessions on every route that needs a caller. Operators still use our own keys: a key made with
`stepwell keys create --operator` is accepted as before, since the project's code knows no operators.

`authenticate` receives the arguments it names, out of: request, scope, path, method, path_params, query_params, headers, authorization,
body. It is called before the body is received, so that nobody fills the memory without credentials, unless it names the body.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request

from stepwell.database.callers import Caller
from stepwell.database.types import SYSTEM
from stepwell.errors import AccessError, ConfigurationError, HandlerRefusalError, HandlerResultError, NotSignedInError
from stepwell.in_thread import in_thread
from stepwell.runs.engine import OPERATOR
from stepwell.runs.graphs.project.auth import AuthCache
from stepwell.runs.run_config import RunUser
from stepwell.server.login.authentication import KNOWN, Authenticator, credential_of
from stepwell.server.login.principal import Principal
from stepwell.server.login.throttle import BadCredentialError

_PARAMETERS = (
    *("request", "scope", "path", "method", "path_params", "query_params", "headers", "authorization", "body"),
    *("user", "scopes"),
)
_NAME, _VALUE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"), re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OURS = frozenset({SYSTEM, OPERATOR})
_log = logging.getLogger("stepwell.server")


class CallingUser(RunUser):
    """What handlers see as `ctx.user`: the plain values, and whatever else the object has that `authenticate` returned."""

    def __init__(self, identity: str, known: Mapping[str, Any], returned: object) -> None:
        super().__init__(identity, known)
        self.__dict__["_returned"] = returned

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        return getattr(self.__dict__["_returned"], name)


class HandlerAuthenticator(Authenticator):
    """Stored at `app.state.authenticator` if the project has `auth`."""

    def __init__(self, ours: Authenticator, authenticate: Callable[..., Any], cache: AuthCache | None = None) -> None:
        self._ours = ours
        self._authenticate = authenticate
        self._wanted = _wanted_by(authenticate)
        self._remembered = _Remembered(cache) if cache else None

    @property
    def needs_body(self) -> bool:
        return "body" in self._wanted

    async def identify(self, request: HTTPConnection) -> Principal:
        known: Principal | None = getattr(request.state, KNOWN, None)
        if known is None:
            known = await self.principal_of(request)
            setattr(request.state, KNOWN, known)
        return known

    async def principal_of(self, request: HTTPConnection) -> Principal:
        if operator := await self._operator(request):
            return operator
        if self._remembered is None:
            return await self._ask(request)
        return self._remembered.find(request) or self._remembered.keep(request, await self._ask(request))

    async def may_still_read(self, request: HTTPConnection) -> bool:
        if self.needs_body:
            return True  # the body has been read and is gone
        try:
            await self.principal_of(request)
        except (NotSignedInError, HandlerRefusalError):
            return False
        except Exception as error:  # the project's code fails: its reader may continue, as when a provider does not answer
            _log.debug("cannot check whether a stream's reader still has access: %s", type(error).__name__)
        return True

    async def check(self, credential: str, address: str) -> Principal:
        return await self._ours.check(credential, address)

    async def _operator(self, request: HTTPConnection) -> Principal | None:
        """The principal of one of our own operator keys."""
        credential = credential_of(request)
        if credential is None or not credential.startswith("sw_"):
            return None
        try:
            found = await self._ours.check_key(credential)
        except BadCredentialError:
            return None
        return found if found.is_operator else None

    async def _ask(self, request: HTTPConnection) -> Principal:
        returned = await call_project(self._authenticate, **await _arguments(request, self._wanted))
        try:
            return principal_from(returned)
        except AccessError:
            raise
        except Exception as error:  # a property of the project's object may raise anything
            raise refusal_of(error) from error


class _Remembered:
    """Results of `authenticate`, by the values of the headers that the project names. Refusals are not kept."""

    def __init__(self, rule: AuthCache) -> None:
        self._rule = rule
        self._kept: dict[tuple[str | None, ...], tuple[float, Principal]] = {}

    def find(self, request: HTTPConnection) -> Principal | None:
        until, principal = self._kept.get(self._key(request), (0.0, None))
        return principal if monotonic() < until else None

    def keep(self, request: HTTPConnection, principal: Principal) -> Principal:
        while len(self._kept) >= self._rule.max_entries:
            del self._kept[next(iter(self._kept))]
        self._kept[self._key(request)] = (monotonic() + self._rule.ttl_s, principal)
        return principal

    def _key(self, request: HTTPConnection) -> tuple[str | None, ...]:
        return tuple(request.headers.get(name) for name in self._rule.headers)


async def call_project(function: Callable[..., Any], **arguments: Any) -> Any:
    """The result of a function of the project's auth. Whatever it raises becomes an error of ours, even what would end a task or the
    program."""
    try:
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        result = await in_thread(function, **arguments)
        return await result if inspect.isawaitable(result) else result
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():  # the request itself has ended
            raise
        raise refusal_of(error) from error
    except (Exception, SystemExit) as error:
        raise refusal_of(error) from error


def _sendable(headers: Mapping[Any, Any]) -> dict[str, str]:
    """Those headers of a refusal that HTTP can carry."""
    found = {str(name): str(value) for name, value in headers.items()}
    sendable = {name: value for name, value in found.items() if _NAME.fullmatch(name) and _VALUE.fullmatch(value)}
    for name in found.keys() - sendable.keys():
        _log.warning("a header of the project's refusal cannot be sent: %r", name[:100])
    return sendable


def refusal_of(error: BaseException) -> Exception:
    """What a project's function raised, as an error of ours. Anything but a refusal becomes a 500, and never lets a request pass."""
    from langgraph_sdk.auth.exceptions import HTTPException as SdkRefusal

    if isinstance(error, SdkRefusal | HTTPException):
        return HandlerRefusalError(str(error.detail), error.status_code, _sendable(dict(error.headers or {})))
    if isinstance(error, AssertionError):
        return HandlerRefusalError(str(error) or "The project's handler refuses this.", 403)
    if isinstance(error, AccessError):
        return error
    _log.error("a function of the project's auth failed", exc_info=error)
    return HandlerResultError(f"The project's auth failed with {type(error).__name__}. The log has the whole error.")


def principal_from(returned: object) -> Principal:
    """The principal that a value returned by `authenticate` describes."""
    permissions: object = None
    if isinstance(returned, tuple) and len(returned) == 2:
        permissions, returned = returned
    known = _known_of(returned)
    identity = known.get("identity")
    if not isinstance(identity, str) or not identity.strip():
        raise HandlerResultError(
            "The project's 'authenticate' must return a user: a name, or an object with an 'identity' that is a text."
        )
    if identity in _OURS or len(identity) > 500 or "\0" in identity:
        raise HandlerRefusalError(f"The user's identity '{identity[:50]}' cannot be used on this server.", 403)
    if permissions is not None:
        known["permissions"] = permissions
    known["permissions"] = [str(each) for each in known.get("permissions") or ()]
    user = CallingUser(identity, known, returned)
    return Principal(identity, Caller(identity, user=_storable(user)), False, "handler", handler_user=user)


def _known_of(returned: object) -> dict[str, Any]:
    if isinstance(returned, str):
        return {"identity": returned}
    if isinstance(returned, Mapping):
        return dict(returned)
    for name in ("model_dump", "dict", "to_dict"):
        if callable(method := getattr(returned, name, None)) and isinstance(found := method(), Mapping):
            return {**_basics(returned), **found}
    return _basics(returned)


def _basics(returned: object) -> dict[str, Any]:
    named = {name: value for name, value in getattr(returned, "__dict__", {}).items() if not name.startswith("_")}
    basics = ("identity", "display_name", "is_authenticated", "permissions")
    return {**named, **{name: getattr(returned, name) for name in basics if hasattr(returned, name)}}


def _storable(user: Mapping[str, Any]) -> dict[str, Any]:
    """Those values of a user that are JSON: a run is stored, and driven by another process perhaps."""
    kept = {}
    for name, value in user.items():
        try:
            kept[str(name)] = orjson.loads(orjson.dumps(value))
        except TypeError:
            continue
    return kept


def _wanted_by(authenticate: Callable[..., Any]) -> frozenset[str]:
    parameters = inspect.signature(authenticate).parameters.values()
    unknown = [
        one.name
        for one in parameters
        if one.name not in _PARAMETERS and one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if unknown:
        raise ConfigurationError(
            f"The 'authenticate' of 'auth.path' asks for '{unknown[0]}', which it cannot get. It may ask for: {', '.join(_PARAMETERS)}."
        )
    return frozenset(one.name for one in parameters if one.name in _PARAMETERS)


async def _arguments(request: HTTPConnection, wanted: frozenset[str]) -> dict[str, Any]:
    scope = request.scope
    given: dict[str, Callable[[], Any]] = {
        "request": lambda: request if isinstance(request, Request) else _as_request(request),
        "scope": lambda: scope,
        "path": lambda: scope["path"],
        "method": lambda: scope.get("method", "GET"),
        "path_params": lambda: scope.get("path_params", {}),
        "query_params": lambda: request.query_params,
        "headers": lambda: dict(scope["headers"]),
        "authorization": lambda: request.headers.get("authorization"),
        "user": lambda: None,
        "scopes": list,
    }
    arguments = {name: value() for name, value in given.items() if name in wanted}
    if "body" in wanted:
        arguments["body"] = await _body_of(request)
    return arguments


def _as_request(connection: HTTPConnection) -> Request:
    if connection.scope["type"] != "http":
        raise HandlerRefusalError(
            "The project's 'authenticate' asks for the request, which a websocket has not. It can ask for 'headers' or 'authorization'.",
            403,
        )
    return Request(connection.scope)


async def _body_of(request: HTTPConnection) -> Any:
    body = await request.body() if isinstance(request, Request) else b""
    try:
        return orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        return {}
