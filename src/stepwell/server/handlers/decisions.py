"""What a caller may do, according to the project's `@auth.on` handlers. Asked by the policy of every route (`server/policy.py`).

The most specific handler decides: `on.threads.create`, `on.threads`, `on(actions="create")`, `on`. It returns

```
None, True     accepted; the route sees everything that the resource has, whoever created it
False          403
a filter       accepted for what fulfils it: the filter becomes part of every query (`database/callers.py`)
```
and may change `metadata` (what is created or changed gets it, and a search is narrowed by it) and the `namespace` of the store. It is
given `value` before the request is checked, so a request with an invalid body may be refused for either reason.

Rules to keep:
- Without a handler for an action, users see what they created themselves.
- What a filter requires to be equal is also stored with what a request creates or changes. Otherwise a user could create things that they
  cannot see, or put things among another user's.
- Every action that users may perform is in `RESOURCES`, or about something personal.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection, Request

from stepwell.database.callers import Caller, Either, Equals, Every, Filter, read_filter
from stepwell.errors import HandlerRefusalError, HandlerResultError, InvalidRequestError
from stepwell.in_thread import in_thread
from stepwell.runs.assistants import default_assistant_id
from stepwell.server.handlers.users import refusal_of
from stepwell.server.login.principal import Principal

if TYPE_CHECKING:
    from langgraph_sdk import Auth

Noun = Literal["threads", "assistants", "crons", "store"]

PERSONAL = frozenset({"model", "documents", "pages", "wallet", "workspace", "connections", "usage"})
"""What actions are about that no handler decides about: it is each user's own."""
RESOURCES: Mapping[str, tuple[Noun, str]] = {
    "threads:create": ("threads", "create"),
    "threads:read": ("threads", "read"),
    "threads:search": ("threads", "search"),
    "threads:update": ("threads", "update"),
    "threads:delete": ("threads", "delete"),
    "threads:write": ("threads", "update"),
    "threads:export": ("threads", "read"),
    "runs:create": ("threads", "create_run"),
    "runs:read": ("threads", "read"),
    "runs:cancel": ("threads", "update"),
    "runs:delete": ("threads", "delete"),
    "runs:search": ("threads", "search"),
    "runs:update": ("threads", "update"),
    "runs:write": ("threads", "update"),
    "effects:read": ("threads", "search"),
    "effects:settle": ("threads", "update"),
    **{f"assistants:{verb}": ("assistants", verb) for verb in ("create", "read", "search", "update", "delete")},
    "assistants:write": ("assistants", "update"),
    **{f"crons:{verb}": ("crons", verb) for verb in ("create", "read", "search", "update", "delete")},
    "store:read": ("store", "get"),
    **{f"store:{verb}": ("store", "put") for verb in ("write", "create", "update")},
    "store:delete": ("store", "delete"),
    "store:search": ("store", "search"),
}
_ALONE: Mapping[tuple[str, str], tuple[Noun, str]] = {
    ("GET", "/threads/{thread_id}/runs"): ("threads", "search"),
    ("POST", "/threads/{thread_id}/copy"): ("threads", "read"),
    ("POST", "/store/namespaces"): ("store", "list_namespaces"),
}
"""Routes whose handler is another than their action says."""
_PERSONAL = frozenset({"/api/export"})
"""Routes about everything that a user has created, which no filter changes."""
_CHANGES = frozenset({"create", "update", "create_run"})
_STORED = ("metadata",)
_OF_RUNS = ("multitask_strategy", "if_not_exists", "after_seconds", "webhook")


@dataclass(frozen=True)
class Decisions:
    """Stored at `app.state.decisions` if the project has `auth`."""

    auth: Auth

    async def decide(self, principal: Principal, action: str, request: HTTPConnection) -> Principal:
        """The principal with what handlers decided about this request. Raises `HandlerRefusalError` if they refuse it."""
        path = str(getattr(request.scope.get("route"), "path", None) or request.scope["path"])
        asked = _ALONE.get((str(request.scope.get("method", "GET")), path)) or RESOURCES.get(action)
        if asked is None or principal.via != "handler" or path in _PERSONAL:
            return principal
        bodies = await _bodies(request)
        decided = [await self._ask(principal, *asked, _value(asked, request, body)) for body in bodies]
        found = _Decision(asked[0], asked[1], [each for each in decided if each is not None])
        caller = found.caller(principal.owner)
        if asked == ("threads", "create_run"):
            caller = await self._with_assistants(principal, caller, bodies)
        if path.endswith("/copy"):
            caller = await self._as_copy(principal, caller)
        return replace(principal, owner=caller)

    async def _with_assistants(self, principal: Principal, caller: str, bodies: Sequence[Mapping[str, Any]]) -> str:
        """Which assistants may be run: those that the caller may read. A handler that refuses leaves the server's and the caller's own."""
        if self._handler("assistants", "read") is None:
            return caller
        try:
            value = {"assistant_id": _assistant_id(bodies[0].get("assistant_id")), "metadata": {}}
            decided = await self._ask(principal, "assistants", "read", value)
        except HandlerRefusalError:
            return caller
        return _Decision("assistants", "read", [decided] if decided else []).caller(caller)

    async def _as_copy(self, principal: Principal, caller: str) -> str:
        """A copy is created too: its handler may refuse it, and says what its metadata gets."""
        decided = await self._ask(principal, "threads", "create", {"metadata": {}})
        if decided is None or not isinstance(caller, Caller):
            return caller
        return caller.but(metadata=_Decision("threads", "create", [decided]).metadata)

    async def _ask(self, principal: Principal, resource: Noun, action: str, value: dict[str, Any]) -> _Answer | None:
        """None if the project has no handler for this."""
        handler = self._handler(resource, action)
        if handler is None:
            return None
        from langgraph_sdk.auth.types import AuthContext

        user = principal.handler_user
        permissions = list(getattr(user, "permissions", ()) or ())
        context = AuthContext(permissions=permissions, user=user, resource=resource, action=action)  # type: ignore[arg-type]
        before = orjson.dumps(value.get("metadata") or {}, default=str)
        try:
            if inspect.iscoroutinefunction(handler):
                result = await handler(ctx=context, value=value)
            else:
                result = await in_thread(handler, ctx=context, value=value)
                result = await result if inspect.isawaitable(result) else result
        except Exception as error:
            raise refusal_of(error) from error
        return _Answer(_filter_in(result), value, orjson.loads(before))

    def _handler(self, resource: str, action: str) -> Any:
        handlers: Mapping[tuple[str, str], Sequence[Any]] = self.auth._handlers
        for key in ((resource, action), (resource, "*"), ("*", action), ("*", "*")):
            if found := handlers.get(key):
                return found[-1]
        everything: Sequence[Any] = self.auth._global_handlers
        return everything[-1] if everything else None


@dataclass(frozen=True)
class _Answer:
    found: Filter
    value: Mapping[str, Any]
    metadata_before: Mapping[str, Any]

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the handler added to the metadata, or changed there."""
        after = self.value.get("metadata") or {}
        if not isinstance(after, Mapping):
            raise HandlerResultError("The project's auth handler must leave 'metadata' an object.")
        try:
            plain = orjson.loads(orjson.dumps(after, default=str))
        except TypeError as error:
            raise HandlerResultError("The project's auth handler put something into 'metadata' that is not JSON.") from error
        return {key: value for key, value in plain.items() if self.metadata_before.get(key, _MISSING) != value}


_MISSING = object()


@dataclass(frozen=True)
class _Decision:
    """The answers of one handler about one request; a batch of runs has several."""

    resource: Noun
    action: str
    answers: Sequence[_Answer]

    @property
    def metadata(self) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for answer in self.answers:
            merged |= {**answer.metadata, **_required(answer.found)}
        return merged

    def caller(self, owner: str) -> str:
        if not self.answers or not isinstance(owner, Caller):
            return owner
        if self.resource == "store":
            return owner.but(namespace=_namespace_in(self.answers[0].value))
        found: Filter = Every(tuple(answer.found for answer in self.answers))
        if self.action == "search":
            narrowed = tuple(Equals(key, value) for answer in self.answers for key, value in answer.metadata.items())
            found = Every((found, *narrowed))
        changes: dict[str, Any] = {self.resource: found}
        if self.action in _CHANGES:
            changes["metadata"] = {**owner.metadata, **self.metadata}
        return owner.but(**changes)


def _required(found: Filter) -> dict[str, Any]:
    """What fulfils those conditions of a filter that leave no choice."""
    match found:
        case Equals(key, value):
            return {key: value}
        case Every(parts):
            return {key: value for part in parts for key, value in _required(part).items()}
        case Either((alone,)):
            return _required(alone)
        case _:
            return {}


def _filter_in(result: object) -> Filter:
    if result is None or result is True:
        return Every(())
    if result is False:
        raise HandlerRefusalError("The project's auth handler refuses this.", 403)
    if not isinstance(result, Mapping):
        raise HandlerResultError(
            f"The project's auth handler returned a {type(result).__name__}. It may return None, True, False or a filter."
        )
    try:
        return read_filter(orjson.loads(orjson.dumps(result, default=str)))
    except (InvalidRequestError, TypeError) as error:
        raise HandlerResultError(f"The filter of the project's auth handler cannot be applied. {error}") from error


def _namespace_in(value: Mapping[str, Any]) -> tuple[str, ...] | None:
    namespace = value.get("namespace")
    if namespace is None:
        return None
    if not isinstance(namespace, list | tuple) or not all(isinstance(label, str) for label in namespace):
        raise HandlerResultError("The project's auth handler must leave 'namespace' a list of texts.")
    return tuple(namespace)


async def _bodies(request: HTTPConnection) -> list[Mapping[str, Any]]:
    """The JSON objects in the body: one, or those of a batch."""
    content: Any = {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if isinstance(request, Request) and (kind == "application/json" or kind.endswith("+json")):
        try:
            content = await request.json()
        except ValueError:
            content = {}
    if isinstance(content, list) and content:
        return [each if isinstance(each, Mapping) else {} for each in content]
    return [content if isinstance(content, Mapping) else {}]


def _value(asked: tuple[Noun, str], request: HTTPConnection, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a handler is given, with the names that the SDK documents."""
    resource, action = asked
    path, query = request.scope.get("path_params") or {}, request.query_params
    if resource == "store":
        return _store_value(action, body, query)
    metadata = body.get("metadata")
    value: dict[str, Any] = {"metadata": dict(metadata) if isinstance(metadata, Mapping) else {}}
    named = {**{_NAMES.get(name, name): each for name, each in body.items() if name not in _STORED}, **query, **path}
    named = {_NAMES.get(name, name): each for name, each in named.items()}
    for name in ("thread_id", "run_id", "cron_id"):
        if name in named:
            value[name] = _as_uuid(named[name])
    if "assistant_id" in named:
        value["assistant_id"] = _assistant_id(named["assistant_id"])
    if action == "create_run":
        known = {name: named[name] for name in _OF_RUNS if name in named}
        kwargs = {name: each for name, each in body.items() if name not in (*_OF_RUNS, "metadata", "assistant_id")}
        return {"thread_id": None, "run_id": None, "status": "pending", **known, "kwargs": kwargs, **value}
    return {**{name: each for name, each in named.items() if name not in value}, **value}


_NAMES = {"threadId": "thread_id", "checkpointId": "checkpoint_id"}


def _store_value(action: str, body: Mapping[str, Any], query: QueryParams) -> dict[str, Any]:
    given: Any = body.get("namespace", body.get("namespace_prefix", body.get("prefix")))
    if given is None and "namespace" in query:
        given = [label for part in query.getlist("namespace") for label in part.split(".") if label]
    if not isinstance(given, list | tuple):
        given = None if action == "list_namespaces" else []
    rest = {name: value for name, value in {**query, **body}.items() if name not in ("namespace", "namespace_prefix", "prefix")}
    return {**rest, "namespace": given if given is None else tuple(str(label) for label in given)}


def _as_uuid(text: object) -> object:
    try:
        return UUID(str(text))
    except ValueError:
        return text


def _assistant_id(text: object) -> object:
    """The id, also if a graph's name was given."""
    if not isinstance(text, str) or not text:
        return None
    found = _as_uuid(text)
    return found if isinstance(found, UUID) else UUID(default_assistant_id(text))
