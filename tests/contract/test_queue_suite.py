"""The suite for queues finds out what it is there to find out: implementations that break one rule each, and which test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.contract.suites.queue import clocks
from tests.contract.suites.queue.case import ShiftedClock
from tests.contract.suites.queue.clocks import ClockCases
from tests.contract.suites.queue.pipeline import PipelineCases
from tests.support.driven_runs import new_id

from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.queue.types import LEASE_S
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import Lease
from stepwell.errors import LeaseLostError

LATE_S = 0.2


class LateCheckpoints(EmbeddedPersistence):
    """Checkpoints have a queue of their own, which is slow."""

    def saver(self, lease: Lease | None = None, steering: Any = None) -> Any:
        saver = super().saver(lease, steering)
        put = saver.aput

        async def put_late(*arguments: Any) -> Any:
            await asyncio.sleep(LATE_S)
            return await put(*arguments)

        if lease is not None:
            saver.aput = put_late  # type: ignore[method-assign]
        return saver


class LateEffects(EmbeddedPersistence):
    """Effects have a queue of their own, which is slow."""

    def effects(self, lease: Lease) -> Any:
        journal = super().effects(lease)
        begin = journal.begin

        def begin_late(*arguments: Any) -> Any:
            async def late() -> Any:
                await asyncio.sleep(LATE_S)
                return await asyncio.wrap_future(begin(*arguments))

            return asyncio.run_coroutine_threadsafe(late(), asyncio.get_running_loop())

        journal.begin = begin_late  # type: ignore[method-assign]
        return journal


BREAKS_ORDER = [LateCheckpoints, LateEffects]


@pytest.mark.parametrize("mutated", BREAKS_ORDER)
@pytest.mark.parametrize(
    "case",
    [
        PipelineCases.test_what_is_handed_in_under_one_lease_is_stored_in_that_order,
        PipelineCases.test_a_run_ends_after_everything_that_was_handed_in_before,
    ],
)
async def test_an_implementation_that_reorders_is_found_out(
    mutated: type[EmbeddedPersistence], case: Callable[..., Any], tmp_path: Path
) -> None:
    async with EmbeddedPersistence(tmp_path / "right.db") as right:
        await case(PipelineCases(), right, right, new_id())
    async with mutated(tmp_path / "wrong.db") as wrong:
        with pytest.raises((AssertionError, LeaseLostError)):
            await case(PipelineCases(), wrong, wrong, new_id())


async def _serve_for_a_while(url: str) -> None:
    """Until the database has been there for so long that silence means something."""
    since = f"SELECT clock_timestamp() > pg_postmaster_start_time() + INTERVAL '{LEASE_S / 2} seconds'"
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        while True:
            (served,) = await (await connection.execute(since.encode())).fetchone() or (False,)
            if served:
                return
            await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    ("case", "ahead_s"),
    [
        (ClockCases.test_a_wrong_clock_takes_no_run_from_a_living_worker, 3600),
        (ClockCases.test_a_worker_with_a_wrong_clock_keeps_its_run_as_long_as_it_lives, -3600),
        (ClockCases.test_a_worker_with_a_wrong_clock_loses_its_run_when_it_dies, 3600),
        (ClockCases.test_a_wrong_clock_sees_that_another_worker_has_died, -3600),
    ],
)
async def test_an_implementation_that_trusts_its_own_clock_is_found_out(
    case: Callable[..., Any], ahead_s: float, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(ahead_s: float, lease_s: float) -> PostgresPersistence:
        clock = ShiftedClock()
        clock.move(ahead_s)
        return PostgresPersistence(postgres_url, clock=clock, lease_s=lease_s)

    await _serve_for_a_while(postgres_url)
    monkeypatch.setattr(clocks, "PATIENCE_S", 10.0)  # what never comes is waited for
    with pytest.raises((AssertionError, LeaseLostError, TimeoutError)):
        await case(ClockCases(), opened, new_id(), ahead_s)
