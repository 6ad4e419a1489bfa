"""Claims: a device announces that it is about to carry out an interrupt, so that no other device does so too.

The interrupt itself stays open and listed. While a claim is valid, only an answer with its `claim_id` is accepted.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.claims import InterruptClaimCreate, InterruptClaimRelease, InterruptClaimResponse, claim_wire
from stepwell.server.schemas.fields import ThreadId

router = APIRouter(tags=["Threads"], route_class=JsonRoute)

Answerer = Annotated[Principal, Depends(policy("runs:create"))]
InterruptId = Annotated[str, Path(min_length=1, max_length=128)]


@router.post(
    "/threads/{thread_id}/interrupts/{interrupt_id}/claim",
    operation_id="claim_interrupt",
    summary="Claim an interrupt for a device to carry out (client_tool_execution), or renew the claim",
    responses={200: {"model": InterruptClaimResponse}},
)
async def claim_interrupt(
    thread_id: ThreadId, interrupt_id: InterruptId, wanted: InterruptClaimCreate, principal: Answerer, services: Given
) -> Response:
    held = await services.persistence.records.claim(
        principal.owner,
        thread_id,
        interrupt_id,
        device_id=wanted.device_id,
        ttl_s=wanted.ttl_s,
        claim_id=wanted.claim_id,
    )
    return json_response(claim_wire(held))


@router.delete(
    "/threads/{thread_id}/interrupts/{interrupt_id}/claim",
    operation_id="release_interrupt",
    summary="Release a claim",
    status_code=204,
)
async def release_interrupt(
    thread_id: ThreadId, interrupt_id: InterruptId, held: InterruptClaimRelease, principal: Answerer, services: Given
) -> Response:
    await services.persistence.records.release_claim(principal.owner, thread_id, interrupt_id, held.claim_id)
    return Response(status_code=204)
