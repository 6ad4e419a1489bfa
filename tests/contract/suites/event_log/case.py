"""What the suite for event logs stands on: a run under way, words for it to say, and a way to hear them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.driven_runs import PATIENCE_S, DrivenRuns, driving, new_id

from stepwell.database.documents.book import VALUES
from stepwell.database.events.log import EventLog
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import ClaimedRun
from stepwell.database.types import NewEvent, RunEvent
from stepwell.state.wire import encode


def words(*numbers: int) -> list[NewEvent]:
    return [NewEvent("values", b'{"n": %d}' % number) for number in numbers]


def numbers(events: Sequence[RunEvent]) -> list[int]:
    return [event.seq for event in events]


def said(events: Sequence[RunEvent]) -> list[bytes]:
    return [event.data for event in events if event.event == "values"]


def said_of(events: Sequence[NewEvent]) -> list[bytes]:
    return [event.data for event in events]


def large_state(size: int) -> dict[str, Any]:
    return {"lines": [f"line {number} of a state that grows" for number in range(size)], "note": f"{size} lines"}


async def append_documents(log: EventLog, claim: ClaimedRun, sizes: Iterable[int]) -> list[bytes]:
    """A growing state and words that are alike, each event stored as what it changes. Gives what the events say."""
    documents = await log.documents(claim.run.thread_id)
    texts = []
    for size in sizes:
        state, word = large_state(size), encode([f"word {size}", {"said": "with every word " * 20}])
        events = [documents.event("values", VALUES, state), documents.event_like(NewEvent("messages", word), "m")]
        await log.append(claim.lease, events)
        texts += [encode(state), word]
    return texts


async def gather(following: AsyncIterator[list[RunEvent]], *, until: int | None = None) -> list[RunEvent]:
    """All events of a follower that ends, or the first `until` of one that does not."""
    gathered: list[RunEvent] = []

    async def take() -> None:
        async for batch in following:
            assert batch, "a follower was given nothing"
            gathered.extend(batch)
            if until is not None and len(gathered) >= until:
                return

    await asyncio.wait_for(take(), PATIENCE_S)
    await following.aclose()  # type: ignore[attr-defined]  # a generator, of which the protocol promises only the iterator
    return gathered


async def trim(persistence: Persistence) -> int:
    """Delete all events but those of each thread's newest run, and of runs under way. Returns how many."""
    return await persistence.maintenance.trim_events(datetime.now(UTC) + timedelta(days=1))


class EventLogCase:
    """What the suite stands on."""

    @pytest.fixture
    def persistence(self) -> Persistence:
        raise NotImplementedError("Give the suite a persistence to test.")

    @pytest.fixture
    async def runs(self, persistence: Persistence) -> AsyncIterator[DrivenRuns]:
        async with driving(persistence) as runs:
            yield runs

    @pytest.fixture
    def log(self, persistence: Persistence) -> EventLog:
        return persistence.events

    @pytest.fixture
    async def claim(self, runs: DrivenRuns) -> ClaimedRun:
        return await runs.begin(new_id())
