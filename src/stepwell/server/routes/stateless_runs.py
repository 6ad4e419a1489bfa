"""Runs with their own new thread, batches of runs, and cancelling several runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends
from pydantic import Field
from starlette.responses import Response

from stepwell.database.types import CancelAction
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy, stream_policy
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import (
    RESULT,
    SSE,
    await_run,
    cancels_on_disconnect,
    json_response,
    nothing,
    show_run,
    stream_run,
)
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.run_headers import STARTS_RUN, SentHeaders, take_headers
from stepwell.server.schemas.runs import BatchRun, CancelMany, RunCreate, RunResponse, run_order_of, run_wire

router = APIRouter(tags=["Stateless runs"], route_class=JsonRoute)

Creator = Annotated[Principal, Depends(policy("runs:create"))]
StreamCreator = Annotated[Principal, Depends(stream_policy("runs:create"))]
Canceller = Annotated[Principal, Depends(policy("runs:cancel"))]
MAX_BATCH = 100


@router.post(
    "/runs",
    operation_id="create_stateless_run",
    summary="Start a run on a new thread",
    responses={200: {"model": RunResponse}},
)
async def create_run(body: RunCreate, principal: Creator, services: Given, key: OnceKey) -> Response:
    order = run_order_of(body, None)
    return show_run((await services.engine.start(principal.owner, order, principal.grants, key.of(principal))).run)


@router.post(
    "/runs/stream",
    operation_id="stream_stateless_run",
    summary="Start a run on a new thread and stream its events",
    responses=SSE,
    openapi_extra=STARTS_RUN,
)
async def create_run_stream(
    body: RunCreate, principal: StreamCreator, services: Given, headers: SentHeaders, key: OnceKey
) -> Response:
    order, additions = await take_headers(services, principal, headers, run_order_of(body, None))
    admitted = await services.engine.start(principal.owner, order, principal.grants, key.of(principal))
    return stream_run(services, principal, admitted.run, cancel_on_disconnect=cancels_on_disconnect(body), additions=additions)


@router.post(
    "/runs/wait",
    operation_id="wait_stateless_run",
    summary="Start a run on a new thread and wait for its final values",
    responses=RESULT,
    openapi_extra=STARTS_RUN,
)
async def create_run_wait(body: RunCreate, principal: Creator, services: Given, headers: SentHeaders, key: OnceKey) -> Response:
    order, additions = await take_headers(services, principal, headers, run_order_of(body, None))
    admitted = await services.engine.start(principal.owner, order, principal.grants, key.of(principal))
    return await_run(services, principal, admitted.run, cancel_on_disconnect=cancels_on_disconnect(body), additions=additions)


@router.post(
    "/runs/batch",
    operation_id="create_run_batch",
    summary="Start several runs: all of them or none",
    responses={200: {"model": list[RunResponse]}},
)
async def create_batch(
    body: Annotated[list[BatchRun], Body(), Field(min_length=1, max_length=MAX_BATCH)],
    principal: Creator,
    services: Given,
    key: OnceKey,
) -> Response:
    admitted = await services.engine.start_many(
        principal.owner, [run_order_of(run, run.thread_id) for run in body], principal.grants, key.of(principal)
    )
    return json_response([run_wire(each.run) for each in admitted])


@router.post(
    "/runs/cancel",
    operation_id="cancel_runs",
    summary="Cancel several runs: by id, or all with a given status",
    status_code=204,
)
async def cancel_runs(body: CancelMany, principal: Canceller, services: Given, action: CancelAction = "interrupt") -> Response:
    await services.engine.cancel(principal.owner, body.thread_id, body.run_ids, action=action, wait=False, status=body.status)
    return nothing()
