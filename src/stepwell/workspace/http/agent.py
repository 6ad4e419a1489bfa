"""The workspace's agent for clients that do not use LangGraph's API: one route, messages in, server-sent events out.

A façade over runs of an assistant, by name. The events are those of `POST /threads/{thread_id}/runs/stream`, subagents' included; the
headers name thread and run, so that a client can continue with either API.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import HTTPConnection
from starlette.responses import Response

from stepwell.errors import InvalidRequestError, NotFoundError
from stepwell.server.login.principal import Principal
from stepwell.server.policy import Ask, sent_object, stream_policy
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import SSE, stream_run
from stepwell.server.routing import Given, JsonRoute
from stepwell.workspace.http.agent_schemas import AgentQuestion, agent_order_of

router = APIRouter(tags=["Workspace"], route_class=JsonRoute)

ASSISTANT = "workspace"


async def _meaning(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
    body = await sent_object(request)
    return await ask(principal, "runs:create", {**body, "assistant_id": body.get("assistant_id") or ASSISTANT})


Creator = Annotated[Principal, Depends(stream_policy("runs:create", _meaning))]


@router.post("/api/agent", operation_id="ask_agent", summary="Ask the workspace's agent and stream its events", responses=SSE)
async def ask_agent(body: AgentQuestion, principal: Creator, services: Given, key: OnceKey) -> Response:
    if body.assistant_id is None and ASSISTANT not in services.registry.names:
        served = ", ".join(sorted(services.registry.names)) or "none"
        raise NotFoundError(
            "graph", ASSISTANT, f"This server does not serve it; send another one as assistant_id. Served: {served}."
        )
    if bool(body.messages) == bool(body.command):
        raise InvalidRequestError("Send either 'messages' for the agent, or a 'command' that answers an interrupt.")
    if body.command and body.thread_id is None:
        raise InvalidRequestError("A 'command' answers a thread's interrupt. Send the thread's id as 'thread_id'.")
    order = agent_order_of(body, ASSISTANT, body.thread_id or services.new_id())
    admitted = await services.engine.start(principal.owner, order, principal.grants, key.of(principal))
    return stream_run(services, principal, admitted.run, cancel_on_disconnect=False)
