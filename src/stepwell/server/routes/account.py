"""A user's account: usage and cost, and an export of all their data."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, time
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response, StreamingResponse

from stepwell.database.records.types import UsageGroup
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy, stream_policy
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import Uuid
from stepwell.server.schemas.system import UsageResponse

router = APIRouter(tags=["Account"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("usage:read"))]
Operator = Annotated[Principal, Depends(policy("usage:all"))]
Exporter = Annotated[Principal, Depends(stream_policy("threads:export"))]
OneThread = Annotated[Uuid | None, Query()]
Since = Annotated[date | None, Query(description="Only runs that ended on this day or later, in UTC")]


@router.get(
    "/api/usage",
    operation_id="get_usage",
    summary="Model usage of your runs, and its cost",
    responses={200: {"model": list[UsageResponse]}},
)
async def get_usage(
    principal: Reader,
    services: Given,
    group_by: UsageGroup = "model",
    thread_id: OneThread = None,
    since: Since = None,
) -> Response:
    rows = await services.persistence.records.usage(principal.owner, group_by, thread_id=thread_id, since=_midnight(since))
    return json_response([row.as_json() for row in rows])


@router.get(
    "/api/usage/all",
    operation_id="get_usage_of_all",
    summary="Model usage of all users, and its cost, for operators",
    responses={200: {"model": list[UsageResponse]}},
)
async def get_usage_of_all(
    principal: Operator, services: Given, group_by: UsageGroup = "owner", since: Since = None
) -> Response:
    rows = await services.persistence.records.usage(None, group_by, since=_midnight(since))
    return json_response([row.as_json() for row in rows])


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC)


@router.get(
    "/api/export",
    operation_id="export_data",
    summary="Export all your data as JSON lines",
    responses={200: {"description": "JSON lines", "content": {"application/x-ndjson": {"schema": {}}}}},
)
async def export_data(principal: Exporter, services: Given) -> Response:
    lines: AsyncIterator[bytes] = services.threads.export(principal.owner)
    return StreamingResponse(lines, media_type="application/x-ndjson")
