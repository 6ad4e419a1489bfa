"""What must be true of scheduled runs on every database, with a real engine and a clock that tests move."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from tests.support.driven_runs import OWNER, new_id

from stepwell.backends.objects.grants import Grants, make_grants
from stepwell.clock import SystemClock
from stepwell.database.crons import KEPT_SLOTS, Cron, CronAccess, CronSlot, CronTable
from stepwell.database.keys_and_sessions import ApiKey
from stepwell.database.persistence import Persistence
from stepwell.database.records.types import Page
from stepwell.database.types import Run
from stepwell.errors import InvalidRequestError, NotFoundError
from stepwell.runs.assistants import Assistants
from stepwell.runs.crons.operations import CronChange, Crons, NewCron
from stepwell.runs.crons.scheduler import CronScheduler
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.gates import Arrival, Gate
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.starting import RunOrder

Open = Callable[[], AbstractAsyncContextManager[Persistence]]
START_AT = datetime(2026, 1, 1, tzinfo=UTC)


class MovableClock:
    def __init__(self, moment: datetime = START_AT) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment


class _Words(TypedDict, total=False):
    text: str


def make_graph() -> Any:
    builder = StateGraph(_Words)
    builder.add_node("say", lambda state: {"text": "said"})
    builder.add_edge(START, "say")
    builder.add_edge("say", END)
    return builder.compile()


class NotingGate(Gate):
    """Notes what the runs' owners were granted, and refuses if told so."""

    def __init__(self) -> None:
        self.grants: list[object] = []
        self.refuses: str | None = None

    async def admit(self, arrival: Arrival) -> Arrival:
        if self.refuses:
            raise InvalidRequestError(self.refuses)
        self.grants.append(arrival.grants)
        return arrival


@dataclass
class Scheduled:
    """Crons on a database, with the few words that these tests need."""

    persistence: Persistence
    engine: Engine
    crons: Crons
    clock: MovableClock
    gate: NotingGate

    @property
    def table(self) -> CronTable:
        return self.persistence.crons

    def scheduler(self) -> CronScheduler:
        return CronScheduler(self.table, self.engine, self.persistence.access, self.clock)

    async def make(
        self, schedule: str, timezone: str | None = None, *, access: CronAccess | None = None, owner: str = OWNER, **more: Any
    ) -> Cron:
        order = RunOrder("words", more.pop("thread_id", None), input={"text": "x"}, on_completion="keep")
        return await self.crons.create(owner, NewCron(order, schedule, timezone, **more), access or CronAccess())

    async def step_until(self, end: datetime, every: timedelta) -> int:
        started = 0
        while self.clock.moment < end:
            self.clock.moment += every
            started += await self.scheduler().step()
        return started

    async def slots(self, cron: Cron) -> list[CronSlot]:
        return list(reversed(await self.table.slots(None, cron.cron_id, limit=5000)))

    async def runs(self, cron: Cron) -> list[Run]:
        found = []
        for slot in await self.slots(cron):
            if slot.thread_id is not None:
                found += await self.persistence.records.list_runs(None, slot.thread_id, None, Page(limit=100))
        return found


async def open_scheduled(persistence: Persistence, clock: MovableClock | None = None, **options: Any) -> Scheduled:
    clock, gate = clock or MovableClock(), NotingGate()
    registry = GraphRegistry({"words": GraphSource.of(make_graph())})
    assistants = Assistants(persistence.records, registry, SystemClock(), new_id)
    await assistants.install_defaults()
    engine = Engine(
        persistence,
        registry,
        assistants,
        clock=SystemClock(),
        new_id=new_id,
        options=EngineOptions(drain_s=0.0, **options),
        gates=[gate],
    )
    return Scheduled(persistence, engine, Crons(persistence.crons, engine, assistants, clock, new_id), clock, gate)


class CronConformance:
    """Subclass it with a fixture `opened`, which opens the same database each time. The engine admits runs and drives none."""

    @pytest.fixture
    def opened(self) -> Open:
        raise NotImplementedError("Give the suite a database to test.")

    @pytest.fixture
    async def scheduled(self, opened: Open) -> AsyncIterator[Scheduled]:
        async with opened() as persistence:
            yield await open_scheduled(persistence)

    async def test_each_slot_fires_once_through_both_changes_of_the_clocks(self, scheduled: Scheduled) -> None:
        nightly = await scheduled.make("30 2 * * *", "Europe/Berlin")
        hourly = await scheduled.make("0 * * * *", "Europe/Berlin")
        for day in (datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)):
            scheduled.clock.moment = day
            for cron in (nightly, hourly):
                await scheduled.crons.change(OWNER, cron.cron_id, CronChange(schedule=cron.schedule), CronAccess())
            await scheduled.step_until(day + timedelta(days=2), timedelta(minutes=10))
        at_night = [f"{slot.slot:%d.%m. %H:%M}" for slot in await scheduled.slots(nightly) if slot.state == "fired"]
        assert at_night == ["28.03. 01:30", "29.03. 01:00", "24.10. 00:30", "25.10. 00:30"]
        by_day = Counter(slot.slot.date().isoformat() for slot in await scheduled.slots(hourly) if slot.state == "fired")
        assert by_day == {
            "2026-03-28": 23,
            "2026-03-29": 24,
            "2026-03-30": 1,
            "2026-10-24": 23,
            "2026-10-25": 24,
            "2026-10-26": 1,
        }
        others = [slot for cron in (nightly, hourly) for slot in await scheduled.slots(cron) if slot.state != "fired"]
        assert len(others) == 4
        assert {slot.note for slot in others} == {"The cron was changed before this slot's run could start."}

    async def test_two_servers_start_one_run_per_slot(self, scheduled: Scheduled) -> None:
        crons = [await scheduled.make("* * * * *") for _ in range(5)]
        for _ in range(10):
            scheduled.clock.moment += timedelta(minutes=1)
            await asyncio.gather(*(scheduled.scheduler().step() for _ in range(4)))
        for cron in crons:
            slots = await scheduled.slots(cron)
            assert [slot.state for slot in slots] == ["fired"] * 10
            runs = await scheduled.runs(cron)
            assert sorted(run.metadata["cron_slot"] for run in runs) == [slot.slot.isoformat() for slot in slots]

    async def test_a_change_of_the_time_zone_moves_the_next_slot(self, scheduled: Scheduled) -> None:
        cron = await scheduled.make("0 9 * * *")
        assert cron.next_run == datetime(2026, 1, 1, 9, tzinfo=UTC)
        changed = await scheduled.crons.change(OWNER, cron.cron_id, CronChange(timezone="America/New_York"), CronAccess())
        assert changed.next_run == datetime(2026, 1, 1, 14, tzinfo=UTC)
        assert await scheduled.step_until(datetime(2026, 1, 1, 15, tzinfo=UTC), timedelta(minutes=30)) == 1
        assert [slot.slot.hour for slot in await scheduled.slots(cron)] == [14]

    async def test_a_change_between_reading_and_firing_is_seen(self, scheduled: Scheduled) -> None:
        cron = await scheduled.make("0 * * * *")
        scheduled.clock.moment += timedelta(hours=1)
        (due,) = await scheduled.table.due(scheduled.clock.now(), 10)
        await scheduled.crons.change(OWNER, cron.cron_id, CronChange(enabled=False), CronAccess())
        assert not await scheduled.scheduler()._settle(due)
        assert [slot.state for slot in await scheduled.slots(cron)] == ["missed"]

    async def test_a_schedule_that_was_changed_does_not_fire_what_is_over(self, scheduled: Scheduled) -> None:
        cron = await scheduled.make("0 0 1 6 *")
        scheduled.clock.moment += timedelta(days=10)
        await scheduled.crons.change(OWNER, cron.cron_id, CronChange(schedule="0 * * * *"), CronAccess())
        assert await scheduled.scheduler().step() == 0
        scheduled.clock.moment += timedelta(hours=1)
        assert await scheduled.scheduler().step() == 1

    async def test_a_clock_that_was_ahead_does_not_silence_a_cron(self, scheduled: Scheduled) -> None:
        cron, idle = await scheduled.make("0 * * * *"), await scheduled.make("0 * * * *")
        await scheduled.crons.change(OWNER, idle.cron_id, CronChange(enabled=False), CronAccess())
        await scheduled.step_until(START_AT + timedelta(hours=3), timedelta(minutes=20))
        before = await scheduled.slots(cron)
        scheduler = scheduled.scheduler()
        scheduled.clock.moment += timedelta(days=365)
        assert await scheduler.step() == 1
        scheduled.clock.moment -= timedelta(days=365)
        await scheduler.step()
        *rest, fired = await scheduled.slots(cron)
        assert (fired.state, rest) == ("fired", before), "of slots that have yet to come, only what has fired is noted"
        assert await scheduled.step_until(START_AT + timedelta(hours=6), timedelta(minutes=20)) == 3

    async def test_a_change_starts_over_from_now_after_the_clock_was_ahead(self, scheduled: Scheduled) -> None:
        cron = await scheduled.make("0 * * * *")
        scheduled.clock.moment += timedelta(days=365)
        await scheduled.scheduler().step()
        scheduled.clock.moment -= timedelta(days=365)
        changed = await scheduled.crons.change(OWNER, cron.cron_id, CronChange(schedule="*/5 * * * *"), CronAccess())
        assert changed.next_run is not None
        assert changed.next_run <= scheduled.clock.moment + timedelta(minutes=5)
        assert [slot.state for slot in await scheduled.slots(cron)] == ["fired"]

    @pytest.mark.parametrize("behind", [timedelta(minutes=59), timedelta(hours=2), timedelta(days=2), timedelta(days=9_000)])
    async def test_a_clock_that_is_behind_for_a_while_fires_nothing_twice(
        self, scheduled: Scheduled, behind: timedelta
    ) -> None:
        cron = await scheduled.make("0 * * * *")
        await scheduled.step_until(START_AT + timedelta(hours=3, minutes=30), timedelta(minutes=20))
        before = await scheduled.slots(cron)
        scheduled.clock.moment -= behind
        await scheduled.scheduler().step()
        scheduled.clock.moment += behind
        assert await scheduled.scheduler().step() == 0
        assert [slot for slot in await scheduled.slots(cron) if slot.state == "fired"] == before
        assert await scheduled.step_until(START_AT + timedelta(hours=6), timedelta(minutes=20)) == 3

    async def test_slots_that_a_change_drops_are_recorded_as_missed(self, scheduled: Scheduled) -> None:
        cron = await scheduled.make("0 * * * *")
        scheduled.clock.moment = cron.next_run + timedelta(hours=2, seconds=1)
        await scheduled.crons.change(OWNER, cron.cron_id, CronChange(enabled=False), CronAccess())
        assert await scheduled.scheduler().step() == 0
        (slot,) = await scheduled.slots(cron)
        assert (slot.slot, slot.last_slot, slot.state) == (cron.next_run, cron.next_run + timedelta(hours=2), "missed")
        await scheduled.crons.change(OWNER, cron.cron_id, CronChange(enabled=True), CronAccess())
        assert len(await scheduled.slots(cron)) == 1

    async def test_an_owner_without_a_valid_key_ends_the_cron(self, scheduled: Scheduled) -> None:
        now = scheduled.clock.now()
        key = ApiKey("0123456789ab", OWNER, OWNER, "hash", False, now, grants=make_grants(["/acme/"], []))
        await scheduled.persistence.access.add_key(key)
        cron = await scheduled.make("0 * * * *", access=CronAccess("api_key", key.key_id, Grants()))
        scheduled.clock.moment += timedelta(hours=1)
        assert await scheduled.scheduler().step() == 1
        assert scheduled.gate.grants == [key.grants], "what the key allows now, not what it allowed"
        other = replace(key, key_id="ba9876543210", hash="other", grants=make_grants([], ["/new/"]))
        await scheduled.persistence.access.add_key(other)
        await scheduled.persistence.access.revoke_key(key.key_id)
        scheduled.clock.moment += timedelta(hours=1)
        assert await scheduled.scheduler().step() == 1
        assert scheduled.gate.grants[-1] == other.grants
        await scheduled.persistence.access.revoke_key(other.key_id)
        scheduled.clock.moment += timedelta(hours=1)
        assert await scheduled.scheduler().step() == 0
        ended = await scheduled.crons.get(OWNER, cron.cron_id)
        assert ended.ended_because is not None
        assert "no valid API key" in ended.ended_because
        assert (ended.enabled, ended.next_run) == (False, None)
        assert [slot.state for slot in await scheduled.slots(cron)] == ["fired", "fired", "refused"]
        again = await scheduled.crons.change(OWNER, cron.cron_id, CronChange(enabled=True), CronAccess())
        assert again.ended_because is None

    async def test_a_gate_that_refuses_leaves_its_sentence(self, scheduled: Scheduled) -> None:
        cron = await scheduled.make("0 * * * *")
        scheduled.gate.refuses = "Nobody pays for this."
        scheduled.clock.moment += timedelta(hours=1)
        assert await scheduled.scheduler().step() == 0
        scheduled.gate.refuses = None
        scheduled.clock.moment += timedelta(hours=1)
        assert await scheduled.scheduler().step() == 1
        refused, fired = await scheduled.slots(cron)
        assert (refused.state, refused.note, fired.state) == ("refused", "Nobody pays for this.", "fired")

    async def test_the_owners_limit_of_runs_holds(self, opened: Open) -> None:
        async with opened() as persistence:
            scheduled = await open_scheduled(persistence, max_active_runs_per_owner=2)
            cron = await scheduled.make("0 * * * *")
            others = await scheduled.make("0 * * * *", owner="somebody else")
            await scheduled.step_until(START_AT + timedelta(hours=3), timedelta(hours=1))
            assert [slot.state for slot in await scheduled.slots(cron)] == ["fired", "fired", "refused"]
            assert "2 runs under way" in str((await scheduled.slots(cron))[-1].note)
            assert len(await scheduled.slots(others)) == 3

    async def test_crons_of_others_are_not_found(self, scheduled: Scheduled) -> None:
        from stepwell.database.crons import CronFilter

        cron = await scheduled.make("0 * * * *")
        for call in (
            scheduled.crons.get("somebody else", cron.cron_id),
            scheduled.crons.delete("somebody else", cron.cron_id),
            scheduled.crons.slots("somebody else", cron.cron_id),
            scheduled.crons.change("somebody else", cron.cron_id, CronChange(enabled=False), CronAccess()),
        ):
            with pytest.raises(NotFoundError):
                await call
        assert await scheduled.crons.search("somebody else", CronFilter(), Page()) == []
        assert await scheduled.crons.count("somebody else", CronFilter()) == 0
        assert await scheduled.crons.count(OWNER, CronFilter()) == 1

    async def test_old_slots_are_forgotten_and_do_not_fire_again(self, scheduled: Scheduled) -> None:
        cron = await scheduled.make("* * * * *")
        settled = [CronSlot(START_AT + timedelta(minutes=n + 1), "missed", START_AT) for n in range(KEPT_SLOTS + 50)]
        assert await scheduled.table.settle(cron, settled, settled[-1].slot + timedelta(minutes=1))
        assert len(await scheduled.slots(cron)) == KEPT_SLOTS
        scheduled.clock.moment = settled[-1].slot
        assert await scheduled.scheduler().step() == 0

    async def test_a_deleted_thread_is_no_longer_named_and_its_slot_stays(self, scheduled: Scheduled) -> None:
        cron = await scheduled.make("0 * * * *")
        scheduled.clock.moment += timedelta(hours=1)
        assert await scheduled.scheduler().step() == 1
        (slot,) = await scheduled.slots(cron)
        await scheduled.persistence.queue.cancel(None, [str(slot.run_id)], "interrupt")
        await scheduled.persistence.records.delete_thread(OWNER, str(slot.thread_id))
        (left,) = await scheduled.slots(cron)
        assert (left.state, left.run_id, left.thread_id) == ("fired", None, None)
