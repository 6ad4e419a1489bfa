"""Connecting models: list, add, change, delete and test connections, and choose which models are used.

A key goes in and never comes out: no response, no error and no log line contains one.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from stepwell.connections.http.schemas import (
    ConnectionChange,
    ConnectionResponse,
    ConnectionsResponse,
    ConnectionTest,
    NewAllowed,
    NewChoice,
    NewConnection,
    SpendRow,
    TestResponse,
)
from stepwell.connections.http.showing import show, show_all
from stepwell.connections.offers import make_offer
from stepwell.connections.service import connections_of
from stepwell.connections.tables import Stored
from stepwell.errors import AccessError
from stepwell.models.connected import RunModels, using
from stepwell.models.probe import probe
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response, nothing
from stepwell.server.routing import Given, JsonRoute

router = APIRouter(prefix="/api/connections", tags=["Connections"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("connections:read"))]
Writer = Annotated[Principal, Depends(policy("connections:write"))]
Operator = Annotated[Principal, Depends(policy("connections:all"))]
PathId = Annotated[str, Path(min_length=1, max_length=100)]
OneUser = Annotated[str | None, Query(min_length=1, max_length=256, description="Only this user's; operators only")]


@router.get(
    "",
    operation_id="list_connections",
    summary="The models that you can use, through which connections, and which one is used",
    responses={200: {"model": ConnectionsResponse}},
)
async def list_connections(principal: Reader, services: Given) -> Response:
    connections = connections_of(services)
    found = await connections.find_servers(principal)
    offers = await connections.models.offers(principal.owner, found)
    spent = await connections.spent(principal, [offer.id for offer in offers.offers])
    local = services.parts.model_loading.local_models()
    # In a thread: this imports providers' packages to learn about their models.
    shown = await asyncio.to_thread(show_all, connections, principal, offers, found, local, spent)
    return json_response(shown.model_dump())


@router.post(
    "",
    operation_id="add_connection",
    summary="Connect a provider or a model server",
    status_code=201,
    responses={201: {"model": ConnectionResponse}},
)
async def add_connection(body: NewConnection, principal: Writer, services: Given) -> Response:
    stored = await connections_of(services).add(principal, body.provider, body.change())
    return await _show_one(stored, principal, status=201)


@router.post(
    "/test",
    operation_id="test_connection",
    summary="Test a model: does it answer, call tools and stream",
    responses={200: {"model": TestResponse}},
)
async def test_connection(body: ConnectionTest, principal: Writer, services: Given) -> Response:
    connections = connections_of(services)
    change = body.change()
    await connections.count_test(principal)
    target = await connections.target(
        principal, connection=body.connection, provider=body.provider, change=change, model=body.model
    )
    # A test costs like any other call. What is not stored yet has no limit, and nothing to count it for.
    watch = connections.spend if body.connection is not None else None
    models = RunModels(target, user=principal.owner, watch=watch)
    with using(models):  # hides its key in the log
        found = await probe(target, settings=connections.settings)
        await models.settle()
    problem = {"kind": found.problem.kind, "sentence": found.problem.sentence} if found.problem else None
    return json_response(
        {
            "ok": found.ok,
            "model": found.model,
            "answers": found.answers,
            "tools": found.tools,
            "streams": found.streams,
            "sees": found.sees,
            "latency_ms": found.latency_ms,
            "models": list(found.models),
            "problem": problem,
        }
    )


@router.put("/choice", operation_id="choose_models", summary="Choose the models that are used by default", status_code=204)
async def choose_models(body: NewChoice, principal: Writer, services: Given) -> Response:
    await connections_of(services).choose(principal, body.scope, body.choices())
    return nothing()


@router.put("/allowed", operation_id="allow_models", summary="Set which models may be used, for operators", status_code=204)
async def allow_models(body: NewAllowed, principal: Operator, services: Given) -> Response:
    await connections_of(services).allow(body.allowed)
    return nothing()


@router.get(
    "/spend",
    operation_id="get_connection_spend",
    summary="What was spent through connections, by day",
    responses={200: {"model": list[SpendRow]}},
)
async def get_spend(principal: Reader, services: Given, user: OneUser = None) -> Response:
    if user is not None and user != principal.owner and not principal.is_operator:
        raise AccessError("Only operators see what other users spend. Leave 'user' out to see your own.")
    whose = user if principal.is_operator else principal.owner
    return json_response(await connections_of(services).spend_rows(whose))


@router.patch(
    "/{connection_id}",
    operation_id="change_connection",
    summary="Change a connection: its name, key, address, models, limits, or who may use it",
    responses={200: {"model": ConnectionResponse}},
)
async def change_connection(connection_id: PathId, body: ConnectionChange, principal: Writer, services: Given) -> Response:
    stored = await connections_of(services).change(principal, connection_id, body.change(body.limits))
    return await _show_one(stored, principal)


@router.delete("/{connection_id}", operation_id="delete_connection", summary="Delete a connection and its key", status_code=204)
async def delete_connection(connection_id: PathId, principal: Writer, services: Given) -> Response:
    await connections_of(services).delete(principal, connection_id)
    return nothing()


async def _show_one(stored: Stored, principal: Principal, *, status: int = 200) -> Response:
    shown = await asyncio.to_thread(show, make_offer(stored, principal.owner), principal)
    return json_response(shown.model_dump(), status=status)
