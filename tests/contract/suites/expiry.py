"""Which threads expire on every database, and which are left alone, as tests. Subclass `ExpiryConformance` as in `maintenance`."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.contract.suites.maintenance import DAY, MaintenanceCase, MovableClock
from tests.support.driven_runs import OWNER, DrivenRuns, a_thread, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.types import ThreadTtl, TtlStrategy
from stepwell.database.upkeep.expiry import LOOK_AGAIN_S, ThreadRule
from stepwell.errors import NotFoundError
from stepwell.runs.upkeep.expiry import Expiry
from stepwell.runs.upkeep.retention import Retention
from stepwell.sql import Connection

WEEK = ThreadRule(7 * 24 * 60.0)
LATER = timedelta(seconds=LOOK_AGAIN_S + 1)


class ExpiryConformance(MaintenanceCase):
    def expiry(self, persistence: Persistence, rule: ThreadRule | None = None) -> Expiry:
        retention = Retention(persistence.maintenance, None, persistence.saver(), persistence.clock)
        return Expiry(persistence.maintenance, retention, rule)

    async def with_ttl(
        self, persistence: Persistence, runs: DrivenRuns, minutes: float = 60, strategy: TtlStrategy = "delete"
    ) -> str:
        thread_id = await self.at_rest(runs)
        await persistence.records.set_thread_ttl(OWNER, thread_id, ThreadTtl(strategy, minutes))
        return thread_id

    async def exists(self, persistence: Persistence, thread_id: str) -> bool:
        try:
            await persistence.records.get_thread(OWNER, thread_id)
        except NotFoundError:
            return False
        return True

    async def test_a_thread_expires_after_its_time_and_leaves_nothing(
        self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        expiry, thread_id = self.expiry(persistence), await self.with_ttl(persistence, runs)
        other = await self.at_rest(runs)
        clock.move(timedelta(minutes=59))
        assert await expiry.apply_own() == 0
        clock.move(timedelta(minutes=2))
        assert await expiry.apply_own() == 1
        assert not await self.exists(persistence, thread_id)
        assert await self.exists(persistence, other)
        assert await rows_of(persistence, thread_id) == {}

    async def test_each_use_of_a_thread_gives_it_its_whole_time_again(
        self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        expiry, thread_id = self.expiry(persistence), await self.with_ttl(persistence, runs)
        for _ in range(5):
            clock.move(timedelta(minutes=50))
            await persistence.records.merge_thread_metadata(OWNER, thread_id, {"used": True})
            assert await expiry.apply_own() == 0
        thread = await persistence.records.get_thread(OWNER, thread_id, with_ttl=True)
        assert thread.ttl is not None
        assert thread.ttl.expires_at is not None
        assert abs((thread.ttl.expires_at - clock.now()).total_seconds() - 3600) < 1
        clock.move(timedelta(minutes=61))
        assert await expiry.apply_own() == 1

    async def test_a_time_to_live_can_be_set_at_creation_changed_and_taken_away(
        self, persistence: Persistence, clock: MovableClock
    ) -> None:
        expiry = self.expiry(persistence)
        now = clock.now()
        made = a_thread(created_at=now, updated_at=now, ttl=ThreadTtl("delete", 10))
        await persistence.records.create_thread(made, if_exists="raise")
        await persistence.records.set_thread_ttl(OWNER, made.thread_id, ThreadTtl("delete", 100))
        clock.move(timedelta(minutes=90))
        assert await expiry.apply_own() == 0
        await persistence.records.set_thread_ttl(OWNER, made.thread_id, ThreadTtl("delete", None))
        clock.move(DAY)
        assert await expiry.apply_own() == 0
        assert (await persistence.records.get_thread(OWNER, made.thread_id, with_ttl=True)).ttl is None
        with pytest.raises(NotFoundError):
            await persistence.records.set_thread_ttl("somebody else", made.thread_id, ThreadTtl("delete", 1))

    async def test_a_copy_has_the_time_to_live_of_its_original(
        self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        copied = await persistence.records.copy_thread(OWNER, await self.with_ttl(persistence, runs), new_id())
        clock.move(DAY)
        assert await self.expiry(persistence).apply_own() == 2
        assert not await self.exists(persistence, copied.thread_id)

    async def test_threads_in_use_are_left_alone_and_looked_at_again(
        self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        restless = await self.unrest(persistence, runs, clock)
        for thread_id in restless.values():
            await persistence.records.set_thread_ttl(OWNER, thread_id, ThreadTtl("delete", 1))
        clock.move(DAY)
        expiry = self.expiry(persistence)
        assert await expiry.apply_own() == 0
        for thread_id in restless.values():
            assert await self.exists(persistence, thread_id)
        await persistence.queue.cancel(
            None, await persistence.records.open_runs(OWNER, restless["is to be driven later"], None), "interrupt"
        )
        clock.move(timedelta(minutes=2))  # what lives a minute is looked at again after a minute
        assert await expiry.apply_own() == 1

    @pytest.mark.parametrize("needs", ["effect", "evidence", "money", "cron"])
    async def test_what_is_needed_does_not_expire(
        self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock, needs: str
    ) -> None:
        expiry = self.expiry(persistence, ThreadRule(60.0))
        await expiry.apply_rule()
        by_rule, own = await self.at_rest(runs), await self.at_rest(runs)
        await persistence.records.set_thread_ttl(OWNER, own, ThreadTtl("delete", 60))
        for thread_id in (own, by_rule):
            await persistence.database.write(lambda connection, thread_id=thread_id: NEEDS[needs](connection, thread_id))
        clock.move(DAY)
        assert (await expiry.apply_own(), await expiry.apply_rule()) == (0, 0)
        assert await self.exists(persistence, own)
        assert await self.exists(persistence, by_rule)

    async def test_keep_latest_keeps_the_thread_and_its_newest_state(
        self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        expiry, thread_id = self.expiry(persistence), await self.with_history(persistence, runs, 3)
        await persistence.records.set_thread_ttl(OWNER, thread_id, ThreadTtl("keep_latest", 60))
        clock.move(timedelta(minutes=61))
        assert await expiry.apply_own() == 1
        assert await self.checkpoints(persistence, thread_id) == 1
        clock.move(LATER)
        assert await expiry.apply_own() == 0
        assert await self.drive_three_steps(persistence, runs, thread_id) == ["one", "two", "three"] * 4
        clock.move(timedelta(hours=3))
        assert await expiry.apply_own() == 1
        assert await self.checkpoints(persistence, thread_id) == 1

    async def test_a_rule_holds_for_threads_made_since_it_was_first_seen(
        self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        expiry, before = self.expiry(persistence, WEEK), await self.at_rest(runs)
        clock.move(timedelta(seconds=1))
        assert await expiry.apply_rule() == 0
        clock.move(timedelta(seconds=1))
        since, own = await self.at_rest(runs), await self.with_ttl(persistence, runs, 60 * 24 * 365)
        clock.move(6 * DAY)
        assert await expiry.apply_rule() == 0
        clock.move(2 * DAY)
        assert await expiry.apply_rule() == 1
        assert [await self.exists(persistence, each) for each in (before, since, own)] == [True, False, True]

    async def test_a_sweep_stops_at_its_limit(self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock) -> None:
        expiry = self.expiry(persistence, ThreadRule(60.0, sweep_limit=3))
        await expiry.apply_rule()
        clock.move(timedelta(seconds=1))
        for _ in range(5):
            await self.at_rest(runs)
        clock.move(DAY)
        assert [await expiry.apply_rule() for _ in range(3)] == [3, 2, 0]

    async def test_a_rule_that_keeps_the_latest_state_shortens_histories(
        self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        expiry = self.expiry(persistence, ThreadRule(60.0, "keep_latest"))
        await expiry.apply_rule()
        clock.move(timedelta(seconds=1))
        thread_id = await self.with_history(persistence, runs, 2)
        clock.move(DAY)
        assert [await expiry.apply_rule() for _ in range(2)] == [1, 0]
        assert await self.checkpoints(persistence, thread_id) == 1

    async def test_a_thread_that_was_used_meanwhile_is_not_erased(
        self, persistence: Persistence, runs: DrivenRuns, clock: MovableClock
    ) -> None:
        thread_id = await self.with_ttl(persistence, runs)
        clock.move(DAY)
        (expired,) = await persistence.maintenance.expired_by_own_ttl()
        await persistence.records.merge_thread_metadata(OWNER, thread_id, {"used": True})
        assert not await persistence.maintenance.erase_expired(expired)
        assert await self.exists(persistence, thread_id)


def _effect(connection: Connection, thread_id: str) -> None:
    connection.execute(
        "INSERT INTO effects (origin, key, run_id, state, created_at, thread_id) VALUES (?, 'k', 'r', 'begun', 0, ?)",
        (thread_id, thread_id),
    )


def _evidence(connection: Connection, thread_id: str) -> None:
    connection.execute("INSERT INTO trail (thread_id, seq, key, line) VALUES (?, 1, 'k', ?)", (thread_id, b"x"))


def _money(connection: Connection, thread_id: str) -> None:
    connection.execute(
        "INSERT INTO payment_sessions (session_id, owner, state, mint, created_at, touched_at) VALUES (?, ?, 'active', 'm', 0, 0)",
        (thread_id, OWNER),
    )
    connection.execute("INSERT INTO payment_threads (thread_id, session_id) VALUES (?, ?)", (thread_id, thread_id))


def _cron(connection: Connection, thread_id: str) -> None:
    connection.execute(
        "INSERT INTO crons (cron_id, owner, assistant_id, thread_id, schedule, enabled, run_order, metadata, access, since, next_run,"
        " created_at, updated_at) VALUES (?, ?, 'a', ?, '0 0 1 1 *', 1, '{}', '{}', '{}', 0, 9e9, 0, 0)",
        (thread_id, OWNER, thread_id),
    )


NEEDS = {"effect": _effect, "evidence": _evidence, "money": _money, "cron": _cron}


async def rows_of(persistence: Persistence, thread_id: str) -> dict[str, int]:
    tables = ("threads", "runs", "events", "checkpoints", "writes", "thread_values", "thread_ttls", "steps", "erasing")

    def work(connection: Connection) -> dict[str, int]:
        counts = {
            table: connection.execute(f"SELECT COUNT(*) FROM {table} WHERE thread_id = ?", (thread_id,)).fetchone()[0]
            for table in tables
        }
        return {table: count for table, count in counts.items() if count}

    return await persistence.database.read(work)
