"""`GET /api/allowance`: the user's own count and limit."""

from typing import Annotated

from fastapi import APIRouter, Depends

from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell_allowance import tables

router = APIRouter(prefix="/api/allowance", tags=["Allowance"], route_class=JsonRoute)
ROUTERS = (router,)


@router.get("", operation_id="get_allowance", summary="How many runs you have started today, and may start")
async def get_allowance(principal: Annotated[Principal, Depends(policy("runs:read"))], services: Given):
    owner, day = principal.owner, tables.today()
    return json_response(
        await services.persistence.database.read(lambda connection: tables.read_allowance(connection, owner, day))
    )
