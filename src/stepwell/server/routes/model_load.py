"""Loading the embedded model: progress as data-only server-sent events, `{status, progress, file, modelId, dtype}`.

`progress` is per cent. The last frame says `ready` or `error`; an error has a `message`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends
from starlette.responses import Response

from stepwell.models.status import ModelEvent
from stepwell.server.login.principal import Principal
from stepwell.server.policy import stream_policy
from stepwell.server.responses import SSE
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.sse import EventStream, data_frame

router = APIRouter(tags=["Model"], route_class=JsonRoute)

Loader = Annotated[Principal, Depends(stream_policy("model:load"))]


@router.get("/api/model/load", operation_id="load_model", summary="Load the embedded model and follow it", responses=SSE)
async def load_model(principal: Loader, services: Given) -> Response:
    return EventStream(_frames(services.model_loading.events()), services.streams)


@router.post("/api/model/load", operation_id="load_model_post", summary="The same by POST", responses=SSE)
async def load_model_post(principal: Loader, services: Given) -> Response:
    return EventStream(_frames(services.model_loading.events()), services.streams)


async def _frames(events: AsyncIterator[ModelEvent]) -> AsyncGenerator[bytes, None]:
    async for event in events:
        yield data_frame(orjson.dumps(_wire(event)))


def _wire(event: ModelEvent) -> dict[str, Any]:
    part = event.progress
    per_cent = 100 if event.status == "ready" else None if part is None else int(part * 100)
    shown = {"status": event.status, "progress": per_cent, "file": event.file, "modelId": event.model_id, "dtype": event.dtype}
    return {**shown, "message": event.message} if event.message else shown
