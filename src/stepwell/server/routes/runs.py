"""Runs of a thread."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from stepwell.database.records.types import Page
from stepwell.database.types import CancelAction, RunStatus
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy, stream_policy
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import (
    RESULT,
    SSE,
    LastEventId,
    await_run,
    cancels_on_disconnect,
    json_response,
    nothing,
    parse_last_event_id,
    show_run,
    stream_run,
)
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.run_headers import STARTS_RUN, SentHeaders, take_headers
from stepwell.server.schemas.fields import MAX_OFFSET, MAX_PAGE, RunId, SeveralNames, ThreadId, pick
from stepwell.server.schemas.runs import RunCreate, RunField, RunResponse, StreamMode, run_order_of, run_wire

router = APIRouter(tags=["Runs"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("runs:read"))]
StreamReader = Annotated[Principal, Depends(stream_policy("runs:read"))]
Creator = Annotated[Principal, Depends(policy("runs:create"))]
StreamCreator = Annotated[Principal, Depends(stream_policy("runs:create"))]
Deleter = Annotated[Principal, Depends(policy("runs:delete"))]
Canceller = Annotated[Principal, Depends(policy("runs:cancel"))]


@router.post(
    "/threads/{thread_id}/runs",
    operation_id="create_run",
    summary="Start a run in the background",
    responses={200: {"model": RunResponse}},
)
async def create_run(thread_id: ThreadId, body: RunCreate, principal: Creator, services: Given, key: OnceKey) -> Response:
    admitted = await services.engine.start(principal.owner, run_order_of(body, thread_id), principal.grants, key.of(principal))
    return show_run(admitted.run)


@router.post(
    "/threads/{thread_id}/runs/stream",
    operation_id="stream_run",
    summary="Start a run and stream its events",
    responses=SSE,
    openapi_extra=STARTS_RUN,
)
async def create_run_stream(
    thread_id: ThreadId, body: RunCreate, principal: StreamCreator, services: Given, headers: SentHeaders, key: OnceKey
) -> Response:
    order, additions = await take_headers(services, principal, headers, run_order_of(body, thread_id))
    admitted = await services.engine.start(principal.owner, order, principal.grants, key.of(principal))
    return stream_run(services, principal, admitted.run, cancel_on_disconnect=cancels_on_disconnect(body), additions=additions)


@router.post(
    "/threads/{thread_id}/runs/wait",
    operation_id="wait_run",
    summary="Start a run and wait for its final values",
    responses=RESULT,
    openapi_extra=STARTS_RUN,
)
async def create_run_wait(
    thread_id: ThreadId, body: RunCreate, principal: Creator, services: Given, headers: SentHeaders, key: OnceKey
) -> Response:
    order, additions = await take_headers(services, principal, headers, run_order_of(body, thread_id))
    admitted = await services.engine.start(principal.owner, order, principal.grants, key.of(principal))
    return await_run(services, principal, admitted.run, cancel_on_disconnect=cancels_on_disconnect(body), additions=additions)


@router.get(
    "/threads/{thread_id}/runs",
    operation_id="list_runs",
    summary="List the thread's runs, newest first",
    responses={200: {"model": list[RunResponse]}},
)
async def list_runs(
    thread_id: ThreadId,
    principal: Reader,
    services: Given,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 10,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    status: RunStatus | None = None,
    select: Annotated[list[RunField] | None, Query(max_length=20)] = None,
) -> Response:
    await services.threads.get(principal.owner, thread_id, with_values=False)
    runs = await services.persistence.records.list_runs(principal.owner, thread_id, status, Page(limit, offset))
    return json_response([pick(run_wire(run), list(select or ())) for run in runs])


@router.get(
    "/threads/{thread_id}/runs/{run_id}", operation_id="get_run", summary="Get a run", responses={200: {"model": RunResponse}}
)
async def get_run(thread_id: ThreadId, run_id: RunId, principal: Reader, services: Given) -> Response:
    return json_response(run_wire(await services.persistence.records.get_run(principal.owner, thread_id, run_id)))


@router.delete(
    "/threads/{thread_id}/runs/{run_id}", operation_id="delete_run", summary="Delete a run that has ended", status_code=204
)
async def delete_run(thread_id: ThreadId, run_id: RunId, principal: Deleter, services: Given) -> Response:
    await services.persistence.records.delete_run(principal.owner, thread_id, run_id)
    return nothing()


@router.get(
    "/threads/{thread_id}/runs/{run_id}/join",
    operation_id="join_run",
    summary="Wait for a run's final values",
    responses=RESULT,
)
async def join_run(
    thread_id: ThreadId, run_id: RunId, principal: StreamReader, services: Given, cancel_on_disconnect: bool = False
) -> Response:
    run = await services.persistence.records.get_run(principal.owner, thread_id, run_id)
    return await_run(services, principal, run, cancel_on_disconnect=cancel_on_disconnect)


@router.get(
    "/threads/{thread_id}/runs/{run_id}/stream",
    operation_id="join_run_stream",
    summary="Stream a run's events, from the start or after Last-Event-ID, even if it has ended",
    responses=SSE,
)
async def join_run_stream(
    thread_id: ThreadId,
    run_id: RunId,
    principal: StreamReader,
    services: Given,
    cancel_on_disconnect: bool = False,
    stream_mode: Annotated[list[StreamMode] | None, SeveralNames, Query(max_length=20)] = None,
    last_event_id: LastEventId = None,
) -> Response:
    after = parse_last_event_id(last_event_id) or 0
    run = await services.persistence.records.get_run(principal.owner, thread_id, run_id)
    return stream_run(
        services, principal, run, cancel_on_disconnect=cancel_on_disconnect, after=after, modes=stream_mode or None
    )


@router.post(
    "/threads/{thread_id}/runs/{run_id}/cancel",
    operation_id="cancel_run",
    summary="Cancel a run; 'rollback' also deletes what it did",
    status_code=202,
    response_class=Response,
    responses={202: {"description": "The run has been asked to stop"}, 204: {"description": "The run has ended"}},
)
async def cancel_run(
    thread_id: ThreadId,
    run_id: RunId,
    principal: Canceller,
    services: Given,
    wait: bool = False,
    action: CancelAction = "interrupt",
) -> Response:
    await services.engine.cancel(principal.owner, thread_id, [run_id], action=action, wait=wait, status=None)
    return nothing(204 if wait else 202)
