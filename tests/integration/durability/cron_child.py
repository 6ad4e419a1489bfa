"""A process that starts scheduled runs and drives them, for a clock on which an hour takes a few milliseconds. Its parent kills it."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.contract.suites.crons import make_graph
from tests.support.driven_runs import new_id

from stepwell.clock import SystemClock
from stepwell.database.persistence import Persistence
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.runs.assistants import Assistants
from stepwell.runs.crons.scheduler import CronScheduler
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource

SPEED = 100_000.0
"""How many seconds pass on the scheduler's clock in one."""


class FastClock:
    """Begins at the same moment in every process that is told when that was."""

    def __init__(self, begun: float, moment: datetime) -> None:
        self._begun, self._moment = begun, moment

    def now(self) -> datetime:
        return self._moment + timedelta(seconds=(time.time() - self._begun) * SPEED)


def open_database(place: str) -> Persistence:
    return PostgresPersistence(place) if "://" in place else EmbeddedPersistence(Path(place))


async def make_engine(persistence: Persistence) -> tuple[Engine, Assistants]:
    registry = GraphRegistry({"words": GraphSource.of(make_graph())})
    assistants = Assistants(persistence.records, registry, SystemClock(), new_id)
    await assistants.install_defaults()
    options = EngineOptions(drain_s=0.0)
    return Engine(persistence, registry, assistants, clock=SystemClock(), new_id=new_id, options=options), assistants


def work(place: str, begun: float, moment: str, ready: str) -> None:
    asyncio.run(_work(place, FastClock(begun, datetime.fromisoformat(moment)), Path(ready)))


async def _work(place: str, clock: FastClock, ready: Path) -> None:
    async with open_database(place) as persistence:
        engine, _ = await make_engine(persistence)
        async with engine, CronScheduler(persistence.crons, engine, persistence.access, clock):
            ready.touch()  # noqa: ASYNC240 - the parent waits for this file
            await asyncio.Event().wait()


START = datetime(2026, 1, 1, tzinfo=UTC)
