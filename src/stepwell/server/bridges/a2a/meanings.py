"""What a call of A2A means for a project's auth handlers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import HTTPConnection

from stepwell.server.bridges.a2a import calls
from stepwell.server.bridges.a2a.faults import A2AFault
from stepwell.server.bridges.a2a.tasks import TaskId
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import Ask

_ACTIONS = {"GetTask": "runs:read", "SubscribeToTask": "runs:read", "CancelTask": "runs:cancel"}


async def of_call(request: HTTPConnection, principal: Principal, ask: Ask, body: bytes) -> Principal:
    """Asks about what a call does. What is wrong with it is said by the route, which then does nothing."""
    assistant_id = request.path_params["assistant_id"]
    try:
        call = calls.read_call(body, request.headers.get(calls.VERSION_HEADER))
    except calls.CallError:
        return await ask(principal, "assistants:read", {"assistant_id": assistant_id})
    if call.method in ("SendMessage", "SendStreamingMessage"):
        return await _send(request.app.state.services, principal, ask, assistant_id, call.params)
    principal = await ask(principal, "assistants:read", {"assistant_id": assistant_id})
    if call.method == "ListTasks":
        context = call.params.get("contextId")
        return await ask(principal, "threads:read" if context else "threads:search", {"thread_id": context} if context else {})
    if action := _ACTIONS.get(call.method):
        return await ask(principal, action, _place(call.params.get("id")))
    return principal


async def _send(services: Services, principal: Principal, ask: Ask, assistant_id: str, params: Mapping[str, Any]) -> Principal:
    """A run of the assistant; or of the one whose question the message answers."""
    message = params.get("message")
    message = message if isinstance(message, Mapping) else {}
    place = _place(message["taskId"]) if message.get("taskId") else {}
    thread_id = place.get("thread_id") or message.get("contextId")
    principal = await ask(principal, "runs:create", {"assistant_id": assistant_id, "thread_id": thread_id, "input": message})
    if isinstance(thread_id, str) and await services.persistence.open_interrupts(principal.owner, thread_id):
        principal = await ask(principal, "runs:create", {"thread_id": thread_id, "command": {"resume": message.get("parts")}})
    return principal


def _place(task_id: object) -> dict[str, Any]:
    try:
        found = TaskId.read(task_id)
    except A2AFault:
        return {"thread_id": None}
    return {"thread_id": found.thread_id, "run_id": found.run_id}
