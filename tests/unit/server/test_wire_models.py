"""Models of requests are built by the first request, which warns of nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from stepwell.server.app import ROUTERS, product_routers
from stepwell.server.routing import JsonRoute
from stepwell.server.schemas.fields import Body, WireModel


def api_routes() -> list[APIRoute]:
    return [route for router in (*ROUTERS, *product_routers()) for route in router.routes if isinstance(route, APIRoute)]


def other_parameters(dependant: Any) -> Iterator[Any]:
    yield from (*dependant.path_params, *dependant.query_params, *dependant.header_params, *dependant.cookie_params)
    for inner in dependant.dependencies:
        yield from other_parameters(inner)


def is_deferred(field: Any) -> bool:
    kind = field.field_info.annotation
    return isinstance(kind, type) and issubclass(kind, WireModel)


def test_only_bodies_of_json_routes_are_built_late():
    assert [route.path for route in api_routes() if any(map(is_deferred, other_parameters(route.dependant)))] == []
    late = [route for route in api_routes() if route.body_field and is_deferred(route.body_field)]
    assert late
    assert [route.path for route in late if not isinstance(route, JsonRoute)] == []


def test_the_first_request_builds_its_model_without_a_warning(recwarn: pytest.WarningsRecorder):
    class Greeting(Body):
        word: str

    async def greet(body: Greeting) -> dict[str, str]:
        return {"said": body.word}

    greet.__annotations__["body"] = Greeting
    app = FastAPI()
    app.router.routes.append(JsonRoute("/greet", greet, methods=["POST"]))
    warnings.simplefilter("always")
    with TestClient(app) as client:
        assert client.post("/greet", json={"word": "hello"}).json() == {"said": "hello"}
        assert client.post("/greet", json={"word": 1}).status_code == 422
    assert [str(each.message) for each in recwarn if "alias" in str(each.message)] == []
