"""The application: routes over services, inside the layers that every request passes.

```
RequestLog > UnexpectedErrors > CountRequests > limit_layers (hosts, origins, bodies) > page > routes (policy, parse, one service, answer)
```
Making it does no work: the services are open already, and are closed by whoever opened them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from fastapi import FastAPI
from starlette.middleware import Middleware

from stepwell.server.doors import install_doors
from stepwell.server.facades import Facade
from stepwell.server.limits import limit_layers
from stepwell.server.metrics import CountRequests
from stepwell.server.openapi import install_openapi
from stepwell.server.opening import Services
from stepwell.server.page.serving import PageFiles, ServePage
from stepwell.server.problems import UnexpectedErrors, install_problems
from stepwell.server.request_log import RequestLog
from stepwell.server.routes import (
    access,
    account,
    assistants,
    conversation,
    crons,
    effects,
    model_load,
    research,
    research_bundle,
    runs,
    stateless_runs,
    store,
    system,
    thread_protocol,
    thread_state,
    threads,
)
from stepwell.server.settings import ServerSettings

ROUTERS = (
    crons.router,  # first: /threads/{id}/runs/crons must not be taken for a run
    runs.router,  # then what is asked for most: routes are tried in this order
    threads.router,
    thread_state.router,
    conversation.router,
    thread_protocol.router,
    stateless_runs.router,
    assistants.router,
    store.router,
    model_load.router,
    research.router,
    research_bundle.router,
    access.router,
    account.router,
    effects.router,
    system.router,
)


def create_app(
    services: Services,
    settings: ServerSettings,
    facades: Mapping[str, Facade] | None = None,
    page: PageFiles | None = None,
) -> FastAPI:
    """The server as an ASGI application. `facades` are graphs that have routes of their own, by the name of those routes; `page` is
    another build of the web page than the package's."""
    layers = [
        Middleware(RequestLog, new_id=services.new_id),
        Middleware(UnexpectedErrors, new_id=services.new_id),
        Middleware(CountRequests, metrics=services.metrics),
        *limit_layers(settings),
        Middleware(ServePage, files=page or PageFiles(), asks_who=settings.asks_who),
    ]
    app = FastAPI(
        title="Stepwell", version=version("stepwell"), docs_url=None, redoc_url=None, redirect_slashes=False, middleware=layers
    )
    app.state.services = services
    app.state.facades = dict(facades or {})
    app.state.asks_who = settings.asks_who
    install_doors(app, settings, services.persistence.access, services.clock)
    for router in ROUTERS:
        app.include_router(router)
    install_problems(app)
    install_openapi(app)
    return app
