"""A thread's stream of protocol events, for one subscription.

Where it begins when the client does not say: with the run that is under way or about to be, otherwise with the last one. So a
client that comes a moment late misses nothing of its run, and is not told of the end of an earlier one, which it would take for
its own. `since: 0` tells everything the journal still has.

SDKs watch the lifecycle from the moment they are opened, just before they start a run. Such a watcher of a thread at rest is
kept waiting for a moment, for that run to begin.
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
"""How far back a run that is still under way is looked for."""
_WATCHED = frozenset({"lifecycle", "input"})
_MOMENT_S = 0.2


async def find_beginning(persistence: Persistence, thread: Thread, subscription: Subscription, now: datetime) -> int:
    """The place before the newest run that has begun or is about to."""
    # Asked for first: what a run that waits now will say, comes after it.
    newest = await persistence.events.newest(thread.thread_id)
    runs = await persistence.records.list_runs(thread.owner, thread.thread_id, None, Page(_RUNS, 0))
    run = _first_of_interest(runs, now)
    if run is None or (run.finished and await _is_followed_by_another(persistence, run, subscription, newest)):
        return newest
    first = await persistence.events.read(thread.thread_id, run_id=run.run_id, limit=1)
    return first[0].seq - 1 if first else newest


async def _is_followed_by_another(persistence: Persistence, run: Run, subscription: Subscription, after: int) -> bool:
    """Whether the watcher came for a run that is being started at this very moment, and not for the one that has ended."""
    if not subscription.channels <= _WATCHED:
        return False
    # Read again now: the run may have ended, and left an interrupt, since the request came. An open interrupt is told at once: nobody
    # starts a run before having seen it.
    thread = await persistence.records.get_thread(run.owner, run.thread_id, with_values=False)
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
    """What the subscription wants of each batch, as one piece of text."""
    async for batch in batches:
        now_ms = int(clock.now().timestamp() * 1000)
        found = (translate(event) for event in batch)
        piece = b"".join(
            event.frame(now_ms) for event in found if event is not None and subscription.wants(event.channel, event.namespace)
        )
        if piece:
            yield piece
