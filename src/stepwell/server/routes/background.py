"""Background tasks of a thread: what its subagents do on threads of their own. An answer to a task's question, or a message to it, goes to
the task's own thread."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.background import TaskResponse, TasksResponse, task_wire
from stepwell.server.schemas.fields import PathUuid, ThreadId

router = APIRouter(tags=["Background tasks"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("threads:read"))]
Canceller = Annotated[Principal, Depends(policy("runs:cancel"))]


@router.get(
    "/threads/{thread_id}/background-tasks",
    operation_id="list_background_tasks",
    summary="List the thread's background tasks",
    responses={200: {"model": TasksResponse}},
)
async def list_background_tasks(thread_id: ThreadId, principal: Reader, services: Given) -> Response:
    tasks = await services.persistence.records.background_tasks(principal.owner, thread_id)
    return json_response({"tasks": [task_wire(task) for task in tasks]})


@router.get(
    "/threads/{thread_id}/background-tasks/{task_id}",
    operation_id="get_background_task",
    summary="Get a background task with its answer",
    responses={200: {"model": TaskResponse}},
)
async def get_background_task(thread_id: ThreadId, task_id: PathUuid, principal: Reader, services: Given) -> Response:
    return json_response(task_wire(await services.persistence.records.background_task(principal.owner, thread_id, task_id)))


@router.post(
    "/threads/{thread_id}/background-tasks/{task_id}/cancel",
    operation_id="cancel_background_task",
    summary="Stop a background task",
    responses={200: {"model": TaskResponse}},
)
async def cancel_background_task(thread_id: ThreadId, task_id: PathUuid, principal: Canceller, services: Given) -> Response:
    return json_response(task_wire(await services.engine.cancel_task(principal.owner, thread_id, task_id)))
