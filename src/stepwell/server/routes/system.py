"""The server itself: its health, versions, metrics and pages."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from stepwell.server.health import check_readiness, describe_health, describe_server
from stepwell.server.login.principal import Principal
from stepwell.server.page.docs import render_docs
from stepwell.server.page.front import describe_front
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.system import HealthResponse, Info, Ok

router = APIRouter(tags=["System"], route_class=JsonRoute)

Operator = Annotated[Principal, Depends(policy("metrics:read"))]
HealthReader = Annotated[Principal, Depends(policy("health:read"))]


@router.get(
    "/ok",
    operation_id="get_ok",
    summary="Whether the server is healthy; check_db=1 also checks the database",
    responses={200: {"model": Ok}},
)
async def get_ok(services: Given, check_db: bool = False) -> Response:
    return json_response(await check_readiness(services, check_db=check_db))


@router.get(
    "/ready",
    operation_id="get_ready",
    summary="Whether to send requests here: not while the database cannot be written, runs are not executed, or the server is stopping",
    responses={200: {"model": Ok}},
)
async def get_ready(services: Given) -> Response:
    return json_response(await check_readiness(services, check_db=True))


@router.get("/info", operation_id="get_info", summary="Versions and supported features", responses={200: {"model": Info}})
async def get_info() -> Response:
    return json_response(describe_server())


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Metrics in Prometheus text format, or as JSON",
    responses={
        200: {
            "description": "Counters",
            "content": {"text/plain": {"schema": {"type": "string"}}, "application/json": {"schema": {"type": "object"}}},
        }
    },
)
async def get_metrics(
    principal: Operator, services: Given, form: Annotated[Literal["prometheus", "json"], Query(alias="format")] = "prometheus"
) -> Response:
    if form == "json":
        return json_response(await services.metrics.samples())
    return Response(await services.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get(
    "/api/health",
    operation_id="get_health",
    summary="Runs, streams, database size, background duties and problems, for operators",
    responses={200: {"model": HealthResponse}},
)
async def get_health(principal: HealthReader, services: Given) -> Response:
    return json_response(await describe_health(services))


@router.get(
    "/docs",
    operation_id="get_docs",
    summary="This API as a page",
    responses={200: {"description": "A page", "content": {"text/html": {"schema": {"type": "string"}}}}},
)
async def get_docs(request: Request) -> Response:
    return Response(render_docs(request.app.openapi()), media_type="text/html")


@router.get("/", include_in_schema=False)
async def get_front(request: Request) -> Response:
    """For programs; a browser gets the page (`page.serving`)."""
    return json_response(describe_front(request.scope.get("root_path") or ""))
