"""How routes respond: with JSON that is encoded once and not validated against a model again, or with a run (at once, when it has
ended, or as a stream). Shared by the routes of runs with and without a thread.

```
Content-Location: /threads/T/runs/R             which run this is
Location:         /threads/T/runs/R/stream|join where a client that lost the connection resumes
```
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

from fastapi import Header
from starlette.responses import Response

from stepwell.database.types import Run
from stepwell.errors import InvalidRequestError, StorageUnavailableError
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.run_headers import Additions, late_headers, then_additions
from stepwell.server.schemas.runs import RunCreate, run_wire
from stepwell.server.sse import EventStream, Gone, PatientJson, frames
from stepwell.state.wire import encode

LastEventId = Annotated[str | None, Header(json_schema_extra={"pattern": "^(-1|[0-9]{1,18})?$"})]

SSE: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {}}}}
}
RESULT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The graph's final values; a failed run returns `{'__error__': {error, message}}`",
        "content": {"application/json": {"schema": {}}},
    }
}


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`value` as JSON, including messages, times and other objects of graphs."""
    return Response(encode(value), status, dict(headers or {}), "application/json")


async def note_shown(services: Services, thread_id: str, interrupt_ids: Iterable[str]) -> None:
    """Note that the client has seen these interrupts, so that an answer without an id may mean them (`runs.queue.BareAnswer`)."""
    if shown := tuple(interrupt_ids):
        with suppress(StorageUnavailableError):  # the answer must then name its interrupt
            await services.persistence.queue.note_shown(thread_id, interrupt_ids=shown)


def nothing(status: int = 204) -> Response:
    """Success without a body."""
    return Response(status_code=status)


def next_page(offset: int, limit: int, found: int) -> dict[str, str]:
    """The header with the offset of the next page. `found` is the result of a query for `limit` + 1 rows."""
    return {"X-Pagination-Next": str(offset + limit)} if found > limit else {}


def parse_last_event_id(text: str | None) -> int | None:
    """The last event a client saw. `-1` and `0` mean from the start."""
    if text is None or text.strip() == "":
        return None
    text = text.strip()
    if text == "-1":
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise InvalidRequestError(
            "The header Last-Event-ID must be the 'id' of an event of this stream, a whole number; '0' means from the start."
        )
    return int(text)


def run_headers(run: Run, then: str | None = None) -> dict[str, str]:
    place = f"/threads/{run.thread_id}/runs/{run.run_id}"
    return {"Content-Location": place, **({"Location": f"{place}/{then}"} if then else {})}


def show_run(run: Run) -> Response:
    """The current state of the run."""
    return json_response(run_wire(run), headers=run_headers(run))


def stream_run(
    services: Services,
    principal: Principal,
    run: Run,
    *,
    cancel_on_disconnect: bool,
    after: int = 0,
    modes: Sequence[str] | None = None,
    additions: Additions = (),
) -> Response:
    """The run's events after `after`, and at the end what products add."""
    batches = services.engine.events(principal.owner, run.thread_id, run.run_id, after=after, modes=modes, found=run)
    on_gone = _make_canceller(services, principal, run) if cancel_on_disconnect else None
    pieces, headers = frames(batches), run_headers(run, "stream")
    for addition in additions:
        headers |= addition.headers
    if additions:
        pieces = then_additions(pieces, services, run, additions)
    return EventStream(pieces, services.streams, headers=headers, on_gone=on_gone)


def await_run(
    services: Services, principal: Principal, run: Run, *, cancel_on_disconnect: bool, additions: Additions = ()
) -> Response:
    """The run's values once it has ended, with what products add."""
    result = services.engine.result(principal.owner, run.thread_id, run.run_id)
    on_gone = _make_canceller(services, principal, run) if cancel_on_disconnect else None
    headers = run_headers(run, "join")
    for addition in additions:
        headers |= addition.headers
    late = partial(late_headers, services, run, additions) if additions else None
    return PatientJson(result, headers=headers, on_gone=on_gone, late_headers=late)


def cancels_on_disconnect(body: RunCreate) -> bool:
    """Whether the run stops when its client disconnects. By default it continues."""
    return body.on_disconnect == "cancel"


def _make_canceller(services: Services, principal: Principal, run: Run) -> Gone:
    async def cancel() -> None:
        await services.engine.cancel(principal.owner, run.thread_id, [run.run_id], action="interrupt", wait=False, status=None)

    return cancel
