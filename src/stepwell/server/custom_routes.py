"""A project's own application (`http.app` in langgraph.json) beside our routes.

```
log > hosts > origins > the project's middleware ─┬─> a route of the project
                                                  └─> body limits > page > our routes
```
The project's routes come first, except for `KEPT`. Its middleware sees requests for our routes too, as on LangGraph's server. Limits on
bodies are ours and do not apply to the project's routes, which may take uploads.

`enable_custom_route_auth` asks for a caller on the project's routes as well: `request.user` is the user that `authenticate` returned. With
`middleware_order: auth_first`, callers are identified before the project's middleware runs.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.authentication import AuthCredentials
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.errors import ConfigurationError, StepwellError
from stepwell.runs.graphs.sources import describe_error
from stepwell.runs.run_config import RunUser
from stepwell.server.addresses import PUBLIC_PATHS, path_of
from stepwell.server.page.serving import is_address
from stepwell.server.problems import UnexpectedErrors, problem, problem_of

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from stepwell.server.project import ServedProject

_log = logging.getLogger("stepwell.server")

KEPT = frozenset({"/ok", "/ready", "/metrics", "/docs", "/openapi.json", "/login", "/logout"})
"""Paths that stay ours, whatever the project's application serves."""


class ProjectRoutes:
    """The layer that lets the project's application answer first."""

    def __init__(self, app: ASGIApp, *, project: ServedProject, new_id: Any) -> None:
        self._ours = UnexpectedErrors(app, new_id=new_id)
        self._theirs = self._join(project)
        self._http = project.http

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or path_of(scope) in KEPT:
            await self._ours(scope, receive, send)
            return
        scope["stepwell.app"] = scope["app"]
        if more := getattr(scope["app"].state, "request_state", None):
            scope.setdefault("state", {}).update(more)
        await _answer(self._theirs, scope, receive, send)

    def _join(self, project: ServedProject) -> Starlette:
        """The project's application, with our routes behind its own. The application itself stays as it is."""
        assert project.app is not None  # noqa: S101 - the layer is only used with one
        joined, http, routes = copy.copy(project.app), project.http, project.app.router.routes
        guard = Middleware(AskWho, routes=routes, theirs=http.auth_on_app, ours=http.auth_first)
        before = [guard] if http.auth_first else []
        after = [guard] if http.auth_on_app and not http.auth_first else []
        choice = Middleware(Choice, routes=routes, ours=self._ours)
        joined.user_middleware = [*before, *project.app.user_middleware, *after, choice]
        joined.middleware_stack = None
        return joined


async def _answer(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Starlette raises an error again after it has sent a response about it. The response is complete, so the connection can stay open."""
    complete = False

    async def watch(message: Message) -> None:
        nonlocal complete
        await send(message)
        complete = message["type"] == "http.response.body" and not message.get("more_body", False)

    try:
        await app(scope, receive, watch)
    except Exception:
        if not complete:
            raise
        _log.exception("a route of the project failed")


class Choice:
    """Behind the project's middleware: what none of its routes matches is for ours."""

    def __init__(self, app: ASGIApp, *, routes: list[BaseRoute], ours: ASGIApp) -> None:
        self._app = app
        self._routes = routes
        self._ours = ours

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or _is_theirs(scope, self._routes):
            await self._app(scope, receive, send)
            return
        scope["app"] = scope["stepwell.app"]
        await self._ours(scope, receive, send)


def _is_theirs(scope: Scope, routes: list[BaseRoute]) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in routes)


class AskWho:
    """Identifies the caller of requests for the project's routes, and if `ours` also of others; sets `request.user` and `request.auth`."""

    def __init__(self, app: ASGIApp, *, routes: list[BaseRoute], theirs: bool, ours: bool) -> None:
        self._app = app
        self._routes = routes
        self._theirs = theirs
        self._ours = ours

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and self._asks(scope):
            try:
                await _identify(scope)
            except StepwellError as error:
                response = problem_of(error)
                if response is None:
                    raise
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _asks(self, scope: Scope) -> bool:
        if _is_theirs(scope, self._routes):
            return self._theirs
        path = path_of(scope)
        return self._ours and path not in PUBLIC_PATHS and not is_address(path) and "." not in path


async def _identify(scope: Scope) -> None:
    connection = HTTPConnection(scope)
    principal = await scope["stepwell.app"].state.authenticator.identify(connection)
    user = principal.handler_user or RunUser(principal.user_id)
    scope["user"] = user
    scope["auth"] = AuthCredentials(list(user.permissions))


@asynccontextmanager
async def open_app(app: Starlette | None) -> AsyncIterator[Mapping[str, Any]]:
    """Run the lifespan of the project's application. Yields what it wants in the state of each request."""
    if app is None:
        yield {}
        return
    lifespan, subject = app.router.lifespan_context(app), "The lifespan of the application in 'http.app'"
    try:
        state = await lifespan.__aenter__()
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{subject} failed with {describe_error(error, subject)}") from error
    try:
        yield dict(state or {})
    finally:
        try:
            await lifespan.__aexit__(None, None, None)
        except Exception:  # the server has ended already, and everything of ours is stored
            _log.exception("%s failed at its end", subject)


class MountPrefix:
    """Serves everything below a prefix (`http.mount_prefix`). Probes stay where load balancers expect them."""

    def __init__(self, app: ASGIApp, *, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"] in ("/ok", "/ready", "/metrics"):
            await self._app(scope, receive, send)
            return
        path = str(scope["path"])
        if path != self._prefix and not path.startswith(f"{self._prefix}/"):
            detail = f"Nothing is served at '{path}'. On this server everything is below '{self._prefix}'."
            await problem(404, "not-found", "Not Found", detail)(scope, receive, send)
            return
        scope["root_path"] = self._prefix  # the path keeps the prefix, as ASGI wants it; `path_of` is without
        if path == self._prefix:
            scope["path"] = f"{path}/"
        await self._app(scope, receive, send)
