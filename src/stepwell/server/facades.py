"""Façades: a graph's runs in another wire format, for clients that do not use LangGraph's API.

The server knows no application. The code that creates the server connects a façade's name (its routes are here) with what an
application provides: its graph, and pure functions between the wire and the graph.

```
question ─make_input─> run ─its events─> translate ─> named messages as server-sent events
answer ──make_answer─> the resumed run
```

Rule to keep: if an event of a run becomes several messages, only the last carries the event's number. A client that loses the
connection between two of them then gets both again, instead of missing the second.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request

from stepwell.database.records.types import Page
from stepwell.database.types import PendingInterrupt, Run, RunEvent
from stepwell.errors import NotFoundError
from stepwell.server.assembly import Services
from stepwell.server.login.principal import Principal

RESEARCH = "research"

_LONGEST_CHAIN = 200


@dataclass(frozen=True)
class Facade:
    """What an application provides. Its functions raise a `RunError` for requests that cannot be carried out."""

    graph_id: str
    make_input: Callable[[Mapping[str, Any]], Any]
    """The fields of the request (in snake_case) -> the graph's input."""
    make_answer: Callable[[Mapping[str, Any], PendingInterrupt | None], Any]
    """The fields of the request and the open interrupt, if known -> the answer that resumes it."""
    gather: Callable[[dict[str, Any], RunEvent], dict[str, Any]]
    """What is known of a question, and one more event of its runs -> what is known after it."""
    translate: Callable[[RunEvent, Mapping[str, Any]], Sequence[tuple[str, Mapping[str, Any]]]]
    """An event of a run, and what was known when the run began -> names and data of the messages it becomes."""
    export: Callable[[Path, str], bytes] | None = None
    """A bundle and a format -> the document. Blocks; raises `ConfigurationError` for an unavailable format."""


@dataclass(frozen=True)
class ArgumentForms:
    """Exports a tutor's argument for other programs."""

    field: str
    """The key of the argument in a thread's values."""
    write: Callable[[Mapping[str, Any], str], str]
    """The argument and the name of a format -> the text. `InvalidRequestError` if it is not an argument: clients can write to a state."""


async def research_of(request: Request) -> Facade:
    """The research façade; 404 if its graph is not served."""
    services: Services = request.app.state.services
    facade: Facade | None = request.app.state.facades.get(RESEARCH)
    if facade is None or facade.graph_id not in services.registry.names:
        served = ", ".join(sorted(services.registry.names)) or "none"
        raise NotFoundError("graph", RESEARCH, f"It is not served here, and these routes need it. Served are: {served}.")
    return facade


Research = Annotated[Facade, Depends(research_of)]


async def messages(
    facade: Facade, batches: AsyncIterator[Sequence[RunEvent]], after: int = 0, only: str | None = None
) -> AsyncGenerator[bytes, None]:
    """The runs of a question in the façade's format: events after `after`, or those of the run `only`. We also read the events that we
    do not send, because a run starts with what was known by then."""
    known: dict[str, Any] = {}
    async for batch in batches:
        pieces: list[bytes] = []
        for event in batch:
            if event.seq > after and only in (None, event.run_id):
                pieces.append(_frames(facade, event, known))
            known = facade.gather(known, event)
        if piece := b"".join(pieces):
            yield piece


def _frames(facade: Facade, event: RunEvent, known: Mapping[str, Any]) -> bytes:
    told = facade.translate(event, known)
    frames = [b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps(data)) for name, data in told]
    return b"".join((*frames[:-1], b"id: %d\n" % event.seq, frames[-1])) if frames else b""


async def runs_of_question(services: Services, principal: Principal, facade: Facade, thread_id: str) -> list[Run]:
    """The runs of a thread's newest question, oldest first: the one that asked it, and those that resumed after an answer."""
    await services.threads.get(principal.owner, thread_id, with_values=False)
    newest_first = await services.persistence.records.list_runs(principal.owner, thread_id, None, Page(limit=_LONGEST_CHAIN))
    chain: list[Run] = []
    for run in newest_first:
        if run.request.graph_id != facade.graph_id:
            break
        chain.insert(0, run)
        if run.resumes is None:
            break
    if not chain:
        raise NotFoundError(f"{RESEARCH} on thread", thread_id, f"Its newest run is not one. Ask with POST /api/{RESEARCH}.")
    return chain


async def events_of(services: Services, principal: Principal, runs: Sequence[Run]) -> AsyncGenerator[Sequence[RunEvent], None]:
    """The past and live events of the runs, one run after the other."""
    for run in runs:
        # Without the values that another client asked for: as a rule they tell where a later attempt begins.
        modes = ["updates"] if "values" in run.request.stream_modes else None
        batches = services.engine.events(principal.owner, run.thread_id, run.run_id, after=0, modes=modes)
        async with aclosing(batches):  # type: ignore[type-var]  # an async generator, declared as an iterator
            async for batch in batches:
                yield batch
