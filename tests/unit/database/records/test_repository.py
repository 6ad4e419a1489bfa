"""The embedded repository beyond the shared suite: what is erased is gone from the file, what is copied is whole."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.driven_runs import OWNER, a_thread, driving, new_id

from stepwell.database.queue.types import ClaimedRun
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import Page, ThreadFilter
from stepwell.database.rows import to_time
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import ModelUsage, NewEvent, PendingInterrupt, RunOutcome
from stepwell.errors import NotFoundError, StorageUnavailableError

SECRET = "a-secret-that-must-not-linger"


class StoppedClock:
    def __init__(self) -> None:
        self.moment = datetime(2024, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
async def persistence(tmp_path: Path) -> AsyncIterator[EmbeddedPersistence]:
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as opened:
        yield opened


async def fill_thread(persistence: EmbeddedPersistence) -> ClaimedRun:
    """A thread with a row in every table that knows threads."""
    async with driving(persistence) as runs:
        claim = await runs.begin(new_id(), metadata={"note": SECRET})
        thread_id, run_id = claim.run.thread_id, claim.run.run_id
        await persistence.events.append(claim.lease, [NewEvent("values", SECRET.encode() * 500)])

        def work(connection: sqlite3.Connection) -> None:
            for namespace in ("", "sub:1"):
                fill(
                    connection,
                    "checkpoints",
                    thread_id=thread_id,
                    run_id=run_id,
                    checkpoint_ns=namespace,
                    checkpoint=SECRET.encode() * 500,
                )
                fill(connection, "writes", thread_id=thread_id, run_id=run_id, checkpoint_ns=namespace, value=SECRET.encode())
            fill(connection, "replaced_writes", thread_id=thread_id, run_id=run_id, value=SECRET.encode())
            fill(connection, "documents", thread_id=thread_id, changes=SECRET.encode())
            fill(connection, "effects", thread_id=thread_id, run_id=run_id, result=SECRET)
            fill(connection, "webhooks", run_id=run_id, body=SECRET.encode())
            fill(connection, "evidence", thread_id=thread_id, content=SECRET.encode())
            fill(connection, "trail", thread_id=thread_id, line=SECRET.encode())
            fill(connection, "unreadable_runs", thread_id=thread_id, run_id=run_id, request=SECRET)
            fill(connection, "steps", thread_id=thread_id, run_id=run_id, error=SECRET)
            fill(connection, "file_journal", thread_id=thread_id, run_id=run_id, name=SECRET)
            fill(connection, "file_images", thread_id=thread_id, content=SECRET.encode())
            fill(connection, "steering", thread_id=thread_id, run_id=run_id, content=SECRET)
            fill(connection, "shared_spending", thread_id=thread_id, run_id=run_id)
            fill(connection, "erasing", thread_id=thread_id)
            fill(connection, "background_tasks", task_id=thread_id, run_id=run_id, description=SECRET, task="{}")
            fill(connection, "background_wakes", task_id=thread_id, run_id=run_id)
            fill(connection, "crons", thread_id=thread_id, run_order=SECRET)
            fill(connection, "cron_slots", thread_id=thread_id, run_id=run_id, note=SECRET)
            fill(connection, "thread_ttls", thread_id=thread_id)
            fill(connection, "payment_threads", thread_id=thread_id)

        await persistence.database.write(work)
        question = PendingInterrupt("i", SECRET)
        usage = [ModelUsage("m", 1, 2, 3, None)]
        await runs.end(
            claim, RunOutcome("success", "interrupted", values=b'"%s"' % SECRET.encode(), interrupts=[question], usage=usage)
        )
    return claim


def fill(connection: sqlite3.Connection, table: str, **known: object) -> None:
    """A row with something in every column that must have something."""
    columns = {row["name"]: row for row in connection.execute(f"PRAGMA table_info({table})")}
    plain: Callable[[str], object] = lambda kind: {"TEXT": "x", "INTEGER": 1, "REAL": 1.0}.get(kind, b"x")  # noqa: E731
    values = {name: known.get(name, plain(row["type"])) for name, row in columns.items() if row["notnull"] or name in known}
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))


def rows_that_name(connection: sqlite3.Connection, thread_id: str, run_id: str) -> dict[str, int]:
    """In every table there is, how many rows hold the thread's or the run's id anywhere."""
    tables = [row["name"] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    counts = {}
    for table in tables:
        rows = [tuple(row) for row in connection.execute(f'SELECT * FROM "{table}"')]
        counts[table] = sum(thread_id in row or run_id in row for row in rows)
    return {table: count for table, count in counts.items() if count}


def tables_that_know_threads(connection: sqlite3.Connection) -> set[str]:
    return {
        table["name"]
        for table in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for column in connection.execute(f"PRAGMA table_info({table['name']})")
        if column["name"] in ("thread_id", "run_id")
    }


def files_with(text: str, folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if text.encode() in file.read_bytes()]


async def test_an_erased_thread_is_named_in_no_table(persistence: EmbeddedPersistence):
    claim = await fill_thread(persistence)
    names = (claim.run.thread_id, claim.run.run_id)
    before = await persistence.database.read(lambda connection: rows_that_name(connection, *names))
    assert set(before) == await persistence.database.read(tables_that_know_threads), "fill_thread does not fill a new table"
    await persistence.records.delete_thread(OWNER, claim.run.thread_id)
    assert await persistence.database.read(lambda connection: rows_that_name(connection, *names)) == {}


async def test_an_erased_threads_bytes_are_gone_from_the_files(tmp_path: Path):
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as persistence:
        claim = await fill_thread(persistence)
        assert files_with(SECRET, tmp_path) != []
        await persistence.records.delete_thread(OWNER, claim.run.thread_id)
    assert files_with(SECRET, tmp_path) == []


async def test_a_thread_that_is_gone_is_told_of_after_the_commit(tmp_path: Path):
    database = Database(tmp_path / "stepwell.db")
    told: list[str] = []
    records = Repository(database, StoppedClock(), erased=told.append)
    thread = await records.create_thread(a_thread(), if_exists="raise")
    with pytest.raises(NotFoundError):
        await records.delete_thread("somebody else", thread.thread_id)
    assert told == []
    await records.delete_thread(OWNER, thread.thread_id)
    assert told == [thread.thread_id]
    await asyncio.to_thread(database.close)


async def test_a_copy_has_the_checkpoints_and_writes_of_all_namespaces(persistence: EmbeddedPersistence):
    claim = await fill_thread(persistence)
    copy = await persistence.records.copy_thread(OWNER, claim.run.thread_id, new_id())

    def rows(connection: sqlite3.Connection, table: str, thread_id: str) -> list[dict[str, object]]:
        found = connection.execute(f"SELECT * FROM {table} WHERE thread_id = ? ORDER BY checkpoint_ns", (thread_id,))
        return [{name: row[name] for name in row.keys() if name != "thread_id"} for row in found]  # noqa: SIM118  a Row iterates over values

    def both(connection: sqlite3.Connection, table: str) -> list[list[dict[str, object]]]:
        return [rows(connection, table, name) for name in (claim.run.thread_id, copy.thread_id)]

    for table in ("checkpoints", "writes"):
        original, copied = await persistence.database.read(lambda connection, table=table: both(connection, table))
        assert len(original) == 2
        assert copied == original
    left = await persistence.database.read(lambda connection: rows_that_name(connection, copy.thread_id, copy.thread_id))
    assert set(left) == {
        "threads",
        "thread_values",
        "checkpoints",
        "writes",
        "file_journal",
        "file_images",
        "interrupts",
        "trail",
        "evidence",
        "payment_threads",
        "thread_ttls",
    }


async def test_threads_that_are_kept_for_a_while_go_when_their_time_is_up(tmp_path: Path):
    database, clock = Database(tmp_path / "stepwell.db"), StoppedClock()
    records = Repository(database, clock)
    for name in ("soon", "later", "always"):
        await records.create_thread(a_thread(thread_id=name), if_exists="raise")
    for name, minutes in (("soon", 1), ("later", 5)):
        due = to_time(clock.moment + timedelta(minutes=minutes))
        await database.write(
            lambda connection, due=due, name=name: connection.execute(
                "UPDATE threads SET expires_at = ? WHERE thread_id = ?", (due, name)
            )
        )
    assert await records.delete_expired_threads() == []
    clock.moment += timedelta(minutes=2)
    assert await records.delete_expired_threads() == ["soon"]
    clock.moment += timedelta(days=1)
    assert await records.delete_expired_threads() == ["later"]
    with pytest.raises(NotFoundError):
        await records.get_thread(OWNER, "soon")
    assert (await records.get_thread(OWNER, "always")).thread_id == "always"
    await asyncio.to_thread(database.close)


async def test_the_thread_of_a_stateless_run_is_not_listed(persistence: EmbeddedPersistence):
    thread = await persistence.records.create_thread(a_thread(), if_exists="raise")
    await persistence.database.write(lambda connection: connection.execute("UPDATE threads SET temporary = 1"))
    assert await persistence.records.search_threads(OWNER, ThreadFilter(), Page()) == []
    assert await persistence.records.count_threads(OWNER, ThreadFilter()) == 0
    assert (await persistence.records.get_thread(OWNER, thread.thread_id)).thread_id == thread.thread_id


async def test_values_are_read_only_for_whoever_asks_for_them(persistence: EmbeddedPersistence):
    claim = await fill_thread(persistence)
    thread_id = claim.run.thread_id
    # A document that is not there: whoever looks at the values fails.
    await persistence.database.write(lambda connection: connection.execute("UPDATE thread_values SET document = 999"))
    (found,) = await persistence.records.search_threads(None, ThreadFilter(), Page(), with_values=False)
    assert found == await persistence.records.get_thread(None, thread_id, with_values=False)
    assert found.values is None
    assert await persistence.records.count_threads(None, ThreadFilter(metadata={"note": SECRET})) == 1
    with pytest.raises(StorageUnavailableError, match="999"):
        await persistence.records.search_threads(None, ThreadFilter(), Page())


async def test_a_search_finds_values_that_are_stored_as_changes(persistence: EmbeddedPersistence):
    state = {"lines": ["a line"] * 500, "note": {"colour": "blue"}}
    async with driving(persistence) as runs:
        for values in (state, {**state, "note": {"colour": "red"}}):
            claim = await runs.begin(new_id())
            documents = await persistence.events.documents(claim.run.thread_id)
            await runs.end(claim, RunOutcome("success", "idle", values=documents.write_values(values)))
    (found,) = await persistence.records.search_threads(None, ThreadFilter(values={"note": {"colour": "blue"}}), Page())
    assert found.values == state


async def test_reads_that_take_long_leave_the_others_their_readers(persistence: EmbeddedPersistence):
    let_go = threading.Event()
    long = [asyncio.create_task(persistence.database.read(lambda _: let_go.wait(120), patient=True)) for _ in range(20)]
    try:
        async with asyncio.timeout(60):
            assert await persistence.records.count_threads(None, ThreadFilter()) == 0
    finally:
        let_go.set()
    assert all(await asyncio.gather(*long))


async def test_a_copy_asks_what_a_run_under_way_asks_only_when_langgraph_has_stored_it(persistence: EmbeddedPersistence):
    """The question is known a moment before; a copy made in that moment would show it and could not be answered."""
    async with driving(persistence) as runs:
        claim = await runs.begin(new_id())
        thread_id, run_id = claim.run.thread_id, claim.run.run_id
        await persistence.queue.ask(claim.lease, [PendingInterrupt("i", "?", "", "task")])
        assert (await persistence.records.copy_thread(OWNER, thread_id, new_id())).interrupts == ()
        stored = {"thread_id": thread_id, "run_id": run_id, "task_id": "task", "channel": "__interrupt__"}
        await persistence.database.write(lambda connection: fill(connection, "writes", **stored))
        assert len((await persistence.records.copy_thread(OWNER, thread_id, new_id())).interrupts) == 1
        await runs.end(claim)
