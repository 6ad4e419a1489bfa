"""`GET /api/project_name`: the user's own count and limit."""

from typing import Annotated

from fastapi import APIRouter, Depends
from project_name import tables
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute

router = APIRouter(prefix="/api/project_name", tags=["project-name"], route_class=JsonRoute)
ROUTERS = (router,)


@router.get("", operation_id="get_project_name_count", summary="How many runs you have started, and may start")
async def get_count(principal: Annotated[Principal, Depends(policy("runs:read"))], services: Given):
    owner = principal.owner
    return json_response(await services.persistence.database.read(lambda connection: tables.read_count(connection, owner)))
