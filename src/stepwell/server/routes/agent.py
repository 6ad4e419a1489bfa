"""The workspace's agent in one request, for clients that do not speak LangGraph's API: messages in, server-sent events out.

The events are those of the runs API. `Content-Location` names thread and run; with the thread's id, the next request goes on there,
or answers what the agent waits for: `{"thread_id": ..., "command": {"resume": {interrupt_id: answer}}}`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from stepwell.errors import InvalidRequestError, NotFoundError
from stepwell.runs.starting import RunOrder
from stepwell.server.assembly import Services
from stepwell.server.login.principal import Principal
from stepwell.server.policy import stream_policy
from stepwell.server.responses import SSE, stream_run
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.workspace import AgentRequest
from stepwell.server.workspace.place import Workspace

router = APIRouter(tags=["Workspace"], route_class=JsonRoute)

Creator = Annotated[Principal, Depends(stream_policy("runs:create"))]

STREAMED = ("messages-tuple", "updates")


@router.post("/api/agent", operation_id="ask_agent", summary="Ask the workspace's agent and follow it", responses=SSE)
async def ask_agent(body: AgentRequest, principal: Creator, services: Given) -> Response:
    workspace = workspace_of(services)
    if (body.messages is None) == (body.command is None):
        raise InvalidRequestError("Send 'messages', or with a thread_id a 'command' that answers what the agent waits for.")
    order = RunOrder(
        assistant_id=workspace.graph_id,
        thread_id=body.thread_id or services.new_id(),
        input={"messages": body.messages} if body.messages is not None else None,
        command=body.command.model_dump(exclude_none=True) if body.command else None,
        config=body.config.given() if body.config else {},
        stream_modes=STREAMED,
        stream_subgraphs=True,
        if_not_exists="create" if body.command is None else "reject",
    )
    admitted = await services.engine.start(principal.owner, order, principal.grants)
    return stream_run(services, principal, admitted.run, cancel_on_disconnect=False)


def workspace_of(services: Services) -> Workspace:
    """The workspace that is served; 404 where none is."""
    found = services.workspace
    if found is None or found.graph_id not in services.registry.names:
        served = ", ".join(sorted(services.registry.names)) or "none"
        raise NotFoundError("graph", "workspace", f"It is not served here, and these routes need it. Served are: {served}.")
    return found
