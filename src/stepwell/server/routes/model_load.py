"""Loading the embedded model: progress as data-only server-sent events, `{status, progress, file, modelId, dtype}`.

POST loads it; GET only reports, because any page can make a browser send a GET. `progress` is per cent. The last frame says `ready` or
`error` (with a `message`), or `idle` in response to a GET while nothing is being loaded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from stepwell.errors import AccessError, NotFoundError
from stepwell.models.local.catalogue import CATALOGUE
from stepwell.models.status import ModelEvent
from stepwell.server.login.principal import Principal
from stepwell.server.policy import stream_policy
from stepwell.server.responses import SSE
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.sse import EventStream, data_frame

router = APIRouter(tags=["Model"], route_class=JsonRoute)

Loader = Annotated[Principal, Depends(stream_policy("model:load"))]
Follower = Annotated[Principal, Depends(stream_policy("model:read"))]
Embedded = Annotated[str | None, Query(min_length=1, max_length=100, description="The id of an embedded model; operators only")]


@router.get(
    "/api/model/load",
    operation_id="follow_model",
    summary="Follow the loading of the embedded model; starts nothing",
    responses=SSE,
)
async def follow_model(principal: Follower, services: Given, model: Embedded = None) -> Response:
    return EventStream(_frames(services.parts.model_loading.follow(_name_of(principal, model))), services.streams)


@router.post(
    "/api/model/load", operation_id="load_model", summary="Load the embedded model and follow its progress", responses=SSE
)
async def load_model(principal: Loader, services: Given, model: Embedded = None) -> Response:
    return EventStream(_frames(services.parts.model_loading.load(_name_of(principal, model))), services.streams)


def _name_of(principal: Principal, model: str | None) -> str | None:
    if model is not None and not principal.is_operator:
        raise AccessError("Only operators may choose the model. Leave 'model' out to load the server's own.")
    name = None if model is None else model.removeprefix("local:")
    if name is not None and name not in CATALOGUE:
        raise NotFoundError("embedded model", name, f"There are: {', '.join(CATALOGUE)}.")
    return name


async def _frames(events: AsyncIterator[ModelEvent]) -> AsyncGenerator[bytes, None]:
    async for event in events:
        yield data_frame(orjson.dumps(_wire(event)))


def _wire(event: ModelEvent) -> dict[str, Any]:
    part = event.progress
    per_cent = 100 if event.status == "ready" else None if part is None else int(part * 100)
    shown = {"status": event.status, "progress": per_cent, "file": event.file, "modelId": event.model_id, "dtype": event.dtype}
    return {**shown, "message": event.message} if event.message else shown
