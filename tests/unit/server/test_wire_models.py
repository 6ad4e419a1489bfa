"""Routes are analysed and models of requests are built by the first request, which warns of nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from stepwell.server.app import ROUTERS, product_routers
from stepwell.server.policy import RoutePolicy, StreamPolicy, actions_of, policy
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


def calls_of(dependant: Any) -> Iterator[Any]:
    yield dependant.call
    for inner in dependant.dependencies:
        yield from calls_of(inner)


def test_actions_that_annotations_name_are_those_that_fastapi_finds():
    for route in api_routes():
        found = {call.action for call in calls_of(route.dependant) if isinstance(call, RoutePolicy | StreamPolicy)}
        assert actions_of(route) == found, route.path


def test_a_route_is_analysed_when_it_is_used_and_its_action_is_known_before():
    async def greet(who: str = "you", _: Any = None) -> dict[str, str]:
        return {"greeted": who}

    greet.__annotations__["_"] = Annotated[Any, Depends(policy("runs:read"))]
    greet.__annotations__["who"] = str
    route = JsonRoute("/greet", greet, tags=["Greetings"])
    assert actions_of(route) == {"runs:read"}
    assert "dependant" not in vars(route)
    assert [field.name for field in route.dependant.query_params] == ["who"]
    assert route.tags == ["Greetings"]
    with pytest.raises(AttributeError, match="'JsonRoute' has no attribute 'missing'"):
        route.missing  # noqa: B018


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
