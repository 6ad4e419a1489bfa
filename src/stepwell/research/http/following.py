"""Follows the runs of a question, and turns their events into named messages.

Rule to keep: if an event of a run becomes several messages, only the last carries the event's number. A client that loses the
connection between two of them then gets both again, instead of missing the second.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import orjson

from stepwell.database.records.types import Page
from stepwell.database.types import Run, RunEvent
from stepwell.errors import NotFoundError
from stepwell.research.graph.facade import GRAPH, gather, translate
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services

_LONGEST_CHAIN = 200


async def require_research(services: Services) -> None:
    """404 if the research graph is not served."""
    if GRAPH not in services.registry.names:
        served = ", ".join(sorted(services.registry.names)) or "none"
        raise NotFoundError("graph", GRAPH, f"This server does not serve it, and these routes need it. Served: {served}.")


async def messages(
    batches: AsyncIterator[Sequence[RunEvent]], after: int = 0, only: str | None = None
) -> AsyncGenerator[bytes, None]:
    """The runs of a question in the façade's format: events after `after`, or those of the run `only`. We also read the events that we do
    not send, because the first message of a run contains what was known before it."""
    known: dict[str, Any] = {}
    async for batch in batches:
        pieces: list[bytes] = []
        for event in batch:
            if event.seq > after and only in (None, event.run_id):
                pieces.append(_frames(event, known))
            known = gather(known, event)
        if piece := b"".join(pieces):
            yield piece


def _frames(event: RunEvent, known: Mapping[str, Any]) -> bytes:
    told = translate(event, known)
    frames = [b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps(data)) for name, data in told]
    return b"".join((*frames[:-1], b"id: %d\n" % event.seq, frames[-1])) if frames else b""


async def runs_of_question(services: Services, principal: Principal, thread_id: str) -> list[Run]:
    """The runs of a thread's newest question, oldest first: the one that asked it, and those that resumed after an answer."""
    await services.threads.get(principal.owner, thread_id, with_values=False)
    newest_first = await services.persistence.records.list_runs(principal.owner, thread_id, None, Page(limit=_LONGEST_CHAIN))
    chain: list[Run] = []
    for run in newest_first:
        if run.request.graph_id != GRAPH:
            break
        chain.insert(0, run)
        if run.resumes is None:
            break
    if not chain:
        raise NotFoundError(
            "research on thread", thread_id, "Its newest run is not a research. Ask a question with POST /api/research."
        )
    return chain


async def events_of(services: Services, principal: Principal, runs: Sequence[Run]) -> AsyncGenerator[Sequence[RunEvent], None]:
    """The past and live events of the runs, one run after the other."""
    for run in runs:
        # Leave out the values that another client requested, because `translate` takes values for the beginning of a retry.
        modes = ["updates"] if "values" in run.request.stream_modes else None
        batches = services.engine.events(principal.owner, run.thread_id, run.run_id, after=0, modes=modes)
        async with aclosing(batches):  # type: ignore[type-var]  # an async generator, declared as an iterator
            async for batch in batches:
                yield batch
