"""LangGraph's thread streams: commands to a thread, and a filtered stream of its runs' events. See `server.protocol`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, WebSocket
from starlette.requests import HTTPConnection
from starlette.responses import Response

from stepwell.server.login.principal import Principal
from stepwell.server.policy import Ask, policy, sent_object, stream_policy
from stepwell.server.problems import problem
from stepwell.server.protocol.bodies import CommandResponse, EventsQuery, ThreadCommand
from stepwell.server.protocol.commands import ask_about, carry_out, refuse_disabled
from stepwell.server.protocol.following import find_beginning, protocol_frames
from stepwell.server.protocol.socket import ThreadSocket
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import SSE, json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import ThreadId
from stepwell.server.sse import EventStream

router = APIRouter(tags=["Thread streams"], route_class=JsonRoute)


async def _meaning(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
    sent = await sent_object(request)
    return await ask_about(principal, ask, request.path_params["thread_id"], sent.get("method"), sent.get("params"))


Creator = Annotated[Principal, Depends(policy("runs:create", _meaning))]
Reader = Annotated[Principal, Depends(policy("threads:read"))]
StreamReader = Annotated[Principal, Depends(stream_policy("threads:read"))]

_A_SOCKET: dict[int | str, dict[str, Any]] = {426: {"description": "A websocket is expected here"}}


@router.post(
    "/threads/{thread_id}/commands",
    operation_id="send_thread_command",
    summary="Send a command to a thread: start a run, answer an interrupt, read or fork its state",
    responses={200: {"model": CommandResponse}},
)
async def send_command(
    thread_id: ThreadId, body: ThreadCommand, principal: Creator, services: Given, key: OnceKey, request: Request
) -> Response:
    refuse_disabled(request, body)
    return json_response(await carry_out(services, principal, thread_id, body, key.of(principal)))


@router.post(
    "/threads/{thread_id}/stream/events",
    operation_id="stream_thread_events",
    summary="Stream the events of a thread's runs, filtered, from the newest run or after 'since'",
    responses=SSE,
)
async def stream_events(thread_id: ThreadId, body: EventsQuery, principal: StreamReader, services: Given) -> Response:
    thread = await services.threads.get(principal.owner, thread_id, with_values=False)
    subscription, after = body.subscription(), body.since
    if after is None:
        after = await find_beginning(services.persistence, thread, subscription, services.clock.now())
    batches = services.engine.thread_events(principal.owner, thread_id, after=after)
    return EventStream(protocol_frames(batches, subscription, services.clock), services.streams)


@router.websocket("/threads/{thread_id}/stream/events")
async def open_socket(websocket: WebSocket, thread_id: ThreadId, principal: StreamReader) -> None:
    """Commands and events of a thread in one connection; every command is authorized by itself."""
    await ThreadSocket(websocket, websocket.app.state.services, principal, thread_id).serve()


@router.get(
    "/threads/{thread_id}/stream/events",
    operation_id="stream_thread_events_by_websocket",
    summary="The address of the websocket; a plain request is refused",
    status_code=426,
    responses=_A_SOCKET,
)
async def refuse_plain_request(thread_id: ThreadId, principal: Reader) -> Response:
    detail = "Open a websocket here, or POST to this address for server-sent events, which is the default of LangGraph's SDKs."
    return problem(426, "websocket-expected", "A websocket is expected", detail, headers={"Upgrade": "websocket"})
