"""What a project's langgraph.json changes about the server: its own auth, routes and rules for HTTP.

`load_project` imports the project's objects, once, before the server is open. `install_auth` puts the project's auth in the place of
ours.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from starlette.routing import compile_path

from stepwell.errors import ConfigurationError, GraphBuildError
from stepwell.runs.graphs.project.auth import ProjectAuth
from stepwell.runs.graphs.project.http import Part, ProjectHttp
from stepwell.runs.graphs.project.objects import load_target
from stepwell.server.policy import actions_of

if TYPE_CHECKING:
    from langgraph_sdk import Auth
    from starlette.applications import Starlette


@dataclass(frozen=True)
class ServedProject:
    """The project's part of a server. The default changes nothing."""

    http: ProjectHttp = field(default_factory=ProjectHttp)
    auth_rules: ProjectAuth | None = None
    auth: Auth | None = None
    app: Starlette | None = None


def load_project(auth: ProjectAuth | None, http: ProjectHttp, folder: Path) -> ServedProject:
    """Import what the project names. May block for seconds; its errors say what is wrong."""
    return ServedProject(
        http,
        auth,
        _load_auth(auth, folder) if auth else None,
        _load_app(http, folder) if http.app else None,
    )


def narrowed(project: ServedProject, *, asks_who: bool) -> ServedProject:
    """The project on a server that asks nobody who they are. There, a page of any origin could use the server in its visitor's place, so
    `*` in `http.cors.allow_origins` and patterns of origins are not honoured: pages of this machine may use it anyway."""
    cors = project.http.cors
    if cors is None or note_on_origins(project.http, asks_who=asks_who) is None:
        return project
    named = replace(
        cors, allow_origin_regex=None, allow_origins=tuple(origin for origin in cors.allow_origins if origin != "*")
    )
    return replace(project, http=replace(project.http, cors=named))


def note_on_origins(http: ProjectHttp, *, asks_who: bool) -> str | None:
    """A sentence for the operator about origins that are not honoured; None if all are."""
    cors = http.cors
    if asks_who or cors is None or not ("*" in cors.allow_origins or cors.allow_origin_regex):
        return None
    asked = "'*' in 'http.cors.allow_origins'" if "*" in cors.allow_origins else "'http.cors.allow_origin_regex'"
    return (
        f"{asked} is not honoured on a server without sign-in: any page could use it in its visitor's place. "
        "Name the origins, or require sign-in with STEPWELL_AUTH=required."
    )


def _load_auth(rules: ProjectAuth, folder: Path) -> Auth:
    from langgraph_sdk import Auth

    try:
        found = load_target("auth.path", rules.target, folder)
    except GraphBuildError as error:
        if (cause := error.__cause__) and _is_of_sdk(cause):  # its own words say what to do, such as to write an async function
            raise ConfigurationError(f"'{rules.target.shown}' in 'auth.path' cannot be loaded. {cause}") from error
        raise
    if not isinstance(found, Auth):
        raise ConfigurationError(
            f"'{rules.target.shown}' in 'auth.path' is a {type(found).__name__}. It has to be an Auth: `auth = langgraph_sdk.Auth()`."
        )
    if found._authenticate_handler is None:
        raise ConfigurationError(
            f"'{rules.target.shown}' in 'auth.path' has no function for `@auth.authenticate`, so nobody could call. Write one."
        )
    return found


def _is_of_sdk(error: BaseException) -> bool:
    """Whether LangGraph's SDK itself raised it."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and str(place.tb_frame.f_globals.get("__name__", "")).startswith("langgraph_sdk.")


def _load_app(http: ProjectHttp, folder: Path) -> Starlette:
    from starlette.applications import Starlette

    assert http.app is not None  # noqa: S101 - the caller has checked it
    found = load_target("http.app", http.app, folder)
    if not isinstance(found, Starlette):
        raise ConfigurationError(
            f"'{http.app.shown}' in 'http.app' is a {type(found).__name__}. It has to be a Starlette or FastAPI application."
        )
    return found


def install_auth(app: FastAPI, project: ServedProject) -> None:
    """Let the project decide who calls and what they may do. `install_sign_in` comes before."""
    if project.auth is None:
        return
    from stepwell.server.handlers.decisions import Decisions
    from stepwell.server.handlers.users import HandlerAuthenticator

    authenticate: Any = project.auth._authenticate_handler
    cache = project.auth_rules.cache if project.auth_rules else None
    app.state.authenticator = HandlerAuthenticator(app.state.authenticator, authenticate, cache)
    app.state.decisions = Decisions(project.auth)
    app.state.sign_in_ways = []


_BELOW: dict[Part, tuple[str, ...]] = {
    "meta": ("/", "/info", "/metrics", "/docs"),
    "mcp": ("/mcp",),
    "a2a": ("/a2a", "/.well-known/agent-card.json"),
    "event_streaming": ("/threads/{thread_id}/stream/events", "/threads/{thread_id}/commands"),
}


def without_disabled(router: APIRouter, disabled: Collection[Part]) -> APIRouter:
    """A router without the routes that a project disables (`http.disable_*`). The action of a route says what it is about, so that a
    product's route that starts a run is off with the others."""
    if not disabled:
        return router
    kept = copy.copy(router)
    kept.routes = [route for route in router.routes if not _why_disabled(route, disabled)]
    return kept


def switch_of(routers: Iterable[APIRouter], disabled: Collection[Part], path: str) -> Part | None:
    """Which part that the project disables has a route for this path; None if there never was one."""
    for route in (route for router in routers for route in router.routes) if disabled else ():
        if (part := _why_disabled(route, disabled)) and compile_path(str(getattr(route, "path", "")))[0].match(path):
            return part
    return None


def _why_disabled(route: Any, disabled: Collection[Part]) -> Part | None:
    """The part that the route belongs to, if it is disabled."""
    nouns = {action.partition(":")[0] for action in actions_of(route)}
    path = str(getattr(route, "path", ""))
    if "runs" in disabled and ("crons" in nouns or _is_below(path, "a2a")):  # an agent's card names an address that starts runs
        return "runs"
    return next((part for part in disabled if (part in nouns if part not in _BELOW else _is_below(path, part))), None)


def _is_below(path: str, part: Part) -> bool:
    return any(path == below or path.startswith(f"{below}/") for below in _BELOW[part])
