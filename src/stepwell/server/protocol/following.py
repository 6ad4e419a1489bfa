"""A thread's stream of protocol events, for one subscription.

By default it starts with the active or next run, otherwise with the last one. So a client that connects a moment late misses nothing of
its run, and does not get the end of an earlier run, which it would mistake for the end of its own. `since: 0` sends everything still in
the journal.

SDKs watch the lifecycle as soon as a thread stream is opened, just before they start a run. On an idle thread we make such a watcher wait
a moment for that run to start.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import datetime

from stepwell.clock import Clock
from stepwell.database.persistence import Persistence
from stepwell.database.records.types import Page
from stepwell.database.types import Run, RunEvent, Thread
from stepwell.server.protocol.subscription import Subscription
from stepwell.server.protocol.translation import translate

_RUNS = 100
"""How many runs back we look for an active one."""
_WATCHED = frozenset({"lifecycle", "input"})
_MOMENT_S = 0.2


async def find_beginning(persistence: Persistence, thread: Thread, subscription: Subscription, now: datetime) -> int:
    """The position before the newest run that has started or is about to start."""
    # Query this position first, so that the events of a run that is queued now come after it.
    newest = await persistence.events.newest(thread.thread_id)
    runs = await persistence.records.list_runs(None, thread.thread_id, None, Page(_RUNS, 0))
    run = _first_of_interest(runs, now)
    if run is None or (run.finished and await _is_followed_by_another(persistence, run, subscription, newest)):
        return newest
    first = await persistence.events.read(thread.thread_id, run_id=run.run_id, limit=1)
    return first[0].seq - 1 if first else newest


async def _is_followed_by_another(persistence: Persistence, run: Run, subscription: Subscription, after: int) -> bool:
    """Whether the watcher wants a run that is being started at this very moment, and not the one that has ended."""
    if not subscription.channels <= _WATCHED:
        return False
    # Read again now: since the request arrived, the run may have ended and left an interrupt. We send an open interrupt at once, because
    # no client starts a run before it has seen the interrupt.
    thread = await persistence.records.get_thread(None, run.thread_id, with_values=False)
    if thread.status == "interrupted":
        return False
    try:
        async with asyncio.timeout(_MOMENT_S):
            async for batch in persistence.events.follow_thread(run.thread_id, after=after):
                if any(event.run_id != run.run_id for event in batch):
                    return True
    except TimeoutError:
        pass
    return False


def _first_of_interest(newest_first: Sequence[Run], now: datetime) -> Run | None:
    under_way = [run for run in newest_first if run.status == "running"]
    if under_way:
        return under_way[-1]
    if any(run.status == "pending" and (run.due_at is None or run.due_at <= now) for run in newest_first):
        return None
    return next((run for run in newest_first if run.finished), None)


async def protocol_frames(
    batches: AsyncIterator[Sequence[RunEvent]], subscription: Subscription, clock: Clock
) -> AsyncGenerator[bytes, None]:
    """The events of each batch that match the subscription, as one piece of text."""
    async for batch in batches:
        now_ms = int(clock.now().timestamp() * 1000)
        found = (translate(event) for event in batch)
        piece = b"".join(
            event.frame(now_ms) for event in found if event is not None and subscription.wants(event.channel, event.namespace)
        )
        if piece:
            yield piece
