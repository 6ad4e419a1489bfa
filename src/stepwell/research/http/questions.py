"""Research for clients that do not use LangGraph's API: ask, follow, answer. A façade over runs of the research graph.

A run continues when its client disconnects. `GET /api/research/{threadId}/stream` replays it, or resumes after Last-Event-ID, even after
a restart: the events are in the journal. Sending the same answer again rejoins the run that accepted it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.requests import HTTPConnection
from starlette.responses import Response

from stepwell.database.queue.types import Admitted
from stepwell.database.records.types import Page
from stepwell.database.types import PendingInterrupt, RequestKey, Run, Thread
from stepwell.errors import InvalidRequestError, NotFoundError, ResumeError
from stepwell.research.graph.facade import GRAPH, make_answer, make_input
from stepwell.research.http.following import events_of, messages, require_research, runs_of_question
from stepwell.research.http.question_schemas import ResearchAnswer, ResearchQuestion
from stepwell.runs.starting import RunOrder
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import Ask, sent_object, stream_policy
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import SSE, LastEventId, parse_last_event_id, run_headers
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import ThreadId
from stepwell.server.sse import EventStream

router = APIRouter(tags=["Research"], route_class=JsonRoute)


async def _meaning(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
    return await ask(principal, "runs:create", {**await sent_object(request), "assistant_id": GRAPH})


Creator = Annotated[Principal, Depends(stream_policy("runs:create", _meaning))]
Answerer = Annotated[Principal, Depends(stream_policy("runs:create"))]
Reader = Annotated[Principal, Depends(stream_policy("runs:read"))]


async def _served(services: Given) -> Services:
    await require_research(services)
    return services


Served = Annotated[Services, Depends(_served)]
"""The services of a server that serves research."""

STREAMED = ("updates",)
_PAUSING_S = 5.0
"""A run reports an interrupt shortly before it ends. So an answer that names no interrupt waits for that end, at most this many seconds."""


@router.post("/api/research", operation_id="research", summary="Research a question and stream its events", responses=SSE)
async def research(body: ResearchQuestion, principal: Creator, services: Served, sent: OnceKey) -> Response:
    key = sent.of(principal)
    if before := await services.engine.started_by(key):
        return _stream(services, principal, [before.run])
    if body.thread_id is not None:
        await _require_fitting_thread(services, principal, body.thread_id)
    order = RunOrder(
        assistant_id=GRAPH,
        thread_id=body.thread_id or services.new_id(),
        input=make_input(body.fields()),
        stream_modes=STREAMED,
        multitask_strategy="interrupt",
        if_not_exists="create",
    )
    admitted = await services.engine.start(principal.owner, order, principal.grants, key)
    return _stream(services, principal, [admitted.run])


@router.post(
    "/api/research/approve",
    operation_id="approve_research",
    summary="Answer a research's open interrupt and stream its events",
    responses=SSE,
)
async def approve_research(body: ResearchAnswer, principal: Answerer, services: Served, sent: OnceKey) -> Response:
    key = sent.of(principal)
    # A repeated request gets the run that it started, because by now another interrupt may be open on the thread.
    admitted = await services.engine.started_by(key) or await _answer(services, principal, body, key)
    chain = await runs_of_question(services, principal, body.thread_id)
    ids = [run.run_id for run in chain]
    earlier = chain[: ids.index(admitted.run.run_id)] if admitted.run.run_id in ids else []
    return _stream(services, principal, [*earlier, admitted.run], only=admitted.run.run_id)


@router.get(
    "/api/research/{threadId}/stream",
    operation_id="join_research",
    summary="Stream the events of a thread's newest question, from the start or after Last-Event-ID, even if it has ended",
    responses=SSE,
)
async def join_research(
    thread_id: Annotated[ThreadId, Path(alias="threadId")],
    principal: Reader,
    services: Served,
    last_event_id: LastEventId = None,
) -> Response:
    after = parse_last_event_id(last_event_id) or 0
    runs = await runs_of_question(services, principal, thread_id)
    return _stream(services, principal, runs, after)


def _stream(
    services: Services,
    principal: Principal,
    runs: Sequence[Run],
    after: int = 0,
    only: str | None = None,
) -> Response:
    newest = runs[-1]
    headers = {**run_headers(newest), "Location": f"/api/research/{newest.thread_id}/stream"}
    pieces = messages(events_of(services, principal, runs), after, only)
    return EventStream(pieces, services.streams, headers=headers)


async def _require_fitting_thread(services: Services, principal: Principal, thread_id: str) -> None:
    """Reject a thread of another graph, whose state the research graph cannot read. A thread that does not exist is fine, because it will
    be created."""
    try:
        thread = await services.threads.get(principal.owner, thread_id, with_values=False)
    except NotFoundError:
        return
    if (graph_id := thread.metadata.get("graph_id", GRAPH)) != GRAPH:
        raise InvalidRequestError(
            f"The thread '{thread_id}' belongs to the graph '{graph_id}'. Leave threadId out for a new thread."
        )


async def _answer(services: Services, principal: Principal, body: ResearchAnswer, key: RequestKey | None) -> Admitted:
    thread = await services.threads.get(principal.owner, body.thread_id, with_values=False)
    if thread.metadata.get("graph_id") != GRAPH:
        raise ResumeError(f"The thread '{body.thread_id}' has no open interrupt. Ask a question with POST /api/research.")
    try:
        return await _resume(services, principal, body, thread, key)
    except ResumeError as error:
        if thread.status != "busy" or body.interrupt_id or not error.interrupt_ids:
            raise
    await _until_paused(services, principal, body.thread_id)
    thread = await services.threads.get(principal.owner, body.thread_id, with_values=False)
    return await _resume(services, principal, body, thread, key)


async def _resume(
    services: Services,
    principal: Principal,
    body: ResearchAnswer,
    thread: Thread,
    key: RequestKey | None,
) -> Admitted:
    answer = make_answer(body.fields(), _find_interrupt(thread, body.interrupt_id))
    order = RunOrder(
        assistant_id=str(thread.metadata["assistant_id"]),
        thread_id=body.thread_id,
        command={"resume": {body.interrupt_id: answer} if body.interrupt_id else answer},
        stream_modes=STREAMED,
    )
    return await services.engine.start(principal.owner, order, principal.grants, key)


def _find_interrupt(thread: Thread, interrupt_id: str | None) -> PendingInterrupt | None:
    """The interrupt that the answer is for, or `None` if that is not certain."""
    waiting = () if thread.status == "busy" else thread.interrupts
    named = [each for each in waiting if interrupt_id in (None, each.interrupt_id)]
    return named[0] if len(named) == 1 else None


async def _until_paused(services: Services, principal: Principal, thread_id: str) -> None:
    for run in await services.persistence.records.list_runs(principal.owner, thread_id, None, Page(limit=1)):
        await services.persistence.queue.finished(run.run_id, timeout_s=_PAUSING_S)
