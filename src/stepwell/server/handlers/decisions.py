"""What a caller may do, according to the project's `@auth.on` handlers. Asked by the policy of every route (`server/policy.py`).

The most specific handler decides: `on.threads.create`, `on.threads`, `on(actions="create")`, `on`. It returns

```
None, True     accepted; the route sees everything that the resource has, whoever created it
False          403
a filter       accepted for what fulfils it: the filter becomes part of every query (`database/callers.py`)
```
and may change `metadata` (what is created or changed gets it, and a search is narrowed by it) and the fields of a request about the store,
where a filter only narrows searches. It is given `value` before the request is checked, so a request with an invalid body may be refused
for either reason.

Rules to keep:
- Without a handler for an action, users see what they created themselves.
- What a filter requires to be equal is also stored with what a request creates or changes. Otherwise a user could create things that they
  cannot see, or put things among another user's.
- Every action that users may perform is in `RESOURCES`, or about something personal.
- Whatever starts a run names its assistant here first: a caller runs the assistants in `may_run` and no others, and the engine checks it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection, Request

from stepwell.database.callers import Caller, Either, Equals, Every, Filter, read_filter
from stepwell.errors import HandlerRefusalError, HandlerResultError, InvalidRequestError, NotFoundError
from stepwell.runs.assistants import default_assistant_id
from stepwell.server.handlers.users import call_project
from stepwell.server.login.principal import Principal

if TYPE_CHECKING:
    from langgraph_sdk import Auth

    from stepwell.server.parts import Services

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
    "crons:write": ("crons", "update"),
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
_LATER_RUNS = frozenset({("crons", "create"), ("crons", "update")})
_OF_CRONS = ("schedule", "timezone", "end_time", "enabled", "on_run_completed", "thread_id")
_OF_STORE: Mapping[str, Mapping[str, Any]] = {
    "put": {"key": None, "value": None, "index": None, "ttl": None},
    "get": {"key": None, "refresh_ttl": None},
    "delete": {"key": None},
    "search": {"filter": None, "limit": 10, "offset": 0, "query": None, "refresh_ttl": None},
    "list_namespaces": {"suffix": None, "max_depth": None, "limit": 100, "offset": 0},
}
"""What handlers of the store may change beside the namespace, with what is there if the request does not say."""
_OF_RUNS = ("multitask_strategy", "if_not_exists", "after_seconds", "webhook")


@dataclass(frozen=True)
class Decisions:
    """Stored at `app.state.decisions` if the project has `auth`."""

    auth: Auth

    async def decide(
        self, principal: Principal, action: str, request: HTTPConnection, fields: Mapping[str, Any] | None = None
    ) -> Principal:
        """The principal with what handlers decided about this request. Raises `HandlerRefusalError` if they refuse it. `fields` are what a
        message of another protocol means in our own API; without them, it is the request itself that is decided about."""
        principal = self.undecided(principal)
        if principal.via != "handler":
            return principal
        path = str(getattr(request.scope.get("route"), "path", None) or request.scope["path"])
        asked = RESOURCES.get(action)
        if fields is None:
            asked = _ALONE.get((str(request.scope.get("method", "GET")), path)) or asked
        if asked is None or path in _PERSONAL:
            return principal
        bodies = await _bodies(request) if fields is None else [fields]
        around = {} if fields is not None else {**request.query_params, **(request.scope.get("path_params") or {})}
        values = [_value(asked, request, body, around) for body in bodies]
        services: Services = request.app.state.services
        caller: str = principal.owner
        if asked == ("threads", "create_run"):
            caller = await self._started(principal, caller, values, services)
        else:
            caller = await self._decided(principal, caller, asked, values)
        if asked in _LATER_RUNS and (run := await _run_of_cron(asked[1], bodies[0], values[0], services)):
            caller = await self._started(principal, caller, [run], services)
        if fields is None and path.endswith("/copy"):
            caller = await self._as_copy(principal, caller)
        return replace(principal, owner=caller)

    def undecided(self, principal: Principal) -> Principal:
        """The principal, who may start no run about which no handler was asked."""
        if principal.via != "handler" or not isinstance(principal.owner, Caller):
            return principal
        return replace(principal, owner=principal.owner.but(may_run=principal.owner.may_run or frozenset()))

    async def _decided(
        self, principal: Principal, caller: str, asked: tuple[Noun, str], values: Sequence[dict[str, Any]]
    ) -> str:
        answers = [await self._ask(principal, *asked, value) for value in values]
        return _Decision(*asked, [each for each in answers if each is not None]).caller(caller)

    async def _started(self, principal: Principal, caller: str, values: Sequence[dict[str, Any]], services: Services) -> str:
        """Runs that a request starts. Their handler is asked about each, with its assistant; the engine starts no others."""
        for value in values:
            if value.get("assistant_id") is None:
                value["assistant_id"] = await _assistant_at_work(services, value)
        assistants = dict.fromkeys(value["assistant_id"] for value in values)
        caller = await self._decided(principal, caller, ("threads", "create_run"), values)
        own = {default_assistant_id(name) for name in services.registry.names}
        caller = await self._with_assistants(principal, caller, [each for each in assistants if str(each) not in own])
        if not isinstance(caller, Caller):
            return caller
        return caller.but(may_run=(caller.may_run or frozenset()) | {str(each) for each in assistants if each})

    async def _with_assistants(self, principal: Principal, caller: str, assistants: Iterable[Any]) -> str:
        """Which assistants may be run: those that the caller may read. Whether the server's own may be, only `create_run` decides."""
        values = [{"assistant_id": each, "metadata": {}} for each in assistants if each is not None]
        if not values or self._handler("assistants", "read") is None or not isinstance(caller, Caller):
            return caller
        return await self._decided(principal, caller, ("assistants", "read"), values)

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
        own = bool(self.auth._handlers.get((resource, action)) or self.auth._handlers.get((resource, "*")))
        from langgraph_sdk.auth.types import AuthContext

        user = principal.handler_user
        permissions = list(getattr(user, "permissions", ()) or ())
        context = AuthContext(permissions=permissions, user=user, resource=resource, action=action)  # type: ignore[arg-type]
        before = copy.deepcopy(value if resource == "store" else {"metadata": value.get("metadata") or {}})
        result = await call_project(handler, ctx=context, value=value)
        return _Answer(_filter_in(result), value, before, own)

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
    before: Mapping[str, Any]
    """The value as the handler got it."""
    own: bool
    """The handler is one for this resource, and not for everything."""

    @property
    def metadata_before(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.before.get("metadata") or {}
        return found

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the handler added to the metadata, or changed there."""
        after = self.value.get("metadata") or {}
        if not isinstance(after, Mapping):
            raise HandlerResultError("The project's auth handler must leave 'metadata' an object.")
        try:
            return _plain({key: each for key, each in after.items() if self.metadata_before.get(key, _MISSING) != each})
        except TypeError as error:
            raise HandlerResultError("The project's auth handler put something into 'metadata' that is not JSON.") from error

    @property
    def removed(self) -> frozenset[str]:
        """What the handler took out of the metadata."""
        after = self.value.get("metadata") or {}
        return frozenset(key for key in self.metadata_before if key not in after)


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
            return self._in_store(owner, self.answers[0])
        found: Filter = Every(tuple(answer.found for answer in self.answers))
        if self.action == "search":
            narrowed = tuple(Equals(key, value) for answer in self.answers for key, value in answer.metadata.items())
            found = Every((found, *narrowed))
        if self.action == "create_run" and owner.may_run:  # one request starts runs of several assistants
            found = Every((found, *([owner.threads] if owner.threads else [])))
        changes: dict[str, Any] = {self.resource: found}
        if self.action in _CHANGES:
            changes["metadata"] = {**owner.metadata, **self.metadata}
            changes["unwanted"] = owner.unwanted.union(*(answer.removed for answer in self.answers))
        return owner.but(**changes)

    def _in_store(self, owner: Caller, answer: _Answer) -> Caller:
        narrows = answer.found != Every(())
        if narrows and answer.own and self.action != "search":
            raise HandlerResultError(
                f"The project's auth handler of store.{self.action} returned a filter, which can only be applied to a search. Let it "
                "change the namespace, or return None or False."
            )
        changed = {
            name: answer.value[name]
            for name in _OF_STORE.get(self.action, ())
            if name in answer.value and answer.value[name] != answer.before.get(name)
        }
        items = answer.found if narrows and self.action == "search" else None
        return owner.but(namespace=_namespace_in(answer.value), item=changed, items=items)


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
        return read_filter(_plain(result))
    except (InvalidRequestError, TypeError) as error:
        raise HandlerResultError(f"The filter of the project's auth handler cannot be applied. {error}") from error


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A project's object as JSON. Raises `TypeError` for what JSON has no form for: as text it would select or store something else."""
    _refuse_odd_numbers(value)
    plain: dict[str, Any] = orjson.loads(orjson.dumps(value))
    return plain


def _refuse_odd_numbers(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError(f"JSON has no number {value}.")
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        _refuse_odd_numbers(part)


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


def _value(
    asked: tuple[Noun, str], request: HTTPConnection, body: Mapping[str, Any], around: Mapping[str, Any]
) -> dict[str, Any]:
    """What a handler is given, with the names that the SDK documents. `around` are the parameters of the path and the query."""
    resource, action = asked
    if resource == "store":
        return _store_value(action, body, request.query_params)
    metadata = body.get("metadata")
    value: dict[str, Any] = {"metadata": dict(metadata) if isinstance(metadata, Mapping) else {}}
    named = {_NAMES.get(name, name): each for name, each in body.items() if name not in _STORED}
    named |= {_NAMES.get(name, name): each for name, each in around.items()}
    for name in ("thread_id", "run_id", "cron_id"):
        if name in named:
            value[name] = _as_uuid(named[name])
    if "assistant_id" in named:
        value["assistant_id"] = _assistant_id(named["assistant_id"])
    if action == "create_run":
        return {**_run_value(body, named), **value}
    return {**{name: each for name, each in named.items() if name not in value}, **value}


def _run_value(body: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: named[name] for name in _OF_RUNS if name in named}
    kwargs = {name: each for name, each in body.items() if name not in (*_OF_RUNS, "metadata", "assistant_id")}
    return {"thread_id": None, "run_id": None, "status": "pending", **known, "kwargs": kwargs}


async def _assistant_at_work(services: Services, value: Mapping[str, Any]) -> UUID | None:
    """The assistant of the run, or of the thread, that a request names. Looked up for handlers alone, whoever owns it."""
    thread_id, run_id = str(value.get("thread_id")), str(value.get("run_id"))
    try:
        if value.get("run_id"):
            return UUID((await services.persistence.records.get_run(None, thread_id, run_id)).request.assistant_id)
        thread = await services.threads.get(None, thread_id, with_values=False)
        return UUID(str(thread.metadata["assistant_id"]))
    except (NotFoundError, KeyError, ValueError):
        return None


async def _run_of_cron(
    action: str, body: Mapping[str, Any], value: Mapping[str, Any], services: Services
) -> dict[str, Any] | None:
    """What a cron will start, as the value of `threads.create_run`. None if a change stops it."""
    assistant_id, thread_id = value.get("assistant_id"), value.get("thread_id")
    if action == "update":
        if body.get("enabled") is False:
            return None
        try:
            cron = await services.crons.get(None, str(value.get("cron_id")))
        except NotFoundError:
            return None
        assistant_id, thread_id = assistant_id or UUID(cron.assistant_id), _as_uuid(cron.thread_id) if cron.thread_id else None
    run = {name: each for name, each in body.items() if name not in _OF_CRONS}
    return {**_run_value(run, run), "metadata": dict(value["metadata"]), "thread_id": thread_id, "assistant_id": assistant_id}


_NAMES = {"threadId": "thread_id", "checkpointId": "checkpoint_id"}


def _store_value(action: str, body: Mapping[str, Any], query: QueryParams) -> dict[str, Any]:
    given: Any = body.get("namespace", body.get("namespace_prefix", body.get("prefix")))
    if given is None and "namespace" in query:
        given = [label for part in query.getlist("namespace") for label in part.split(".") if label]
    if not isinstance(given, list | tuple):
        given = None if action == "list_namespaces" else []
    rest = {name: value for name, value in {**query, **body}.items() if name not in ("namespace", "namespace_prefix", "prefix")}
    if isinstance(rest.get("refresh_ttl"), str):
        rest["refresh_ttl"] = rest["refresh_ttl"].lower() == "true"
    return {**_OF_STORE.get(action, {}), **rest, "namespace": given if given is None else tuple(str(label) for label in given)}


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
