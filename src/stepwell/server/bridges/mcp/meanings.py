"""What a message of MCP means for a project's auth handlers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import HTTPConnection

from stepwell.errors import StepwellError
from stepwell.server.bridges.mcp.calls import call_key
from stepwell.server.bridges.mcp.messages import RpcError, read_session
from stepwell.server.bridges.mcp.tools import THREAD_ID, find_tool
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import Ask
from stepwell.server.served_tools import ServedTool


async def of_message(request: HTTPConnection, principal: Principal, ask: Ask, message: Mapping[str, Any]) -> Principal:
    """Asks about what a message does. What is wrong with it is said by the route, which then does nothing."""
    services: Services = request.app.state.services
    params = message.get("params")
    params = params if isinstance(params, Mapping) else {}
    match message.get("method"):
        case "tools/list":
            return await ask(principal, "assistants:search")
        case "tools/call":
            return await _call(services, await ask(principal, "assistants:search"), ask, params)
        case "notifications/cancelled":
            return await _cancelled(request, services, principal, ask, params.get("requestId"))
        case None if isinstance(message_id := message.get("id"), str):
            # The answer to a question: it goes on with the assistant of the thread that the id names.
            return await ask(
                principal,
                "runs:create",
                {"thread_id": message_id.partition(":")[0], "command": {"resume": message.get("result")}},
            )
    return principal


async def _call(services: Services, principal: Principal, ask: Ask, params: Mapping[str, Any]) -> Principal:
    try:
        tool = await find_tool(services, principal, params.get("name"))
    except RpcError:
        return principal
    arguments = params.get("arguments")
    arguments = arguments if isinstance(arguments, Mapping) else {}
    if isinstance(tool, ServedTool):
        return await ask(principal, tool.action, arguments)
    given = {name: value for name, value in arguments.items() if name != THREAD_ID}
    fields = {"assistant_id": tool.assistant.assistant_id, "thread_id": arguments.get(THREAD_ID), "input": given}
    return await ask(principal, "runs:create", fields)


async def _cancelled(
    request: HTTPConnection, services: Services, principal: Principal, ask: Ask, message_id: object
) -> Principal:
    if not isinstance(message_id, str | int):
        return principal
    try:
        started = await services.engine.started_by(call_key(principal, read_session(request.headers), message_id))
    except (RpcError, StepwellError):
        return principal
    if started is None:
        return principal
    return await ask(principal, "runs:cancel", {"thread_id": started.run.thread_id, "run_id": started.run.run_id})
