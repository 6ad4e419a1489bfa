"""Who may do what: one table and one function.

A route declares its action, and gets the principal:

```python
@router.get("/threads/{thread_id}")
async def get_thread(thread_id: str, principal: Annotated[Principal, Depends(policy("threads:read"))]): ...
```

A route that streams uses `stream_policy` instead. `app.state` holds `authenticator` and `open_streams`, and `decisions` if a project brings
its own auth (`handlers`).

`authorize` decides by the action alone. Which *data* a user may see is decided by database queries with `principal.owner`: what belongs
to another user is not found (404), never forbidden.

Rules to keep: a route has a policy or is in `PUBLIC_PATHS`; `routes_without_policy` finds those that have neither. An
action that is not in the table cannot be declared, so that a misspelt one does not open what was meant for operators.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from starlette.requests import HTTPConnection, Request

from stepwell.database.callers import Caller
from stepwell.errors import AccessError, ConfigurationError
from stepwell.server.addresses import PUBLIC_PATHS
from stepwell.server.login.principal import Principal
from stepwell.server.sse import READER_CHECK

if TYPE_CHECKING:
    from stepwell.runs.graphs.project.http import HeaderChoice
    from stepwell.server.handlers.decisions import Decisions
    from stepwell.server.limits.streams import OpenStreams
    from stepwell.server.login.authentication import Authenticator

OPERATOR_ONLY = frozenset(
    {
        *("metrics:read", "health:read", "usage:all", "effects:all", "wallet:all", "keys:read", "keys:write"),
        *("db:read", "db:write", "users:export", "users:delete", "connections:all"),
    }
)
"""Actions for operators. On a server without sign-in, everybody is an operator."""

_NOUNS = ("assistants", "threads", "runs", "crons", "store", "model")
_VERBS = ("read", "search", "create", "update", "delete", "write")
USER_ACTIONS = frozenset(f"{noun}:{verb}" for noun in _NOUNS for verb in _VERBS) | {
    "threads:export",
    "runs:cancel",
    "usage:read",
    "effects:read",
    "effects:settle",
    "model:load",
    "documents:read",
    "pages:read",
    "wallet:read",
    "wallet:write",
    "workspace:read",
    "workspace:write",
    "connections:read",
    "connections:write",
}
"""Actions for every user, on their own data."""


def authorize(principal: Principal, action: str) -> None:
    """Raise `AccessError` unless this principal may perform this kind of action at all."""
    if action in OPERATOR_ONLY and not principal.is_operator:
        raise AccessError(f"'{action}' is only for operators of this server. Ask one, or use a key created with --operator.")
    if action not in OPERATOR_ONLY and action not in USER_ACTIONS:
        raise AccessError(f"'{action}' is not an action of this server.")


class Ask(Protocol):
    """Asks a project's auth handlers about one action, with the fields that it has in our own API. Returns the principal with what they
    decided; what they decided before about other things stays."""

    async def __call__(self, principal: Principal, action: str, fields: Mapping[str, Any] | None = None, /) -> Principal: ...


Meaning = Callable[[HTTPConnection, Principal, Ask], Awaitable[Principal]]
"""What a request means whose route does not say it: a message of another protocol, or one whose assistant the route chooses. Asks for each
action; whoever starts a run names its assistant."""


@dataclass(frozen=True)
class RoutePolicy:
    """A FastAPI dependency: finds the principal of a request and calls `authorize`."""

    action: str
    meaning: Meaning | None = None

    async def __call__(self, request: HTTPConnection) -> Principal:
        authenticator: Authenticator = request.app.state.authenticator
        principal: Principal = await authenticator.identify(request)
        authorize(principal, self.action)
        principal = await decided(principal, self.action, request, self.meaning)
        request.state.principal = principal
        return principal


async def ask_nothing(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
    """The meaning of a request that touches nothing."""
    return principal


async def sent_object(request: HTTPConnection) -> dict[str, Any]:
    """The JSON object in the body; empty if there is none, which the route says."""
    try:
        content = await request.json() if isinstance(request, Request) else None
    except ValueError:
        content = None
    return content if isinstance(content, dict) else {}


async def decided(principal: Principal, action: str, request: HTTPConnection, meaning: Meaning | None = None) -> Principal:
    """The principal with what a project's auth handlers decide about this request, and with the headers that its runs get. Call it once
    for a request, and once for each message of a websocket."""
    decisions: Decisions | None = getattr(request.app.state, "decisions", None)
    if decisions is not None:

        async def ask(asking: Principal, action: str, fields: Mapping[str, Any] | None = None, /) -> Principal:
            return await decisions.decide(asking, action, request, fields or {})

        if meaning is None:
            principal = await decisions.decide(principal, action, request)
        else:
            principal = await meaning(request, decisions.undecided(principal), ask)
    headers: HeaderChoice | None = getattr(request.app.state, "configurable_headers", None)
    return principal if headers is None else with_headers(principal, request, headers)


def with_headers(principal: Principal, request: HTTPConnection, choice: HeaderChoice) -> Principal:
    """The principal with those headers of the request that its runs get in their configuration."""
    chosen = {name: value for name, value in request.headers.items() if choice.takes(name)}
    caller = principal.owner if isinstance(principal.owner, Caller) else Caller(principal.owner)
    return replace(principal, owner=caller.but(configurable=chosen)) if chosen else principal


def policy(action: str, meaning: Meaning | None = None) -> RoutePolicy:
    """The policy of a route, for `Depends(...)`."""
    if action not in OPERATOR_ONLY and action not in USER_ACTIONS:
        raise ConfigurationError(f"No action '{action}'. Add it to USER_ACTIONS or OPERATOR_ONLY.")
    return RoutePolicy(action, meaning)


@dataclass(frozen=True)
class StreamPolicy:
    """Like `RoutePolicy`, for a route whose response is a stream. It also counts open streams, rejects a stream above the limit
    (`LimitReachedError`) before the route does anything, and lets the stream check whether its reader still has access."""

    action: str
    meaning: Meaning | None = None

    async def __call__(self, request: HTTPConnection) -> AsyncIterator[Principal]:
        principal = await RoutePolicy(self.action, self.meaning)(request)
        open_streams: OpenStreams = request.app.state.open_streams
        give_back = await open_streams.take(principal.owner)
        if principal.may_lapse:
            setattr(request.state, READER_CHECK, partial(request.app.state.authenticator.may_still_read, request))
        try:
            yield principal
        finally:
            give_back()


def stream_policy(action: str, meaning: Meaning | None = None) -> StreamPolicy:
    """The policy of a route that streams, for `Depends(...)`."""
    return StreamPolicy(policy(action).action, meaning)


def actions_of(route: Any) -> set[str]:
    """The actions a route declares, its own and those of the routers that include it. Routes that FastAPI has not analysed yet are
    analysed only if annotations name no action."""
    read_calls = getattr(route, "read_calls", None)
    return _actions_in(read_calls() if read_calls else ()) or _actions_in(_calls(getattr(route, "dependant", None)))


def _actions_in(calls: Iterable[Any]) -> set[str]:
    return {call.action for call in calls if isinstance(call, RoutePolicy | StreamPolicy)}


def routes_without_policy(app: FastAPI) -> list[str]:
    """`METHOD /path` of every route without a policy that is not listed as public."""
    return sorted(
        f"{','.join(sorted(route.methods or {'ANY'}))} {route.path}"
        for route in iter_route_contexts(app.routes)
        if route.path not in PUBLIC_PATHS and not actions_of(route)
    )


def _calls(dependant: Dependant | None) -> Iterator[Any]:
    if dependant is None:
        return
    if dependant.call is not None:
        yield dependant.call
    for inner in dependant.dependencies:
        yield from _calls(inner)
