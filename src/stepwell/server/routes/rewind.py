"""Taking turns of a thread back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from stepwell.runs.rewinding import Rewinding
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import ThreadId
from stepwell.server.schemas.rewind import RewindCreate, RewindResponse

router = APIRouter(tags=["Threads"], route_class=JsonRoute)

Creator = Annotated[Principal, Depends(policy("runs:create"))]


@router.post(
    "/threads/{thread_id}/rewind",
    operation_id="rewind_thread",
    summary="Take back a turn and all after it: the conversation and the files",
    responses={200: {"model": RewindResponse}},
)
async def rewind_thread(thread_id: ThreadId, body: RewindCreate, principal: Creator, services: Given) -> Response:
    rewinding = Rewinding(services.persistence, services.registry, services.threads, services.engine)
    report = await rewinding.rewind(
        principal.owner, thread_id, body.turn_id, dry_run=body.dry_run, force=body.force, grants=principal.grants
    )
    return json_response(report)
