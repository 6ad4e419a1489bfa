"""What a project's langgraph.json changes about the server: its own auth, routes and rules for HTTP.

`load_project` imports the project's objects, once, before the server is open. `install_auth` puts the project's auth in the place of
ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.auth import ProjectAuth
from stepwell.runs.graphs.project.http import ProjectHttp
from stepwell.runs.graphs.project.objects import load_target

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


def _load_auth(rules: ProjectAuth, folder: Path) -> Auth:
    from langgraph_sdk import Auth

    found = load_target("auth.path", rules.target, folder)
    if not isinstance(found, Auth):
        raise ConfigurationError(
            f"'{rules.target.shown}' in 'auth.path' is a {type(found).__name__}. It has to be an Auth: `auth = langgraph_sdk.Auth()`."
        )
    if found._authenticate_handler is None:
        raise ConfigurationError(
            f"'{rules.target.shown}' in 'auth.path' has no function for `@auth.authenticate`, so nobody could call. Write one."
        )
    return found


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
