"""`/v1`: assistants as models of an OpenAI-compatible endpoint. See `server.bridges.openai`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from starlette.requests import HTTPConnection
from starlette.responses import Response

from stepwell.errors import StepwellError
from stepwell.server.bridges.openai.errors import NO_RETRY
from stepwell.server.bridges.openai.requests import ChatRequest, chat_models, find_model, read_conversation
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import Ask, policy, sent_object, stream_policy
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import json_response, run_headers
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.run_headers import late_headers
from stepwell.server.sse import EventStream, PatientJson

router = APIRouter(include_in_schema=False, route_class=JsonRoute)


async def _meaning(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
    """A run of the assistant that the model's name means; or of the one whose question the last message answers."""
    services: Services = request.app.state.services
    principal = await ask(principal, "assistants:search")
    try:
        body = ChatRequest.model_validate(await sent_object(request))
        conversation = await read_conversation(services, principal, body, request.headers)
    except (ValidationError, StepwellError):  # the route says what is wrong
        return principal
    thread_id, given = conversation.thread_id, {"messages": list(conversation.messages)}
    fields = {"assistant_id": conversation.assistant_id, "thread_id": thread_id, "input": given}
    principal = await ask(principal, "runs:create", fields)
    asking = thread_id or conversation.waiting_id
    if asking and await services.persistence.open_interrupts(principal.owner, asking):
        principal = await ask(principal, "runs:create", {"thread_id": asking, "command": {"resume": conversation.last}})
    return principal


Reader = Annotated[Principal, Depends(policy("assistants:search"))]
Creator = Annotated[Principal, Depends(stream_policy("runs:create", _meaning))]


@router.get("/v1/models", operation_id="openai_list_models")
async def list_models(principal: Reader, services: Given) -> Response:
    return json_response({"object": "list", "data": [_model(each) for each in await chat_models(services, principal)]})


@router.get("/v1/models/{model:path}", operation_id="openai_get_model")
async def get_model(model: str, principal: Reader, services: Given) -> Response:
    return json_response(_model(await find_model(services, principal, model)))


@router.post("/v1/chat/completions", operation_id="openai_chat_completion")
async def complete(body: ChatRequest, request: Request, principal: Creator, services: Given, key: OnceKey) -> Response:
    from stepwell.server.bridges.openai.completions import AskedAgain, Completion, begin
    from stepwell.server.bridges.turns import Turns

    conversation = await read_conversation(services, principal, body, request.headers)
    begun = await begin(Turns(services, principal), conversation, request.headers, key.of(principal))
    # A request that is sent again with its key finds the same run, and gets the same completion.
    name, since = (
        (services.new_id(), services.clock.now()) if isinstance(begun, AskedAgain) else (begun.run.run_id, begun.run.created_at)
    )
    completion = Completion(body, conversation.tool_names, f"chatcmpl-{name}", int(since.timestamp()))
    if isinstance(begun, AskedAgain):
        if body.stream:
            return EventStream(completion.chunks_asked_again(begun), services.streams)
        return Response(completion.asked_again(begun), media_type="application/json")
    # A request with a key may be sent again after a lost connection, and then wants the answer.
    on_gone = None if key.key else begun.stop
    headers = run_headers(begun.run)
    for addition in begun.additions:
        headers |= addition.headers
    if body.stream:
        return EventStream(completion.chunks(begun), services.streams, headers=headers, on_gone=on_gone)

    async def at_the_end() -> dict[str, str]:
        """The status is known together with the answer. A client must not send a request again whose run has failed."""
        response.status_code = completion.status
        return {**await late_headers(services, begun.run, begun.additions), **(NO_RETRY if completion.status >= 500 else {})}

    response = PatientJson(completion.whole(begun), headers=headers, on_gone=on_gone, late_headers=at_the_end)
    return response


def _model(named: Any) -> dict[str, Any]:
    assistant = named.assistant
    created = int(assistant.created_at.timestamp())
    described = {"name": assistant.name, **({"description": assistant.description} if assistant.description else {})}
    return {"id": named.name, "object": "model", "created": created, "owned_by": "stepwell", **described}
