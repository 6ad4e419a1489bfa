"""The application: routes over services, inside the layers that every request passes.

```
RequestLog > OpenAiErrors > UnexpectedErrors > CountRequests > limit_layers (hosts, origins, bodies) > page
           > routes (policy, parse, one service, answer)
```
`install_sign_in` adds the authenticator that policies use, and the sign-in routes. Creating an application does no work: the caller has
opened the services, and closes them.
"""

from __future__ import annotations

import secrets
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from fastapi.routing import iter_route_contexts
from starlette.middleware import Middleware

from stepwell.clock import Clock
from stepwell.database.keys_and_sessions import AccessRecords
from stepwell.database.shared_counts import ProcessCounts, SharedCounts
from stepwell.errors import ConfigurationError
from stepwell.products import installed_products, load_part
from stepwell.server.bridges.openai.errors import OpenAiErrors
from stepwell.server.custom_routes import MountPrefix, ProjectRoutes
from stepwell.server.limits.layers import limit_layers
from stepwell.server.limits.streams import OpenStreams
from stepwell.server.login.api_keys import KeyVerifier, RandomBytes
from stepwell.server.login.authentication import Authenticator
from stepwell.server.login.sign_in import LoginRoutes, login_router
from stepwell.server.login.throttle import CredentialThrottle
from stepwell.server.monitoring.metrics import CountRequests
from stepwell.server.monitoring.request_log import RequestLog
from stepwell.server.openapi import install_openapi
from stepwell.server.page.serving import PageFiles, ServePage
from stepwell.server.parts import Services
from stepwell.server.policy import routes_without_policy
from stepwell.server.problems import UnexpectedErrors, install_problems
from stepwell.server.project import ServedProject, install_auth, switch_of, without_disabled
from stepwell.server.routes import (
    a2a,
    access,
    account,
    assistants,
    background,
    claims,
    conversation,
    crons,
    effects,
    knowledge,
    mcp,
    model_load,
    openai,
    rewind,
    runs,
    stateless_runs,
    steering,
    store,
    subagents,
    system,
    thread_state,
    thread_streams,
    threads,
)
from stepwell.server.settings import JwtSettings, OidcSettings, ServerSettings

if TYPE_CHECKING:
    from stepwell.server.login.oidc import OidcClient
    from stepwell.server.login.tokens import TokenVerifier


ROUTERS = (
    crons.router,  # first, so that /threads/{id}/runs/crons does not match as a run
    runs.router,  # then the most frequent requests, because routes are tried in this order
    threads.router,
    thread_state.router,
    conversation.router,
    subagents.router,
    claims.router,
    rewind.router,
    steering.router,
    background.router,
    thread_streams.router,
    stateless_runs.router,
    assistants.router,
    store.router,
    model_load.router,
    knowledge.router,
    access.router,
    account.router,
    effects.router,
    a2a.router,
    mcp.router,
    openai.router,
    system.router,
)


def product_routers() -> list[APIRouter]:
    """The routes of all installed products. A route whose product has nothing to serve answers 404."""
    return [router for product in installed_products() for router in load_part(product, "routes") or ()]


def create_app(
    services: Services,
    settings: ServerSettings,
    page: PageFiles | None = None,
    project: ServedProject | None = None,
) -> FastAPI:
    """The server as an ASGI application, with the routes of all installed products. `page` replaces the package's build of the web page;
    `project` is what a langgraph.json changes."""
    project = project or ServedProject()
    http = project.http
    hosts = [host for service in services.products for host in service.page_hosts]
    theirs = [Middleware(ProjectRoutes, project=project, new_id=services.new_id)] if project.app is not None else []
    page_layer = Middleware(ServePage, files=page or PageFiles(), asks_who=settings.asks_who, hosts=hosts)
    layers = [
        Middleware(RequestLog, new_id=services.new_id, headers=http.logging_headers),
        *([Middleware(MountPrefix, prefix=http.mount_prefix)] if http.mount_prefix else []),
        Middleware(OpenAiErrors),
        Middleware(UnexpectedErrors, new_id=services.new_id),
        Middleware(CountRequests, metrics=services.metrics),
        *limit_layers(settings, http.cors, theirs),
        *([page_layer] if http.has_page else []),
    ]
    app = FastAPI(
        title="Stepwell",
        version=version("stepwell"),
        openapi_url=None if "meta" in http.disabled else "/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=layers,
    )
    app.state.services = services
    app.state.asks_who = settings.asks_who
    app.state.configurable_headers = http.configurable_headers
    access, clock, counts = services.persistence.access, services.clock, services.persistence.counts
    install_sign_in(app, settings, access, clock, counts=counts, forms=not http.mount_prefix)
    app.state.disabled = http.disabled
    routers = (*ROUTERS, *product_routers())
    app.state.switch_of = partial(switch_of, routers, http.disabled)
    install_auth(app, project)
    for router in routers:
        # Not `include_router`: it builds each route a second time, and matches each request twice.
        app.router.routes += without_disabled(router, http.disabled).routes
    _check_routes(app)
    install_problems(app)
    install_openapi(app, project.auth_rules.openapi if project.auth_rules else {})
    return app


def _check_routes(app: FastAPI) -> None:
    """Refuse a product's mistakes: a route that is open to everybody, or one that another route hides."""
    if unguarded := routes_without_policy(app):
        raise ConfigurationError(
            f"The route '{unguarded[0]}' has no policy, so anybody could use it, signed in or not. The author of the product must give it "
            "one (stepwell.server.policy). Until then, uninstall its package."
        )
    known: set[str] = set()
    for route in iter_route_contexts(app.routes):
        for method in route.methods or ():
            if (name := f"{method} {route.path}") in known:
                raise ConfigurationError(
                    f"The route '{name}' exists twice: a product brings a route that Stepwell or another product has too. Uninstall the "
                    "product. Its author should keep routes below /api/NAME."
                )
            known.add(name)


def install_sign_in(
    app: FastAPI,
    settings: ServerSettings,
    records: AccessRecords,
    clock: Clock,
    *,
    counts: SharedCounts | None = None,
    random_bytes: RandomBytes = secrets.token_bytes,
    forms: bool = True,
) -> None:
    """Sets `app.state.authenticator` and `open_streams`, which policies use, and `sign_in_ways`; adds the sign-in routes.
    `counts` are shared by all servers if there are several; without `forms`, browsers cannot sign in."""
    counts = counts or ProcessCounts(clock)
    tokens, oidc = (
        _open_identity_provider(settings.jwt, settings.oidc, records, clock, random_bytes) if settings.jwt else (None, None)
    )
    authenticator = Authenticator(settings, KeyVerifier(records, clock), tokens, records, CredentialThrottle(clock, counts))
    app.state.authenticator = authenticator
    app.state.open_streams = OpenStreams(settings.max_streams_per_owner, counts)
    app.state.sign_in_ways = ["key", "provider"] if oidc else ["key"]
    if forms:
        app.include_router(login_router(LoginRoutes(settings, authenticator, records, oidc, clock, random_bytes)))


def _open_identity_provider(
    jwt: JwtSettings, oidc: OidcSettings | None, records: AccessRecords, clock: Clock, random_bytes: RandomBytes
) -> tuple[TokenVerifier, OidcClient | None]:
    # Imported only if tokens are accepted: their cryptography takes a twentieth of a server's start-up time.
    from stepwell.server.login.identity_provider import IdentityProvider
    from stepwell.server.login.oidc import OidcClient
    from stepwell.server.login.tokens import TokenVerifier

    provider = IdentityProvider(jwt, clock)
    tokens = TokenVerifier(jwt, provider, clock)
    return tokens, OidcClient(oidc, provider, tokens, records, clock, random_bytes) if oidc else None
