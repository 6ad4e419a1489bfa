"""What every route has: a body parsed by orjson, and the services. `limits.bodies` has already rejected bodies that are not JSON.

A server has 155 routes, and FastAPI's analysis of their functions took a sixth of its start. Here the first request of a route pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from inspect import get_annotations, isfunction
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request, Response
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute
from starlette.routing import compile_path

from stepwell.server.parts import Services
from stepwell.server.schemas.fields import building_models


class JsonRequest(Request):
    """A request whose body is parsed by orjson, which is faster, and strict about NaN, depth and invalid characters."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class JsonRoute(APIRoute):
    """A route whose body is JSON. It is made with what matching needs; FastAPI sets the other attributes when one of them is used, by the
    first request or by the OpenAPI document. The body's model is built by the first request."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.path, self.endpoint, self._options = path, endpoint, options
        self.name = options.get("name") or endpoint.__name__
        self.methods = {method.upper() for method in options.get("methods") or ("GET",)}
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)

    def __getattr__(self, name: str) -> Any:
        if (options := self.__dict__.pop("_options", None)) is None:
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")
        super().__init__(self.path, self.endpoint, **options)
        return getattr(self, name)

    def read_calls(self) -> Iterator[Any]:
        """The functions that the route's function depends on, as annotations say: FastAPI need not have analysed them."""
        options = self.__dict__.get("_options")
        for dependency in self.dependencies if options is None else options.get("dependencies") or ():
            yield from _read_calls(dependency.dependency)
        yield from _read_calls(self.endpoint)

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


def _read_calls(call: Any) -> Iterator[Any]:
    yield call
    for annotation in get_annotations(call, eval_str=True).values() if isfunction(call) else ():
        last = getattr(annotation, "__metadata__", (None,))[-1]
        if isinstance(last, Dependency):
            yield from _read_calls(last.dependency)


async def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Given = Annotated[Services, Depends(services_of)]
"""The services that a route calls."""
