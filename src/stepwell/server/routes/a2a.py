"""A2A 1.0: `POST /a2a/{assistant}` takes JSON-RPC, and agent cards say where that is. The protocol itself is `server.bridges.a2a`.

Of these routes only the endpoint is in our OpenAPI document, without the contents: the protocol has a description of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC
from email.utils import format_datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Request
from starlette.requests import HTTPConnection
from starlette.responses import Response

from stepwell.database.types import Assistant
from stepwell.errors import NotFoundError, StepwellError
from stepwell.server.addresses import address_of
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import Ask, policy, stream_policy
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import json_response
from stepwell.server.routing import Given
from stepwell.server.sse import EventStream, PatientJson, data_frame
from stepwell.state.wire import encode

router = APIRouter(tags=["A2A"])


async def _meaning(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
    from stepwell.server.bridges.a2a import meanings

    return await meanings.of_call(request, principal, ask, await cast("Request", request).body())


async def _default_meaning(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
    named = request.query_params.get("assistant_id") or _first_graph(request.app.state.services)
    return await ask(principal, "assistants:read", {"assistant_id": named})


Caller = Annotated[Principal, Depends(stream_policy("runs:create", _meaning))]
Reader = Annotated[Principal, Depends(policy("assistants:read"))]
DefaultReader = Annotated[Principal, Depends(policy("assistants:read", _default_meaning))]
_CARD = ".well-known/agent-card.json"
_REQUEST = {
    "type": "object",
    "required": ["jsonrpc", "method"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer", "null"]},
        "method": {
            "type": "string",
            "description": "Such as SendMessage, SendStreamingMessage, GetTask, CancelTask, ListTasks",
        },
        "params": {"type": "object"},
    },
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A response of JSON-RPC with `result` or `error`; a stream of them for streaming methods",
        "content": {"application/json": {"schema": {}}, "text/event-stream": {"schema": {}}},
    }
}


@router.post(
    "/a2a/{assistant_id}",
    operation_id="call_agent",
    summary="Talk to an assistant, named by its id or graph, in A2A 1.0 (JSON-RPC)",
    responses=_ANSWERS,
    openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": _REQUEST}}}},
)
@router.post("/a2a/{assistant_id}/", include_in_schema=False)  # some clients add a slash to every address
async def call_agent(assistant_id: str, request: Request, principal: Caller, services: Given, key: OnceKey) -> Response:
    from stepwell.server.bridges.a2a import calls
    from stepwell.server.bridges.a2a.methods import Methods
    from stepwell.server.bridges.turns import Turns

    assistant = await services.assistants.get(principal.owner, assistant_id)
    try:
        call = calls.read_call(await request.body(), request.headers.get(calls.VERSION_HEADER))
    except calls.CallError as error:
        return json_response(calls.refuse(error.call_id, error.fault))
    methods = Methods(Turns(services, principal), assistant, request.headers, key.of(principal))
    try:
        match call.method:
            case "SendMessage":
                return PatientJson(_wait(call, methods.send(call.params)))
            case "SendStreamingMessage":
                return _stream(call, await methods.stream(call.params), services)
            case "SubscribeToTask":
                return _stream(call, await methods.subscribe(call.params), services)
            case "GetTask":
                result = await methods.get(call.params)
            case "ListTasks":
                result = await methods.list_tasks(call.params)
            case "CancelTask":
                result = await methods.cancel(call.params)
            case _:
                result = await _card(assistant, request, services, principal)
    except StepwellError as error:
        return json_response(calls.refuse(call.id, _fault(error)))
    return json_response(calls.answer(call.id, result))


@router.get(f"/a2a/{{assistant_id}}/{_CARD}", include_in_schema=False)
async def read_card(assistant_id: str, request: Request, principal: Reader, services: Given) -> Response:
    assistant = await services.assistants.get(principal.owner, assistant_id)
    return _show_card(await _card(assistant, request, services, principal), assistant, request)


@router.get(f"/{_CARD}", include_in_schema=False)
async def read_default_card(
    request: Request, principal: DefaultReader, services: Given, assistant_id: str | None = None
) -> Response:
    """The card of the assistant that the query names, or of the first graph that is served."""
    if assistant_id is None:
        assistant_id = _first_graph(services)
    assistant = await services.assistants.get(principal.owner, assistant_id)
    return _show_card(await _card(assistant, request, services, principal), assistant, request)


def _show_card(card: dict[str, Any], assistant: Assistant, request: Request) -> Response:
    """The card, which a client may keep for a while. It depends on who asks, so nobody else's cache may."""
    body = encode(card)
    headers = {
        "Cache-Control": "private, max-age=300",
        "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "Last-Modified": format_datetime(assistant.updated_at.astimezone(UTC), usegmt=True),
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def _first_graph(services: Services) -> str:
    demos = set(services.registry.demos)
    names = [name for name in services.registry.names if name not in demos] or services.registry.names
    if not names:
        raise NotFoundError("agent", "default", "This server serves no graph.")
    return names[0]


async def _card(assistant: Assistant, request: Request, services: Services, principal: Principal) -> dict[str, Any]:
    from stepwell.server.bridges.a2a.card import make_card

    settings, owner = services.parts.settings, principal.owner
    fields = await services.registry.input_fields(assistant.graph_id, owner, services.persistence.store(owner))
    takes_messages = fields is None or "messages" in fields
    return make_card(assistant, address_of(request, settings.public_url), settings, takes_messages=takes_messages)


async def _wait(call: Any, work: Any) -> bytes:
    from stepwell.server.bridges.a2a import calls

    try:
        return encode(calls.answer(call.id, await work))
    except StepwellError as error:
        return encode(calls.refuse(call.id, _fault(error)))


def _stream(call: Any, events: AsyncGenerator[dict[str, Any]], services: Services) -> Response:
    from stepwell.server.bridges.a2a import calls

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            async with aclosing(events) as arriving:
                async for event in arriving:
                    yield data_frame(encode(calls.answer(call.id, event)))
        except StepwellError as error:  # such as: somebody deletes the conversation meanwhile
            yield data_frame(encode(calls.refuse(call.id, _fault(error))))

    return EventStream(pieces(), services.streams)


def _fault(error: StepwellError) -> Any:
    """The error as one of A2A; others are raised again, and become a response of HTTP."""
    from stepwell.server.bridges.a2a.calls import fault_of

    fault = fault_of(error)
    if fault is None:
        raise error
    return fault
