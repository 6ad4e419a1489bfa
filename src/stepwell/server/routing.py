"""What every route has: a body parsed by orjson, and the services. `limits.bodies` has already rejected bodies that are not JSON."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute

from stepwell.server.parts import Services
from stepwell.server.schemas.fields import building_models


class JsonRequest(Request):
    """A request whose body is parsed by orjson, which is faster, and strict about NaN, depth and invalid characters."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class JsonRoute(APIRoute):
    """A route whose body is JSON. The body's model is built by the first request."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        unbuilt = self.body_field

        async def handle_json(request: Request) -> Response:
            nonlocal unbuilt
            if unbuilt:
                with building_models():
                    unbuilt.validate({})
                unbuilt = None
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_json


async def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Given = Annotated[Services, Depends(services_of)]
"""The services that a route calls."""
