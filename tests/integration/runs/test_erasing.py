"""Deleting and trimming go in slices: others write in between, a crash loses nothing of it, and the cost grows with the data only."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.driven_runs import OWNER, a_run, a_thread, driving, new_id

from stepwell.clock import SystemClock
from stepwell.database.queue.types import Admission
from stepwell.database.records.types import Page, ThreadFilter
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import NewEvent
from stepwell.errors import NotFoundError, ThreadBusyError

DAY = timedelta(days=1)


@pytest.fixture
async def persistence(tmp_path: Path) -> AsyncIterator[EmbeddedPersistence]:
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as opened:
        yield opened


async def a_large_thread(persistence: EmbeddedPersistence, *, events: int, size: int) -> tuple[str, str]:
    """A thread and its run, which has said a lot."""
    async with driving(persistence) as runs:
        claim = await runs.begin(new_id())
        for _ in range(events // 50):
            await persistence.events.append(claim.lease, [NewEvent("custom", b"x" * size)] * 50)
        await runs.end(claim)
    return claim.run.thread_id, claim.run.run_id


def rows_of(thread_id: str) -> Callable[[sqlite3.Connection], int]:
    tables = ("events", "runs", "threads", "thread_values", "erasing")
    return lambda c: sum(
        c.execute(f"SELECT COUNT(*) FROM {table} WHERE thread_id = ?", (thread_id,)).fetchone()[0] for table in tables
    )


async def test_others_write_while_a_large_thread_is_deleted(persistence: EmbeddedPersistence) -> None:
    thread_id, _ = await a_large_thread(persistence, events=600, size=32_768)  # some 80 slices
    deleting = asyncio.create_task(persistence.records.delete_thread(OWNER, thread_id))
    written = 0
    while not deleting.done():
        await persistence.records.create_thread(a_thread(), if_exists="raise")
        written += 1
    await deleting
    assert written > 20
    assert await persistence.database.read(rows_of(thread_id)) == 0


async def test_a_thread_is_gone_at_once_and_its_rows_follow_also_after_a_crash(tmp_path: Path) -> None:
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as persistence:
        thread_id, run_id = await a_large_thread(persistence, events=600, size=32_768)
        before = await persistence.database.read(rows_of(thread_id))
        deleting = asyncio.create_task(persistence.records.delete_thread(OWNER, thread_id))
        while await persistence.database.read(rows_of(thread_id)) > before - 100:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        deleting.cancel()  # as when the process dies: nobody goes on with it
        await asyncio.gather(deleting, return_exceptions=True)
        assert await persistence.database.read(rows_of(thread_id)) > 100
        records = persistence.records
        for look in (records.get_thread(OWNER, thread_id), records.get_run(OWNER, thread_id, run_id)):
            with pytest.raises(NotFoundError):
                await look
        assert await records.search_threads(OWNER, ThreadFilter(), Page()) == []
        assert await persistence.queue.finished(run_id, timeout_s=60) == "gone"
        assert [batch async for batch in persistence.events.follow_thread(thread_id)] == []
        with pytest.raises(ThreadBusyError, match="being deleted"):
            await records.create_thread(a_thread(thread_id=thread_id), if_exists="raise")
        with pytest.raises(ThreadBusyError, match="being deleted"):
            await persistence.queue.admit(Admission(a_run(thread_id), create_thread=True))
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as persistence:
        await persistence.maintenance.sweep()
        assert await persistence.database.read(rows_of(thread_id)) == 0
        await persistence.records.create_thread(a_thread(thread_id=thread_id), if_exists="raise")


def note_many(thread_id: str, effects: int, checkpoints: int) -> Callable[[sqlite3.Connection], None]:
    """Effects that are older than the oldest checkpoint, and of runs that have none."""

    def work(connection: sqlite3.Connection) -> None:
        connection.executemany(
            "INSERT INTO effects (origin, thread_id, key, run_id, state, result, created_at) VALUES (?, ?, ?, ?, 'done', x'00', 1)",
            [("an origin", thread_id, f"key {number}", f"run {number}") for number in range(effects)],
        )
        connection.executemany(
            "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, run_id, type, checkpoint, metadata, created_at)"
            " VALUES (?, '', ?, 'newer', 'x', ?, '{}', 2)",
            [(thread_id, f"{number:09}", b"x" * 500) for number in range(checkpoints)],
        )

    return work


async def steps_to_forget(persistence: EmbeddedPersistence, steps: list[int], effects: int) -> int:
    thread = await persistence.records.create_thread(a_thread(), if_exists="raise")
    await persistence.database.write(note_many(thread.thread_id, effects, 2 * effects))
    steps.clear()
    gone = await persistence.maintenance.forget_settled(SystemClock().now() - DAY)
    assert gone == effects
    return len(steps)


async def test_forgetting_effects_grows_with_their_number_and_not_with_its_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    connect = sqlite3.connect

    def counting(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made = connect(*arguments, **options)
        made.set_progress_handler(lambda: steps.append(1), 10)
        return made

    monkeypatch.setattr(sqlite3, "connect", counting)
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as persistence:
        few = await steps_to_forget(persistence, steps, 300)
        many = await steps_to_forget(persistence, steps, 1200)
    assert many < 6 * few, f"{few} steps for 300 effects, {many} for 1,200"
