"""Scheduled runs: LangGraph's clients know them; this server does not offer them, and says so."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from stepwell.errors import NotFoundError
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy

router = APIRouter(include_in_schema=False)

Caller = Annotated[Principal, Depends(policy("runs:read"))]
METHODS = ["GET", "POST", "PATCH", "DELETE"]


@router.api_route("/runs/crons", methods=METHODS)
@router.api_route("/runs/crons/{rest:path}", methods=METHODS)
@router.api_route("/threads/{thread_id}/runs/crons", methods=METHODS)
async def no_crons(principal: Caller) -> Response:
    raise NotFoundError("cron", "runs on a schedule", "This server has no scheduler; start runs from your own.")
