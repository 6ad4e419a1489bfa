"""Messages to a run that works: they enter before its next model call."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from stepwell.runs.side_questions import ask_aside
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response, nothing
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import RunId, ThreadId
from stepwell.server.schemas.steering import (
    SideQuestionCreate,
    SideQuestionResponse,
    SteeringCreate,
    SteeringResponse,
    WaitingMessages,
    message_of,
    sent_wire,
    waiting_messages_wire,
)

router = APIRouter(tags=["Runs"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("runs:read"))]
Creator = Annotated[Principal, Depends(policy("runs:create"))]
MessageId = Annotated[str, Path(min_length=1, max_length=256)]


@router.post(
    "/threads/{thread_id}/runs/{run_id}/messages",
    operation_id="steer_run",
    summary="Send a message to a run that works; it enters before the run's next model call",
    status_code=202,
    responses={202: {"model": SteeringResponse}},
)
async def steer_run(thread_id: ThreadId, run_id: RunId, body: SteeringCreate, principal: Creator, services: Given) -> Response:
    sent = await services.engine.steer(principal.owner, thread_id, run_id, message_of(body), principal.grants)
    return json_response(sent_wire(thread_id, sent), status=202)


@router.post(
    "/threads/{thread_id}/side-question",
    operation_id="ask_side_question",
    summary="Ask something about the conversation: one model call without tools, of which the thread keeps nothing",
    responses={200: {"model": SideQuestionResponse}},
)
async def ask_side_question(thread_id: ThreadId, body: SideQuestionCreate, principal: Creator, services: Given) -> Response:
    said = await ask_aside(services.engine, services.threads, principal.owner, thread_id, body.question, principal.grants)
    return json_response({"answer": said.answer, "run_id": said.run_id})


@router.get(
    "/threads/{thread_id}/waiting-messages",
    operation_id="list_waiting_messages",
    summary="List the messages that the thread's runs have not taken yet",
    responses={200: {"model": WaitingMessages}},
)
async def list_waiting_messages(thread_id: ThreadId, principal: Reader, services: Given) -> Response:
    messages = await services.persistence.records.list_waiting_messages(principal.owner, thread_id)
    return json_response(waiting_messages_wire(thread_id, messages))


@router.delete(
    "/threads/{thread_id}/waiting-messages/{message_id}",
    operation_id="withdraw_message",
    summary="Withdraw a message that waits",
    status_code=204,
)
async def withdraw_message(thread_id: ThreadId, message_id: MessageId, principal: Creator, services: Given) -> Response:
    await services.persistence.records.withdraw_message(principal.owner, thread_id, message_id)
    return nothing()
