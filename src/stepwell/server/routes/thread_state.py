"""A thread's state, now or at a checkpoint; its history; and the stream of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from stepwell.database.documents.book import GrowingText
from stepwell.runs.threads.snapshots import ShowValues
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import policy, stream_policy
from stepwell.server.responses import SSE, LastEventId, json_response, note_shown, parse_last_event_id
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import MAX_PAGE, JsonObject, SeveralNames, ThreadId, checkpoint_of
from stepwell.server.schemas.state import (
    HistoryQuery,
    StateAt,
    StateField,
    StatePatch,
    StateResponse,
    StateWrite,
    StateWritten,
    select_state,
)
from stepwell.server.schemas.threads import ThreadResponse, thread_wire
from stepwell.server.sse import EventStream, frames
from stepwell.state.wire import plain

router = APIRouter(tags=["Threads"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("threads:read"))]
StreamReader = Annotated[Principal, Depends(stream_policy("threads:read"))]
Updater = Annotated[Principal, Depends(policy("threads:update"))]
Select = Annotated[list[StateField] | None, Query()]
ThreadStreamMode = Literal["run_modes", "lifecycle", "state_update"]

LIFECYCLE = frozenset({"metadata", "error", "end"})
STATE_UPDATE = frozenset({"values", "updates"})


async def _show_state(services: Services, thread_id: str, state: dict[str, Any], select: list[StateField] | None) -> Response:
    await note_shown(services, thread_id, _asked_in(state))
    return json_response(select_state(state, select))


def _asked_in(state: Mapping[str, Any]) -> list[str]:
    return [asked["id"] for asked in state.get("interrupts") or ()]


@router.get(
    "/threads/{thread_id}/state",
    operation_id="get_thread_state",
    summary="Get the thread's current state",
    responses={200: {"model": StateResponse}},
)
async def get_state(
    thread_id: ThreadId, principal: Reader, services: Given, subgraphs: bool = False, select: Select = None
) -> Response:
    state = await services.threads.state(
        principal.owner, thread_id, checkpoint=None, subgraphs=subgraphs, show_values=_choose_values(select)
    )
    return await _show_state(services, thread_id, state, select)


@router.post(
    "/threads/{thread_id}/state",
    operation_id="update_thread_state",
    summary="Update the thread's state, as if a node had written it",
    responses={200: {"model": StateWritten}},
)
async def update_state(thread_id: ThreadId, body: StateWrite, principal: Updater, services: Given) -> Response:
    services.check_stored(body.values)
    written = await services.threads.update_state(
        principal.owner,
        thread_id,
        values=body.values,
        as_node=body.as_node,
        checkpoint=checkpoint_of(body.checkpoint, body.checkpoint_id),
    )
    return json_response(written)


@router.patch(
    "/threads/{thread_id}/state",
    operation_id="patch_thread_state",
    summary="Merge into the thread's metadata (older equivalent of PATCH /threads/{thread_id})",
    responses={200: {"model": ThreadResponse}},
)
async def patch_state(thread_id: ThreadId, body: StatePatch, principal: Updater, services: Given) -> Response:
    return json_response(thread_wire(await services.threads.update(principal.owner, thread_id, metadata=body.metadata or {})))


@router.post(
    "/threads/{thread_id}/state/checkpoint",
    operation_id="get_thread_state_at",
    summary="Get the thread's state at a checkpoint, which may be a subgraph's",
    responses={200: {"model": StateResponse}},
)
async def get_state_at(thread_id: ThreadId, body: StateAt, principal: Reader, services: Given) -> Response:
    checkpoint = checkpoint_of(body.checkpoint, None)
    state = await services.threads.state(
        principal.owner,
        thread_id,
        checkpoint=checkpoint,
        subgraphs=bool(body.subgraphs),
        show_values=_choose_values(body.select),
    )
    return await _show_state(services, thread_id, state, body.select)


@router.get(
    "/threads/{thread_id}/state/{checkpoint_id}",
    operation_id="get_thread_state_at_id",
    summary="Get the thread's state at a checkpoint of the root graph",
    responses={200: {"model": StateResponse}},
)
async def get_state_at_id(
    thread_id: ThreadId,
    checkpoint_id: Annotated[str, Path(max_length=256)],
    principal: Reader,
    services: Given,
    subgraphs: bool = False,
    select: Select = None,
) -> Response:
    checkpoint: JsonObject = {"checkpoint_id": checkpoint_id}
    state = await services.threads.state(
        principal.owner, thread_id, checkpoint=checkpoint, subgraphs=subgraphs, show_values=_choose_values(select)
    )
    return await _show_state(services, thread_id, state, select)


@router.get(
    "/threads/{thread_id}/history",
    operation_id="get_thread_history",
    summary="List the thread's checkpoints, newest first",
    responses={200: {"model": list[StateResponse]}},
)
async def get_history(
    thread_id: ThreadId,
    principal: Reader,
    services: Given,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 10,
    before: Annotated[str | None, Query(min_length=1, max_length=256)] = None,
) -> Response:
    states = await services.threads.history(
        principal.owner,
        thread_id,
        limit=limit,
        before=checkpoint_of(None, before),
        metadata=None,
        checkpoint=None,
        show_values=_choose_values(None),
    )
    await note_shown(services, thread_id, [asked for state in states[:1] for asked in _asked_in(state)])
    return json_response(states)


@router.post(
    "/threads/{thread_id}/history",
    operation_id="search_thread_history",
    summary="Search the thread's checkpoints, newest first",
    responses={200: {"model": list[StateResponse]}},
)
async def search_history(thread_id: ThreadId, body: HistoryQuery, principal: Reader, services: Given) -> Response:
    states = await services.threads.history(
        principal.owner,
        thread_id,
        limit=body.limit or 10,
        before=body.before_checkpoint(),
        metadata=body.metadata,
        checkpoint=checkpoint_of(body.checkpoint, None),
        show_values=_choose_values(body.select),
    )
    return json_response([select_state(state, body.select) for state in states])


@router.get(
    "/threads/{thread_id}/stream",
    operation_id="stream_thread",
    summary="Stream the events of all the thread's runs, live or after Last-Event-ID",
    responses=SSE,
)
async def stream_thread(
    thread_id: ThreadId,
    principal: StreamReader,
    services: Given,
    stream_mode: Annotated[list[ThreadStreamMode] | None, SeveralNames, Query(max_length=3)] = None,
    stream_modes: Annotated[
        list[ThreadStreamMode] | None, SeveralNames, Query(max_length=3, description="The same as stream_mode")
    ] = None,
    last_event_id: LastEventId = None,
) -> Response:
    await services.threads.get(principal.owner, thread_id, with_values=False)
    modes = frozenset([*(stream_mode or ()), *(stream_modes or ())] or ["run_modes"])
    batches = services.engine.thread_events(principal.owner, thread_id, after=parse_last_event_id(last_event_id))
    return EventStream(frames(batches, lambda event: _in_modes(event, modes)), services.streams)


def _choose_values(select: Sequence[str] | None) -> ShowValues:
    """The function that converts values to JSON; it leaves out values that the response does not include."""
    if not select or "values" in select:
        return GrowingText().show
    keys = {field.removeprefix("values.") for field in select if field.startswith("values.")}
    if not keys:
        return lambda values: None

    def show_some(values: Any) -> Any:
        """Converts only the requested values: in a long thread, most of the state is messages."""
        return plain({key: values[key] for key in keys if key in values} if isinstance(values, dict) else values)

    return show_some


def _in_modes(event: str, modes: frozenset[str]) -> bool:
    """Whether one of the modes includes the event. `run_modes` includes all events, the other modes only some of them."""
    name = event.partition("|")[0]
    return (
        "run_modes" in modes
        or ("lifecycle" in modes and name in LIFECYCLE)
        or ("state_update" in modes and name in STATE_UPDATE)
    )
