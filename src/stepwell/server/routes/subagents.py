"""A thread's subagents: their tasks, and what was said in each. Read-only."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routes.conversation import parse_cursor
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import ThreadId
from stepwell.server.schemas.subagents import SubAgentMessagesResponse, SubAgentsResponse, task_wire

router = APIRouter(tags=["Threads"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("threads:read"))]
Cursor = Annotated[str | None, Query(min_length=1, max_length=256)]
Some = Annotated[int, Query(ge=1, le=200)]
TaskId = Annotated[str, Path(min_length=1, max_length=256)]


@router.get(
    "/threads/{thread_id}/subagents",
    operation_id="get_thread_subagents",
    summary="List the tasks that the thread's agent gave to subagents, newest first",
    responses={200: {"model": SubAgentsResponse}},
)
async def get_subagents(
    thread_id: ThreadId, principal: Reader, services: Given, limit: Some = 50, before: Cursor = None
) -> Response:
    found, further = await services.threads.subagents.list(principal.owner, thread_id, before=before, limit=limit)
    return json_response({"subagents": [task_wire(each) for each in found], "next": further})


@router.get(
    "/threads/{thread_id}/subagents/{task_id}/messages",
    operation_id="get_subagent_messages",
    summary="List a subagent's messages, newest first",
    responses={200: {"model": SubAgentMessagesResponse}},
)
async def get_subagent_messages(
    thread_id: ThreadId, task_id: TaskId, principal: Reader, services: Given, limit: Some = 50, before: Cursor = None
) -> Response:
    task, page = await services.threads.subagents.messages(
        principal.owner, thread_id, task_id, before=parse_cursor(before, "before"), limit=limit
    )
    further = None if page.before is None else str(page.before)
    about = {"task_id": task.task_id, "name": task.name, "status": task.status}
    read = {"messages": page.messages, "total": page.total, "next": further, "checkpoint_id": page.checkpoint_id}
    return json_response({**about, **read})
