"""`/mcp`: assistants as tools, over MCP's streamable HTTP. See `server.bridges.mcp`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, cast

import orjson
from fastapi import APIRouter, Depends, Request
from starlette.requests import HTTPConnection
from starlette.responses import Response

from stepwell.errors import NotFoundError
from stepwell.server.login.principal import Principal
from stepwell.server.policy import Ask, RoutePolicy, StreamPolicy, ask_nothing, policy, stream_policy
from stepwell.server.responses import json_response, nothing
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.sse import EventStream, PatientJson

router = APIRouter(include_in_schema=False, route_class=JsonRoute)

_JSON, _STREAM, _ANY = "application/json", "text/event-stream", "*/*"
_PARSE_ERROR = -32700
_RETRY = b"retry: 15000\n"
"""After how many milliseconds a client that lost its stream comes back. Official clients try twice, by default after a second, which is
too early for a server that restarts."""


@dataclass(frozen=True)
class _CallPolicy(StreamPolicy):
    """Counts as an open stream only if the request calls a tool: an answer to a question must get through beside its call."""

    async def __call__(self, request: HTTPConnection) -> AsyncIterator[Principal]:
        if (await _message_of(cast("Request", request)) or {}).get("method") != "tools/call":
            yield await RoutePolicy(self.action, self.meaning)(request)
            return
        async with aclosing(cast("AsyncGenerator[Principal]", super().__call__(request))) as counted:
            async for principal in counted:
                yield principal


async def _meaning(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
    from stepwell.server.bridges.mcp import meanings

    return await meanings.of_message(request, principal, ask, await _message_of(cast("Request", request)) or {})


async def _place_meaning(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
    from stepwell.server.bridges.mcp.calls import read_place

    if not (last := request.headers.get("last-event-id")):
        return principal
    place = read_place(last)
    return await ask(principal, "runs:read", {"thread_id": place.thread_id, "run_id": place.run_id})


Caller = Annotated[Principal, Depends(_CallPolicy(policy("runs:create").action, _meaning))]
Reader = Annotated[Principal, Depends(stream_policy("runs:read", _place_meaning))]
Leaver = Annotated[Principal, Depends(policy("runs:read", ask_nothing))]


@router.post("/mcp", operation_id="mcp_post")
@router.post("/mcp/", operation_id="mcp_post_slash")
async def receive(request: Request, principal: Caller, services: Given) -> Response:
    from stepwell.server.bridges.mcp.calls import Call, cancel_call, take_reply
    from stepwell.server.bridges.mcp.messages import (
        INVALID_REQUEST,
        UNKNOWN_METHOD,
        RpcError,
        initialize,
        params_of,
        read_id,
        read_session,
        rpc_error,
        rpc_result,
    )
    from stepwell.server.bridges.mcp.tools import list_tools

    accepted = request.headers.get("accept", _ANY)
    streams = _STREAM in accepted or _ANY in accepted
    if not streams and _JSON not in accepted:
        return _refuse(rpc_error(None, INVALID_REQUEST, f"Send 'Accept: {_JSON}, {_STREAM}'."), 406)
    message = await _message_of(request)
    if message is None:
        told = "The body is one JSON-RPC message, an object. Send the messages of a batch one by one."
        return _refuse(rpc_error(None, _PARSE_ERROR, told), 400)
    message_id = None
    try:
        message_id, method, params = read_id(message), message.get("method"), params_of(message)
        if message.get("jsonrpc") != "2.0" or (method is None and message_id is None):
            raise RpcError(INVALID_REQUEST, "The body is not a JSON-RPC 2.0 message.")
        if method == "initialize" and message_id is not None:
            result, session_id = initialize(services, params)
            return json_response(rpc_result(message_id, result), headers={"Mcp-Session-Id": session_id})
        session = read_session(request.headers)
        if method is None:
            reply = message.get("result")
            await take_reply(services, principal, message_id, reply if isinstance(reply, Mapping) else None)
            return nothing(202)
        if message_id is None:
            if method == "notifications/cancelled":
                await cancel_call(services, principal, session, params.get("requestId"))
            return nothing(202)
        match method:
            case "ping":
                return json_response(rpc_result(message_id, {}))
            case "tools/list":
                return json_response(rpc_result(message_id, await list_tools(services, principal, params.get("cursor"))))
            case "tools/call":
                call = Call(services, principal, session, message_id, _progress_token(params))
                if not streams:
                    return PatientJson(_encoded(call, params, request.headers))
                return EventStream(_frames(call.messages(params, request.headers)), services.streams)
            case _:
                raise RpcError(UNKNOWN_METHOD, f"This server has tools, and no method '{str(method)[:100]}'.")
    except RpcError as error:
        status = 400 if error.code == INVALID_REQUEST else 200
        return _refuse(rpc_error(message_id, error.code, str(error)), status)


@router.get("/mcp", operation_id="mcp_get")
@router.get("/mcp/", operation_id="mcp_get_slash")
async def resume(request: Request, principal: Reader, services: Given) -> Response:
    """The rest of a call's stream. The server has nothing to say outside of calls, so without an event's id there is no stream."""
    from stepwell.server.bridges.mcp.calls import Call, read_place
    from stepwell.server.bridges.mcp.messages import RpcError, read_session, rpc_error
    from stepwell.server.bridges.turns import Turns

    last = request.headers.get("last-event-id")
    if not last:
        return nothing(405)
    try:
        session = read_session(request.headers)
    except RpcError as error:
        return _refuse(rpc_error(None, error.code, str(error)), 400)
    place = read_place(last)
    call = Call(services, principal, session, place.message_id, place.progress)
    try:
        turn = await Turns(services, principal).find(place.thread_id, place.run_id)
    except NotFoundError:  # clients wait for a message, whatever the status
        return EventStream(_frames(_only(call.deleted())), services.streams)
    return EventStream(_frames(call.follow(turn, place)), services.streams)


@router.delete("/mcp", operation_id="mcp_delete")
@router.delete("/mcp/", operation_id="mcp_delete_slash")
async def leave(principal: Leaver) -> Response:
    """The end of a session. Nothing was kept of it; its calls go on."""
    return nothing()


async def _message_of(request: Request) -> dict[str, Any] | None:
    try:
        message = await request.json()
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _progress_token(params: Mapping[str, Any]) -> str | int | None:
    from stepwell.server.bridges.mcp.messages import is_rpc_id

    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    return token if is_rpc_id(token) else None


async def _only(message: dict[str, Any]) -> AsyncGenerator[tuple[Any, dict[str, Any]]]:
    yield None, message


async def _encoded(call: Any, params: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
    return orjson.dumps(await call.result(params, headers))


async def _frames(messages: AsyncGenerator[tuple[Any, dict[str, Any]]]) -> AsyncGenerator[bytes, None]:
    head = _RETRY
    async with aclosing(messages) as told:
        async for place, message in told:
            named = b"id: %b\n" % place.encode().encode() if place else b""
            yield b"%b%bevent: message\ndata: %b\n\n" % (head, named, orjson.dumps(message) if message else b"")
            head = b""


def _refuse(message: dict[str, Any], status: int) -> Response:
    return json_response(message, status=status)
