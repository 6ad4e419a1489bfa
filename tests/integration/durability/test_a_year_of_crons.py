"""A year under a clock that the test moves: what crons and conversations leave behind stays as much as a month of it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.contract.suites.crons import make_graph
from tests.contract.suites.maintenance import MovableClock
from tests.support.driven_runs import OWNER, new_id

from stepwell.database.crons import CronAccess
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.upkeep.expiry import ThreadRule
from stepwell.runs.assistants import Assistants
from stepwell.runs.crons.operations import Crons, NewCron
from stepwell.runs.crons.scheduler import CronScheduler
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.starting import RunOrder
from stepwell.runs.upkeep.expiry import Expiry
from stepwell.runs.upkeep.retention import Retention
from stepwell.sql import Connection

DAYS_KEPT = 10
TABLES = ("threads", "runs", "events", "checkpoints", "writes", "documents", "thread_values", "steps", "thread_ttls")


@pytest.mark.prove
async def test_nothing_grows(tmp_path: Path, effort: Any, record_property: Any) -> None:
    days = effort.cases(40, 365)
    clock = MovableClock()
    async with EmbeddedPersistence(tmp_path / "stepwell.db", clock=clock) as persistence:
        registry = GraphRegistry({"words": GraphSource.of(make_graph())})
        assistants = Assistants(persistence.records, registry, clock, new_id)
        await assistants.install_defaults()
        options = EngineOptions(drain_s=0.0)
        engine = Engine(persistence, registry, assistants, clock=clock, new_id=new_id, options=options)
        retention = Retention(persistence.maintenance, registry, persistence.saver(), clock)
        expiry = Expiry(persistence.maintenance, retention, ThreadRule(DAYS_KEPT * 24 * 60.0))
        await expiry.apply_rule()
        async with engine:
            crons = Crons(persistence.crons, engine, assistants, clock, new_id)
            for keep in ("keep", "delete"):
                order = RunOrder("words", input={"text": "x"}, on_completion=keep)
                await crons.create(OWNER, NewCron(order, "0 3 * * *", "Europe/Berlin"), CronAccess())
            scheduler = CronScheduler(persistence.crons, engine, persistence.access, clock)
            sizes = []
            for _ in range(days):
                clock.move(timedelta(days=1))
                assert await scheduler.step() == 2
                for run_id in await persistence.records.open_runs(OWNER, None, None):
                    assert await persistence.queue.finished(run_id) != "timeout"
                await expiry.apply_rule()
                await expiry.apply_own()
                await persistence.maintenance.sweep()
                sizes.append(await persistence.database.read(count_rows))
    half, end = sizes[days // 2], sizes[-1]
    record_property("rows after half of the time, and at the end", (half, end))
    assert half["threads"] <= DAYS_KEPT + 3
    assert end == half, "what there is after half of the time is what there is at the end"


def count_rows(connection: Connection) -> dict[str, int]:
    return {table: connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in TABLES}
