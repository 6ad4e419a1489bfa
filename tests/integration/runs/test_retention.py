"""What is deleted, and that what stays goes on as if nothing had been: real engine, real file, deep agents and plain graphs."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stepwell.clock import SystemClock
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.checkpoints.serializer import strict_serializer
from stepwell.database.sqlite.database import Database, free_bytes
from stepwell.database.upkeep.compaction import FaithfulSerializer
from stepwell.database.upkeep.maintenance import maintenance_of
from stepwell.errors import ConfigurationError, NotFoundError
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.threads.operations import Threads
from stepwell.runs.upkeep.housekeeping import Housekeeping, RetentionRules
from stepwell.runs.upkeep.retention import Retention, RetentionReport

from .conftest import GRAPHS, OWNER, OpenRuns, Runs, new_id

ASK = {"messages": [{"role": "user", "content": "go"}]}
APPROVE = {"decisions": [{"type": "approve"}]}
LONG_AGO = timedelta(days=40)


@dataclass
class Later:
    """A clock that is ahead."""

    by: timedelta = LONG_AGO

    def now(self) -> datetime:
        return datetime.now(UTC) + self.by


async def prune(runs: Runs, *, later: timedelta = timedelta(), graphs: bool = True, **rules: Any) -> RetentionReport:
    registry = GraphRegistry.from_specs({name: f"./graphs.py:{name}" for name in GRAPHS}, Path(__file__).parent)
    persistence = runs.persistence
    keeper = Retention(persistence.maintenance, registry if graphs else None, persistence.saver(), Later(later))
    return await keeper.apply(RetentionRules(**rules))


async def talk(runs: Runs, thread_id: str, *turns: int) -> None:
    for turn in turns:
        asked = {"messages": [{"role": "user", "content": f"turn-{turn}"}]}
        await runs.result(await runs.start("talker", thread_id, input=asked))
    assert (await runs.thread(thread_id)).status == "idle"


async def answer_all(runs: Runs, thread_id: str) -> None:
    while (await runs.thread(thread_id)).interrupts:
        question = (await runs.thread(thread_id)).interrupts[0]
        await runs.result(await runs.start("deep", thread_id, command={"resume": {question.interrupt_id: APPROVE}}))


async def state_of(runs: Runs, thread_id: str) -> dict[str, Any]:
    registry = GraphRegistry.from_specs({name: f"./graphs.py:{name}" for name in GRAPHS}, Path(__file__).parent)
    return await Threads(runs.persistence, registry, SystemClock(), new_id).state(OWNER, thread_id, subgraphs=True)


def rows(runs: Runs, table: str, thread_id: str) -> int:
    sql = f"SELECT COUNT(*) FROM {table} WHERE thread_id = ?"
    return int(runs.persistence.database.read_now(lambda connection: connection.execute(sql, (thread_id,)).fetchone()[0]))


def said(values: Mapping[str, Any]) -> Any:
    """The state without what differs from thread to thread: ids of messages, times of files."""
    messages = [
        (message["type"], message["content"], [call["name"] for call in message.get("tool_calls") or ()])
        for message in values["messages"]
    ]
    files = {path: file["content"] for path, file in values["files"].items()}
    places = {message["id"]: place for place, message in enumerate(values["messages"])}
    summary = {name: places.get(value, value) for name, value in values["summary"].items()}
    return messages, files, summary, values["todos"]


@pytest.mark.parametrize("graphs", [True, False], ids=["with its graph", "without its graph"])
async def test_a_shrunk_deep_agent_has_the_same_state_and_goes_on_like_its_twin(runs: Runs, graphs: bool) -> None:
    shrunk, twin = new_id(), new_id()
    await talk(runs, shrunk, 1, 2, 3, 4)
    before = await state_of(runs, shrunk)
    assert before["values"]["summary"], "the conversation is too short to be summed up"
    stored = rows(runs, "checkpoints", shrunk)
    report = await prune(runs, keep_last=1, graphs=graphs)
    assert report.threads_shrunk == 1
    assert not report.left_alone
    assert rows(runs, "checkpoints", shrunk) == 1 < stored
    after = await state_of(runs, shrunk)
    assert after == before
    await talk(runs, shrunk, 5, 6)
    await talk(runs, twin, 1, 2, 3, 4, 5, 6)
    assert said((await state_of(runs, shrunk))["values"]) == said((await state_of(runs, twin))["values"])


async def test_keeping_some_checkpoints_keeps_exactly_those_and_their_states(runs: Runs, thread_id: str) -> None:
    await talk(runs, thread_id, 1, 2)
    saver = runs.persistence.saver()
    config = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    before = [found async for found in saver.alist(config, limit=3)]  # type: ignore[arg-type]
    await prune(runs, keep_last=3)
    after = [found async for found in saver.alist(config)]  # type: ignore[arg-type]
    assert [found.config for found in after] == [found.config for found in before]
    assert [found.pending_writes for found in after] == [found.pending_writes for found in before]


async def test_a_thread_with_an_open_question_is_never_touched(runs: Runs, thread_id: str) -> None:
    """Neither by age nor by count; answered, it goes on to its end with its subagents."""
    await runs.result(await runs.start("deep", thread_id, input=ASK))
    assert (await runs.thread(thread_id)).interrupts
    stored = rows(runs, "checkpoints", thread_id), rows(runs, "writes", thread_id), rows(runs, "events", thread_id)
    report = await prune(runs, later=LONG_AGO, older_than=timedelta(days=30), keep_last=1)
    assert (report.threads_erased, report.threads_shrunk) == (0, 0)
    assert stored == (rows(runs, "checkpoints", thread_id), rows(runs, "writes", thread_id), rows(runs, "events", thread_id))
    await answer_all(runs, thread_id)
    assert sorted((await state_of(runs, thread_id))["values"]["files"]) == ["/helper-0.md", "/helper-1.md", "/note.md"]


async def test_a_thread_with_a_run_under_way_is_never_touched(runs: Runs, thread_id: str) -> None:
    run = await runs.start("waiting", thread_id, input={"words": ["x"]})
    async for batch in runs.engine.events(OWNER, thread_id, run.run_id):
        if any(event.event == "values" and b"hello" in event.data for event in batch):
            break
    stored = rows(runs, "checkpoints", thread_id)
    assert stored > 1
    report = await prune(runs, later=LONG_AGO, older_than=timedelta(days=30), keep_last=1)
    assert (report.threads_erased, report.threads_shrunk) == (0, 0)
    assert rows(runs, "checkpoints", thread_id) == stored
    await runs.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)


async def test_a_thread_that_waits_for_a_later_run_is_not_erased(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("two", thread_id, input={"words": []}))
    await runs.start("two", thread_id, input={"words": []}, after_seconds=60 * 60 * 24 * 90)
    assert (await prune(runs, later=LONG_AGO, older_than=timedelta(days=30))).threads_erased == 0


async def test_old_threads_go_whole_and_their_usage_stays(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("chat", thread_id, input=ASK))
    fresh = await prune(runs, later=timedelta(days=29), older_than=timedelta(days=30))
    assert fresh.threads_erased == 0
    old = await prune(runs, later=LONG_AGO, older_than=timedelta(days=30))
    assert old.threads_erased == 1
    with pytest.raises(NotFoundError):
        await runs.thread(thread_id)
    for table in ("checkpoints", "writes", "events", "runs", "interrupts", "effects"):
        assert rows(runs, table, thread_id) == 0
    used = await runs.persistence.records.usage(OWNER, "thread")
    assert [(row.key, row.runs) for row in used] == [("", 1)]


async def test_of_a_kept_thread_old_runs_lose_their_events_and_the_newest_keeps_its_result(runs: Runs, thread_id: str) -> None:
    first = await runs.start("two", thread_id, input={"words": ["a"]})
    await runs.result(first)
    last = await runs.start("two", thread_id, input={"words": ["b"]})
    result = await runs.result(last)
    # Somebody has looked after the thread since: it is not old itself.
    runs.persistence.database.write_now(
        lambda c: c.execute("UPDATE threads SET updated_at = ?", ((datetime.now(UTC) + LONG_AGO).timestamp(),))
    )
    report = await prune(runs, later=LONG_AGO, older_than=timedelta(days=30))
    assert report.threads_erased == 0
    assert report.events_deleted > 0
    assert await runs.result(last) == result
    assert await runs.events(first) == []
    assert (await runs.events(last))[-1].event == "end"
    assert (await runs.run(first)).status == "success"


async def test_a_dry_run_says_what_would_go_and_deletes_nothing(runs: Runs, thread_id: str) -> None:
    await talk(runs, thread_id, 1, 2)
    stored = rows(runs, "checkpoints", thread_id)
    persistence = runs.persistence
    keeper = Retention(persistence.maintenance, None, persistence.saver(), Later())
    report = await keeper.apply(RetentionRules(timedelta(days=30), 1), dry_run=True)
    assert report.threads_erased == 1
    assert report.checkpoints_deleted > 1
    assert rows(runs, "checkpoints", thread_id) == stored


async def test_done_effects_go_only_when_no_checkpoint_can_ask_for_them(runs: Runs, thread_id: str) -> None:
    await talk(runs, thread_id, 1, 2)

    def plant(connection: sqlite3.Connection) -> None:
        oldest, newest = connection.execute(
            "SELECT MIN(created_at), MAX(created_at) FROM checkpoints WHERE thread_id = ?", (thread_id,)
        ).fetchone()
        for key, state, at in (("before", "done", oldest - 1), ("unknown", "begun", oldest - 1), ("after", "done", newest + 1)):
            connection.execute(
                "INSERT INTO effects (origin, thread_id, key, run_id, state, created_at) VALUES ('x', ?, ?, 'gone', ?, ?)",
                (thread_id, key, state, at),
            )

    runs.persistence.database.write_now(plant)
    forgotten = await runs.persistence.maintenance.forget_settled(datetime.now(UTC) + LONG_AGO)
    assert forgotten == 1
    left = runs.persistence.database.read_now(lambda c: [row[0] for row in c.execute("SELECT key FROM effects ORDER BY key")])
    assert left == ["after", "unknown"]


async def test_effects_that_a_person_or_a_copy_may_ask_for_are_not_forgotten(runs: Runs, thread_id: str) -> None:
    await talk(runs, thread_id, 1, 2)
    copied = new_id()
    await runs.persistence.records.copy_thread(OWNER, thread_id, copied)

    def plant(connection: sqlite3.Connection) -> None:
        origin = connection.execute("SELECT origin FROM threads WHERE thread_id = ?", (thread_id,)).fetchone()[0]
        for key, whose, thread, state, taken_back, settled_at in (
            ("a copy's", origin, thread_id, "done", 0, None),
            ("a deleted thread's, which has a copy", origin, None, "done", 0, None),
            ("a deleted thread's", "nobody's", None, "done", 0, None),
            ("a deleted thread's, unknown", "nobody's", None, "begun", 0, None),
            ("a deleted thread's, settled", "nobody's", None, "not_done", 1, 1.0),
            ("rolled back", "nobody's", None, "done", 1, None),
        ):
            connection.execute(
                "INSERT INTO effects (origin, thread_id, key, run_id, state, created_at, taken_back, settled_at)"
                " VALUES (?, ?, ?, '', ?, 0, ?, ?)",
                (whose, thread, key, state, taken_back, settled_at),
            )

    def left(connection: sqlite3.Connection) -> set[str]:
        return {row[0] for row in connection.execute("SELECT key FROM effects")}

    runs.persistence.database.write_now(plant)
    assert await runs.persistence.maintenance.forget_settled(datetime.now(UTC) + LONG_AGO) == 2
    kept = {"a copy's", "a deleted thread's, which has a copy", "a deleted thread's, unknown", "rolled back"}
    assert runs.persistence.database.read_now(left) == kept
    await runs.persistence.records.delete_thread(OWNER, copied)
    assert await runs.persistence.maintenance.forget_settled(datetime.now(UTC) + LONG_AGO) == 1
    assert runs.persistence.database.read_now(left) == kept - {"a copy's"}


@dataclass
class Money:
    """A class of a user's project, which only that project's graph lets back to life."""

    sats: int


def test_values_of_unknown_classes_are_never_rewritten() -> None:
    """Written back as the plain data they are read as, they would have lost their class for ever."""
    data = strict_serializer().dumps_typed({"deadline": timedelta(1), "id": uuid.uuid4()})
    assert FaithfulSerializer(strict_serializer()).loads_typed(data)["deadline"] == timedelta(1)
    foreign = strict_serializer().dumps_typed({"price": Money(1)})
    with pytest.raises(ConfigurationError, match="only its graph knows"):
        FaithfulSerializer(strict_serializer()).loads_typed(foreign)


async def test_the_sweep_removes_what_has_expired_and_nothing_else(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("two", thread_id, input={"words": []}))
    stateless = await runs.start("two", None, input={"words": []})
    await runs.result(stateless)
    store = runs.persistence.store(OWNER)
    await store.aput(("kept",), "a", {"x": 1})
    await store.aput(("gone",), "b", {"x": 1}, ttl=1)
    await runs.persistence.maintenance.sweep()
    assert rows(runs, "threads", stateless.thread_id) == 1  # still read by whoever is a little behind
    assert await maintenance_of(runs.persistence.database, Later(), new_id).sweep() == 2
    assert rows(runs, "threads", stateless.thread_id) == 0
    assert rows(runs, "threads", thread_id) == 1
    assert await store.aget(("kept",), "a") is not None


async def test_housekeeping_sweeps_by_itself_and_survives_its_own_failures(runs: Runs) -> None:
    swept: list[int] = []

    async def fail() -> None:
        swept.append(1)
        raise ValueError("one bad row")

    async with Housekeeping(runs.persistence.maintenance, fail, sweep_s=0.01, retain_s=0.01):
        async with asyncio.timeout(60):
            while len(swept) < 3:  # noqa: ASYNC110 - nobody tells when it has swept
                await asyncio.sleep(0.01)


async def test_freed_space_is_given_back_while_the_database_is_open(runs: Runs) -> None:
    thread_ids = [new_id() for _ in range(5)]
    for thread_id in thread_ids:
        await runs.result(await runs.start("two", thread_id, input={"words": ["x" * 200_000]}))
    await prune(runs, later=LONG_AGO, older_than=timedelta(days=30))
    database = runs.persistence.database
    free = database.read_now(free_bytes)
    assert free > 1_000_000
    given = await runs.persistence.maintenance.give_back_space()
    assert given > free * 0.9
    assert database.read_now(free_bytes) < free * 0.1


async def test_pruning_beside_a_server_at_work_loses_nothing(open_runs: OpenRuns) -> None:
    """The file is pruned again and again by a second database while runs go on: every thread ends as it should."""
    async with open_runs() as runs:
        second = Database(runs.persistence.database.path)
        try:
            clock = SystemClock()
            keeper = Retention(maintenance_of(second, clock, new_id), None, SqlSaver(second, clock=clock), clock)

            async def keep_pruning() -> None:
                while True:
                    await keeper.apply(RetentionRules(keep_last=1))
                    await asyncio.sleep(0.01)

            pruning = asyncio.create_task(keep_pruning())
            threads = [new_id() for _ in range(6)]
            await asyncio.gather(*(talk(runs, thread_id, 1, 2, 3) for thread_id in threads))
            assert not pruning.done()
            pruning.cancel()
        finally:
            second.close()
        for thread_id in threads:
            values = (await state_of(runs, thread_id))["values"]
            assert [message["content"] for message in values["messages"] if message["type"] == "human"] == [
                "turn-1",
                "turn-2",
                "turn-3",
            ]
            assert sorted(values["files"]) == ["/turn-1.md", "/turn-2.md", "/turn-3.md"]
