"""Threads: conversations, without their state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response

from stepwell.database.records.types import Page
from stepwell.database.types import Thread
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import json_response, next_page, note_shown, nothing
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import SeveralNames, ThreadId, pick
from stepwell.server.schemas.threads import (
    Pruned,
    ThreadCount,
    ThreadCreate,
    ThreadInclude,
    ThreadPatch,
    ThreadPrune,
    ThreadResponse,
    ThreadSearch,
    ThreadStorage,
    extract,
    thread_wire,
    ttl_of,
)

router = APIRouter(tags=["Threads"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("threads:read"))]
Searcher = Annotated[Principal, Depends(policy("threads:search"))]
Creator = Annotated[Principal, Depends(policy("threads:create"))]
Updater = Annotated[Principal, Depends(policy("threads:update"))]
Deleter = Annotated[Principal, Depends(policy("threads:delete"))]
Include = Annotated[Sequence[ThreadInclude], SeveralNames, Query(description="More fields: `ttl` says when the thread expires")]


@router.post("/threads", operation_id="create_thread", summary="Create a thread", responses={200: {"model": ThreadResponse}})
async def create_thread(body: ThreadCreate, principal: Creator, services: Given, key: OnceKey) -> Response:
    for step in body.supersteps or ():
        for update in step.updates:
            services.check_stored(update.values)
    thread = await services.threads.create(
        principal.owner,
        thread_id=body.thread_id,
        metadata=body.metadata,
        if_exists=body.if_exists or "raise",
        supersteps=[step.model_dump() for step in body.supersteps or ()],
        graph_id=body.graph_id,
        key=key.of(principal),
        ttl=ttl_of(body.ttl),
    )
    return json_response(thread_wire(thread))


@router.post(
    "/threads/search",
    operation_id="search_threads",
    summary="Search threads, most recently used first; the header X-Pagination-Next has the offset of the next page",
    responses={200: {"model": list[ThreadResponse]}},
)
async def search_threads(body: ThreadSearch, principal: Searcher, services: Given) -> Response:
    limit, offset = body.limit or 10, body.offset or 0
    page = Page(limit + 1, offset, body.sort_by or "updated_at", body.sort_order != "asc")
    found = await services.threads.search(principal.owner, body.wanted(), page, with_values=_shows_values(body))
    shown = [_show_thread(thread, body) for thread in found[:limit]]
    return json_response(shown, headers=next_page(offset, limit, len(found)))


def _shows_values(body: ThreadSearch) -> bool:
    asked = not body.select or "values" in body.select
    return asked or any(path.startswith("values") for path in (body.extract or {}).values())


def _show_thread(thread: Thread, body: ThreadSearch) -> dict[str, Any]:
    whole = thread_wire(thread)
    shown = pick(whole, list(body.select or ()))
    return {**shown, "extracted": extract(whole, body.extract)} if body.extract else shown


@router.post("/threads/count", operation_id="count_threads", summary="Count threads", responses={200: {"model": int}})
async def count_threads(body: ThreadCount, principal: Searcher, services: Given) -> Response:
    return json_response(await services.threads.count(principal.owner, body.wanted()))


@router.post(
    "/threads/prune",
    operation_id="prune_threads",
    summary="Delete threads, or all their checkpoints except the latest",
    responses={200: {"model": Pruned}},
)
async def prune_threads(body: ThreadPrune, principal: Deleter, services: Given) -> Response:
    pruned = await services.threads.prune(principal.owner, body.thread_ids, body.strategy or "delete")
    return json_response({"pruned_count": pruned})


@router.get(
    "/threads/{thread_id}", operation_id="get_thread", summary="Get a thread", responses={200: {"model": ThreadResponse}}
)
async def get_thread(thread_id: ThreadId, principal: Reader, services: Given, include: Include = ()) -> Response:
    thread = await services.threads.get(principal.owner, thread_id, with_ttl="ttl" in include)
    await note_shown(services, thread_id, (asked.interrupt_id for asked in thread.interrupts))
    return json_response(thread_wire(thread))


@router.get(
    "/threads/{thread_id}/storage",
    operation_id="get_thread_storage",
    summary="How many bytes the thread's checkpoints take, by kind and by channel",
    responses={200: {"model": ThreadStorage}},
)
async def get_thread_storage(thread_id: ThreadId, principal: Reader, services: Given) -> Response:
    await services.threads.get(principal.owner, thread_id, with_values=False)
    return json_response({"thread_id": thread_id, **await services.persistence.storage(thread_id)})


@router.patch(
    "/threads/{thread_id}",
    operation_id="update_thread",
    summary="Merge into a thread's metadata, and set its time to live; with 'Prefer: return=minimal' the response has no body",
    responses={200: {"model": ThreadResponse}, 204: {"description": "Done; the client asked for no body"}},
)
async def update_thread(
    thread_id: ThreadId, body: ThreadPatch, principal: Updater, services: Given, prefer: Annotated[str, Header()] = ""
) -> Response:
    thread = await services.threads.update(principal.owner, thread_id, metadata=body.metadata or {}, ttl=ttl_of(body.ttl))
    return nothing() if "return=minimal" in prefer.lower() else json_response(thread_wire(thread))


@router.delete(
    "/threads/{thread_id}",
    operation_id="delete_thread",
    summary="Delete a thread and everything that belongs to it",
    status_code=204,
)
async def delete_thread(thread_id: ThreadId, principal: Deleter, services: Given) -> Response:
    await services.threads.delete(principal.owner, thread_id)
    return nothing()


@router.post(
    "/threads/{thread_id}/copy",
    operation_id="copy_thread",
    summary="Copy a thread with its history",
    responses={200: {"model": ThreadResponse}},
)
async def copy_thread(thread_id: ThreadId, principal: Creator, services: Given, key: OnceKey) -> Response:
    return json_response(thread_wire(await services.threads.copy(principal.owner, thread_id, key.of(principal))))
