"""A thread as a web page shows it, piece by piece: messages, turns and branches, steps, open interrupts, cost.

Everything here is read-only, and reads no more than the requested page.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from stepwell.errors import InvalidRequestError
from stepwell.models.window import context_window_of
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import policy
from stepwell.server.responses import json_response, note_shown
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.conversation import (
    MessagesResponse,
    StepsResponse,
    ThreadUsageResponse,
    TurnsResponse,
    WaitingPage,
    step_wire,
    turn_wire,
    usage_wire,
    waiting_wire,
)
from stepwell.server.schemas.fields import MAX_PAGE, ThreadId, Uuid

router = APIRouter(tags=["Threads"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("threads:read"))]
Searcher = Annotated[Principal, Depends(policy("threads:search"))]
Cursor = Annotated[str | None, Query(min_length=1, max_length=256)]
Some = Annotated[int, Query(ge=1, le=200)]
WholeTurns = Annotated[
    bool,
    Query(
        description="Go beyond `limit`, by at most 100 messages, so that the page begins with the message of the user that led to it"
    ),
]
Many = Annotated[int, Query(ge=1, le=MAX_PAGE)]
LongestText = Annotated[
    int | None,
    Query(
        ge=1,
        le=1_000_000,
        description="Cut longer texts in payloads, for a list. Payloads that a device carries out stay whole",
    ),
]


@router.get(
    "/threads/{thread_id}/messages",
    operation_id="get_thread_messages",
    summary="List the thread's messages, newest first, now or at a checkpoint",
    responses={200: {"model": MessagesResponse}},
)
async def get_messages(
    thread_id: ThreadId,
    principal: Reader,
    services: Given,
    limit: Some = 50,
    before: Cursor = None,
    checkpoint_id: Cursor = None,
    whole_turns: WholeTurns = False,
) -> Response:
    page = await services.threads.messages(
        principal.owner,
        thread_id,
        checkpoint_id=checkpoint_id,
        before=parse_cursor(before, "before"),
        limit=limit,
        whole_turns=whole_turns,
    )
    further = None if page.before is None else str(page.before)
    found = {"messages": page.messages, "total": page.total, "next": further, "checkpoint_id": page.checkpoint_id}
    return json_response(found)


@router.get(
    "/threads/{thread_id}/turns",
    operation_id="get_thread_turns",
    summary="List the thread's turns, newest first, with its branches and where to fork",
    responses={200: {"model": TurnsResponse}},
)
async def get_turns(
    thread_id: ThreadId, principal: Reader, services: Given, limit: Some = 50, before: Cursor = None
) -> Response:
    found = await services.persistence.records.turns(
        principal.owner, thread_id, before=parse_cursor(before, "before"), limit=limit
    )
    further = str(found.turns[-1].cursor) if found.more else None
    return json_response({"turns": [turn_wire(turn) for turn in found.turns], "next": further, "head": found.head})


@router.get(
    "/threads/{thread_id}/steps",
    operation_id="get_thread_steps",
    summary="List the models, tools, subagents and nodes that ran on the thread, with times, tokens and cost",
    responses={200: {"model": StepsResponse}},
)
async def get_steps(
    thread_id: ThreadId,
    principal: Reader,
    services: Given,
    run_id: Annotated[Uuid | None, Query()] = None,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Many = 200,
) -> Response:
    steps = await services.persistence.records.steps(principal.owner, thread_id, run_id=run_id, after=after, limit=limit + 1)
    further = steps[limit - 1].number if len(steps) > limit else None
    return json_response({"steps": [step_wire(step) for step in steps[:limit]], "next": further})


@router.get(
    "/threads/{thread_id}/usage",
    operation_id="get_thread_usage",
    summary="The thread's model usage so far, and how full the context is",
    responses={200: {"model": ThreadUsageResponse}},
)
async def get_thread_usage(thread_id: ThreadId, principal: Reader, services: Given) -> Response:
    used = await services.persistence.records.thread_usage(principal.owner, thread_id)
    window = None if used.context_model is None else await asyncio.to_thread(context_window_of, used.context_model)
    return json_response(usage_wire(used, window))


@router.get(
    "/threads/{thread_id}/interrupts",
    operation_id="get_thread_interrupts",
    summary="List the thread's open interrupts, oldest first",
    responses={200: {"model": WaitingPage}},
)
async def get_thread_interrupts(
    thread_id: ThreadId, principal: Reader, services: Given, limit: Many = 100, after: Cursor = None
) -> Response:
    return await _waiting(services, principal, thread_id, limit, after)


@router.get(
    "/interrupts",
    operation_id="get_interrupts",
    summary="List the open interrupts on all your threads, oldest first",
    responses={200: {"model": WaitingPage}},
)
async def get_interrupts(
    principal: Searcher, services: Given, limit: Many = 100, after: Cursor = None, longest_text: LongestText = None
) -> Response:
    return await _waiting(services, principal, None, limit, after, longest_text)


async def _waiting(
    services: Services,
    principal: Principal,
    thread_id: str | None,
    limit: int,
    after: str | None,
    longest_text: int | None = None,
) -> Response:
    records = services.persistence.records
    found = await records.waiting(principal.owner, thread_id=thread_id, after=after, limit=limit + 1)
    total = await records.count_waiting(principal.owner, thread_id=thread_id)
    further = found[limit - 1].cursor if len(found) > limit else None
    if thread_id is not None:
        await note_shown(services, thread_id, (each.question.interrupt_id for each in found[:limit]))
    shown = [waiting_wire(each, longest_text) for each in found[:limit]]
    return json_response({"interrupts": shown, "next": further, "total": total})


def parse_cursor(cursor: str | None, name: str) -> int | None:
    """The number in a cursor of a page of messages or turns."""
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 15:
        raise InvalidRequestError(f"'{name}' is not a valid cursor. Send the 'next' of the previous page.")
    return int(cursor)
