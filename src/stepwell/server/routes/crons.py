"""Crons: runs on a schedule, and what became of their slots."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from stepwell.database.records.types import Page
from stepwell.errors import InvalidRequestError
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import json_response, next_page, nothing
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.crons import (
    CronCount,
    CronCreate,
    CronPatch,
    CronResponse,
    CronSearch,
    CronSlotResponse,
    ThreadCronCreate,
    access_of,
    cron_wire,
    slot_wire,
)
from stepwell.server.schemas.fields import Limit, Moment, PathUuid, ThreadId, pick

router = APIRouter(tags=["Crons"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("crons:read"))]
Searcher = Annotated[Principal, Depends(policy("crons:search"))]
Creator = Annotated[Principal, Depends(policy("crons:create"))]
Updater = Annotated[Principal, Depends(policy("crons:update"))]
Deleter = Annotated[Principal, Depends(policy("crons:delete"))]
CronId = PathUuid
Before = Annotated[Moment | None, Query(description="Only slots before this time")]


@router.post(
    "/runs/crons",
    operation_id="create_cron",
    summary="Start a run on a new thread by a schedule",
    responses={200: {"model": CronResponse}},
)
async def create_cron(body: CronCreate, principal: Creator, services: Given, key: OnceKey) -> Response:
    cron = await services.crons.create(principal.owner, body.wanted(None), access_of(principal), key.of(principal))
    return json_response(cron_wire(cron))


@router.post(
    "/threads/{thread_id}/runs/crons",
    operation_id="create_thread_cron",
    summary="Start a run on this thread by a schedule",
    responses={200: {"model": CronResponse}},
)
async def create_thread_cron(
    thread_id: ThreadId, body: ThreadCronCreate, principal: Creator, services: Given, key: OnceKey
) -> Response:
    cron = await services.crons.create(principal.owner, body.wanted(thread_id), access_of(principal), key.of(principal))
    return json_response(cron_wire(cron))


@router.post(
    "/runs/crons/search",
    operation_id="search_crons",
    summary="Search crons; the header X-Pagination-Next has the offset of the next page",
    responses={200: {"model": list[CronResponse]}},
)
async def search_crons(body: CronSearch, principal: Searcher, services: Given) -> Response:
    limit, offset = body.limit or 10, body.offset or 0
    page = Page(limit + 1, offset, body.sort_by or "created_at", body.sort_order != "asc")
    found = await services.crons.search(principal.owner, body.wanted(), page)
    shown = [pick(cron_wire(cron), list(body.select or ())) for cron in found[:limit]]
    return json_response(shown, headers=next_page(offset, limit, len(found)))


@router.post("/runs/crons/count", operation_id="count_crons", summary="Count crons", responses={200: {"model": int}})
async def count_crons(body: CronCount, principal: Searcher, services: Given) -> Response:
    return json_response(await services.crons.count(principal.owner, body.wanted()))


@router.get("/runs/crons/{cron_id}", operation_id="get_cron", summary="Get a cron", responses={200: {"model": CronResponse}})
async def get_cron(cron_id: CronId, principal: Reader, services: Given) -> Response:
    return json_response(cron_wire(await services.crons.get(principal.owner, cron_id)))


@router.patch(
    "/runs/crons/{cron_id}",
    operation_id="update_cron",
    summary="Change a cron; runs that it has started stay as they are",
    responses={200: {"model": CronResponse}},
)
async def update_cron(cron_id: CronId, body: CronPatch, principal: Updater, services: Given) -> Response:
    if not body.model_fields_set:
        raise InvalidRequestError("The body names no field of a cron, so nothing would change. Send at least one.")
    cron = await services.crons.change(principal.owner, cron_id, body.wanted(), access_of(principal))
    return json_response(cron_wire(cron))


@router.delete(
    "/runs/crons/{cron_id}",
    operation_id="delete_cron",
    summary="Delete a cron; runs that it has started go on",
    status_code=204,
)
async def delete_cron(cron_id: CronId, principal: Deleter, services: Given) -> Response:
    await services.crons.delete(principal.owner, cron_id)
    return nothing()


@router.get(
    "/runs/crons/{cron_id}/slots",
    operation_id="list_cron_slots",
    summary="List what became of a cron's slots, newest first: fired, missed or refused",
    responses={200: {"model": list[CronSlotResponse]}},
)
async def list_cron_slots(
    cron_id: CronId, principal: Reader, services: Given, limit: Limit = 100, before: Before = None
) -> Response:
    slots = await services.crons.slots(principal.owner, cron_id, before=before, limit=limit)
    return json_response([slot_wire(slot) for slot in slots])
