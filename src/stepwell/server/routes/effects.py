"""Effects with an unknown outcome: a user's own, and for operators those of all users and of deleted threads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from stepwell.database.records.types import EffectFilter, Page
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.effects import EffectResponse, EffectSettle
from stepwell.server.schemas.fields import Limit, Offset, Uuid

router = APIRouter(tags=["Effects"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("effects:read"))]
Settler = Annotated[Principal, Depends(policy("effects:settle"))]
Operator = Annotated[Principal, Depends(policy("effects:all"))]


class EffectQuery:
    """The query of a listing."""

    def __init__(
        self,
        thread_id: Annotated[Uuid | None, Query()] = None,
        known: Annotated[bool, Query(description="Include effects whose outcome is known or that are still running")] = False,
        limit: Annotated[Limit, Query()] = 100,
        offset: Annotated[Offset, Query()] = 0,
    ) -> None:
        self.which = EffectFilter(open=not known, thread_id=thread_id)
        self.page = Page(limit=limit, offset=offset)


WantedEffects = Annotated[EffectQuery, Depends()]


@router.get(
    "/api/effects",
    operation_id="list_effects",
    summary="List tool calls on your threads whose outcome is unknown",
    responses={200: {"model": list[EffectResponse]}},
)
async def list_effects(principal: Reader, services: Given, wanted: WantedEffects) -> Response:
    return await _list(services, principal.owner, wanted)


@router.get(
    "/api/effects/all",
    operation_id="list_effects_of_all",
    summary="List those of all users and of deleted threads, for operators",
    responses={200: {"model": list[EffectResponse]}},
)
async def list_effects_of_all(principal: Operator, services: Given, wanted: WantedEffects) -> Response:
    return await _list(services, None, wanted)


@router.post(
    "/api/effects/settle",
    operation_id="settle_effect",
    summary="Record whether a call happened; the model learns it when the thread resumes, if the call is still in its conversation",
    responses={200: {"model": EffectResponse}},
)
async def settle_effect(body: EffectSettle, principal: Settler, services: Given) -> Response:
    return await _settle(services, principal.owner, body, principal)


@router.post(
    "/api/effects/all/settle",
    operation_id="settle_effect_of_all",
    summary="Record whether any user's call happened, for operators",
    responses={200: {"model": EffectResponse}},
)
async def settle_effect_of_all(body: EffectSettle, principal: Operator, services: Given) -> Response:
    return await _settle(services, None, body, principal)


async def _list(services: Services, owner: str | None, wanted: EffectQuery) -> Response:
    found = await services.persistence.records.effects(owner, wanted.which, wanted.page)
    return json_response([effect.as_json() for effect in found])


async def _settle(services: Services, owner: str | None, body: EffectSettle, principal: Principal) -> Response:
    settled = await services.persistence.records.settle_effect(
        owner, body.key, happened=body.outcome == "done", note=body.note, by=principal.user_id
    )
    return json_response(settled.as_json())
