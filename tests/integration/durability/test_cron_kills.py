"""Processes that start scheduled runs are killed at any instant: each slot starts one run, or is recorded as missed."""

from __future__ import annotations

import multiprocessing
import random
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.integration.durability import cron_child
from tests.integration.durability.cron_child import START, FastClock, make_engine, open_database
from tests.support.driven_runs import OWNER, new_id
from tests.support.waiting import wait_until

from stepwell.database.crons import Cron, CronAccess, CronSlot
from stepwell.database.rows import loads
from stepwell.runs.crons.operations import Crons, NewCron
from stepwell.runs.crons.schedule import Schedule
from stepwell.runs.crons.scheduler import CronScheduler
from stepwell.runs.starting import RunOrder
from stepwell.sql import Connection

SCHEDULES = ("0 * * * *", "30 2 * * *", "*/20 * * * *")
BERLIN = "Europe/Berlin"


@pytest.fixture(scope="module")
def processes() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.durability.cron_child"])
    return context


@pytest.mark.prove
async def test_sqlite(processes: Any, tmp_path: Path, effort: Any, record_property: Any) -> None:
    await prove(processes, tmp_path, str(tmp_path / "stepwell.db"), 1, effort.cases(4, 100), record_property)


@pytest.mark.prove
async def test_postgres_with_two_schedulers(
    processes: Any, tmp_path: Path, postgres_url: str, effort: Any, record_property: Any
) -> None:
    await prove(processes, tmp_path, postgres_url, 2, effort.cases(2, 50), record_property)


async def prove(processes: Any, folder: Path, place: str, at_once: int, kills: int, record_property: Any) -> None:
    begun, rng = time.time(), random.Random(kills)
    crons = await make_crons(place, FastClock(begun, START))
    for number in range(kills):
        ready = [folder / f"ready-{number}-{each}" for each in range(at_once)]
        args = [(place, begun, START.isoformat(), str(each)) for each in ready]
        children = [processes.Process(target=cron_child.work, args=each) for each in args]
        for child in children:
            child.start()
        wait_until(lambda ready=ready: all(each.exists() for each in ready), "the processes have not opened the database")
        children[0].join(rng.uniform(0, 1.5))
        for child in children:
            child.kill()
            child.join()
    started = missed = 0
    for cron, slots, fired in await settle(place, FastClock(begun, START), crons):
        check(cron, slots, fired)
        started += len(fired)
        missed += sum(slot.state == "missed" for slot in slots)
    assert started > 0, "the processes had no time to start anything"
    record_property("kills", kills * at_once)
    record_property("runs started", started)
    record_property("rows of missed slots", missed)


async def make_crons(place: str, clock: FastClock) -> list[Cron]:
    async with open_database(place) as persistence:
        engine, assistants = await make_engine(persistence)
        crons = Crons(persistence.crons, engine, assistants, clock, new_id)
        order = RunOrder("words", input={"text": "x"}, on_completion="keep")
        return [await crons.create(OWNER, NewCron(order, each, BERLIN), CronAccess()) for each in SCHEDULES]


async def settle(place: str, clock: FastClock, crons: list[Cron]) -> list[tuple[Cron, list[CronSlot], list[str]]]:
    """What is stored when nothing is left to do: each cron, its slots, and the slots that its runs name."""
    found = []
    async with open_database(place) as persistence:
        engine, _ = await make_engine(persistence)
        await CronScheduler(persistence.crons, engine, persistence.access, clock).step()
        for made in crons:
            cron = await persistence.crons.get(OWNER, made.cron_id)
            slots = await persistence.crons.slots(OWNER, made.cron_id, limit=5000)
            found.append((cron, slots, await persistence.database.read(lambda c, name=made.cron_id: fired_by(c, name))))
    return found


def fired_by(connection: Connection, cron_id: str) -> list[str]:
    rows = connection.execute("SELECT metadata FROM runs WHERE metadata LIKE ?", (f'%"{cron_id}"%',)).fetchall()
    return sorted(loads(row["metadata"])["cron_slot"] for row in rows)


def check(cron: Cron, slots: list[CronSlot], fired: list[str]) -> None:
    started = sorted(slot.slot.isoformat() for slot in slots if slot.state == "fired")
    oldest = min(slot.slot for slot in slots)
    assert len(fired) == len(set(fired)), "a slot has started two runs"
    assert [each for each in fired if datetime.fromisoformat(each) >= oldest] == started
    due = Schedule(cron.schedule, cron.timezone).between(cron.created_at, cron.since)
    known = {slot.slot for slot in slots}
    ranges = [(slot.slot, slot.last_slot) for slot in slots if slot.last_slot]
    lost = [
        slot
        for slot in due
        if slot >= oldest and slot not in known and not any(first <= slot <= last for first, last in ranges)
    ]
    assert lost == []
