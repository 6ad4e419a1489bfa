"""What only the embedded saver promises: order, few statements, safe reading, traces of a run. The rest: tests/contract."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import RESUME
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from stepwell.clock import SystemClock
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.checkpoints.serializer import check_strict, strict_serializer
from stepwell.database.persistence import run_wrote
from stepwell.database.sqlite.database import Database
from stepwell.database.types import Lease
from stepwell.errors import ConfigurationError, LeaseLostError
from stepwell.state import DeepAgentState, acompact, compact
from stepwell.state.channels import incremental, rebuild, snapshot

NULL_TASK = "00000000-0000-0000-0000-000000000000"
ROOT: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}

# As the queue does when it claims a run.
_TAKE = """
INSERT INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at, fence, lease_holder, lease_run)
VALUES ('t', 'ada', 'busy', '{}', '{}', 0, 0, 1, 'worker', :run)
ON CONFLICT DO UPDATE SET fence = fence + 1, lease_run = :run RETURNING fence
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "stepwell.db")
    yield database
    database.close()


def taking(run_id: str):
    return lambda connection: connection.execute(_TAKE, {"run": run_id}).fetchone()[0]


def saver_for(database: Database, run_id: str = "r") -> SqlSaver:
    fence = database.write_now(taking(run_id))
    return SqlSaver(database, Lease("t", run_id, fence, "ada", "worker"), clock=SystemClock())


def put_checkpoint(saver: SqlSaver, after: RunnableConfig = ROOT) -> RunnableConfig:
    return saver.put(after, empty_checkpoint(), {"step": 0}, {})


class TestOrder:
    async def test_a_checkpoint_is_handed_in_before_anything_that_follows(self, database: Database):
        saver = saver_for(database)
        putting = asyncio.ensure_future(saver.aput(ROOT, empty_checkpoint(), {}, {}))
        await asyncio.sleep(0)  # its first step: up to the first await
        seen = await database.write(lambda connection: connection.execute("SELECT COUNT(*) FROM checkpoints").fetchone()[0])
        assert seen == 1
        await putting

    async def test_whoever_is_overtaken_while_waiting_is_refused(self, database: Database):
        saver = saver_for(database)
        overtaking = database.submit(taking("other"))  # not yet done, but first in the queue
        with pytest.raises(LeaseLostError):
            await saver.aput(ROOT, empty_checkpoint(), {}, {})
        with pytest.raises(LeaseLostError):
            await saver.aput_writes({"configurable": {**ROOT["configurable"], "checkpoint_id": "1"}}, [("a", 1)], "task")
        assert overtaking.result(1) == 2
        assert [each async for each in saver.alist(ROOT)] == []


class TestFewStatements:
    def test_a_long_way_back_is_two_statements(self, database: Database, monkeypatch: pytest.MonkeyPatch):
        saver, config = saver_for(database), ROOT
        for n in range(120):
            config = put_checkpoint(saver, config)
            saver.put_writes(config, [("log", n)], "task", "~1")
        statements: list[str] = []
        database.read_now(lambda connection: connection.set_trace_callback(statements.append))
        statements.clear()
        inherited = saver.get_delta_channel_history(config=config, channels=["log", "other"])
        assert [value for _, _, value in inherited["log"]["writes"]] == list(range(119))
        assert [text for text in statements if text.split()[0] in ("SELECT", "WITH")] == statements[1:-1]
        assert len(statements[1:-1]) == 2

    def test_a_history_reads_the_past_that_its_checkpoints_share_once(self, database: Database):
        saver, config = saver_for(database), ROOT
        configs = []
        for n in range(60):
            values = {"log": snapshot([n])} if n in (0, 40) else {}
            config = saver.put(config, {**empty_checkpoint(), "channel_values": values}, {"step": n}, {})
            saver.put_writes(config, [("log", n)], "task", "~1")
            configs.append(config)
        reading = SqlSaver(database, clock=SystemClock())
        statements: list[str] = []
        database.read_now(lambda connection: connection.set_trace_callback(statements.append))
        for n in (59, 58, 50, 41, 40, 39, 12, 1):
            inherited = reading.get_delta_channel_history(config=configs[n], channels=["log"])["log"]
            since = 40 if n > 40 else 0
            assert inherited["seed"].value == [since]
            assert [value for _, _, value in inherited["writes"]] == list(range(since, n))
        assert sum(text.lstrip().startswith("WITH") for text in statements) == 4  # once behind each snapshot

    async def test_a_history_puts_the_past_that_its_checkpoints_share_together_once(self, database: Database):
        folded: list[int] = []

        def add(state: list[int], writes: list[int]) -> list[int]:
            folded.append(len(writes))
            return [*state, *writes]

        saver, config = saver_for(database), ROOT
        for n in range(60):
            values = {"log": snapshot([])} if n == 0 else {}
            config = saver.put(config, {**empty_checkpoint(), "channel_values": values}, {"step": n}, {})
            saver.put_writes(config, [("log", n)], "task", "~1")
        reading, channel = SqlSaver(database, clock=SystemClock()), incremental(add)
        reading.share_past({"log": channel, "other": incremental(add)})
        listed = [found async for found in reading.alist(ROOT, limit=10)]
        folded.clear()
        for found in listed:
            inherited = (await reading.aget_delta_channel_history(config=found.config, channels=["log"]))["log"]
            value = rebuild(channel, [inherited["seed"]], [value for _, _, value in inherited["writes"]])
            assert value == list(range(found.metadata["step"]))
        assert folded == [50, 9, 8, 7, 6, 5, 4, 3, 2, 1]
        older = (await reading.aget_delta_channel_history(config=listed[-1].parent_config, channels=["log"]))["log"]
        assert [value for _, _, value in older["writes"]] == list(range(49))

    def test_a_ring_of_parents_ends(self, database: Database):
        saver = saver_for(database)
        first = put_checkpoint(saver)
        second = put_checkpoint(saver, first)
        saver.put_writes(first, [("log", 1)], "task")
        ring = {**empty_checkpoint(), "id": first["configurable"]["checkpoint_id"]}
        saver.put(second, ring, {}, {})
        assert saver.get_delta_channel_history(config=second, channels=["log"])["log"]["writes"] == [("task", "log", 1)]


class TestStrictReading:
    def test_a_planted_call_is_not_made(self, database: Database, tmp_path: Path):
        saver = saver_for(database)
        config = put_checkpoint(saver)
        mark = tmp_path / "called"
        # LangGraph's codes for calls with one value, a list and keywords.
        for code, arguments in enumerate((str(mark), [str(mark)], {"path": str(mark)})):
            call = ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(("os", "mkdir", arguments))))
            row = (config["configurable"]["checkpoint_id"], f"task-{code}", call)
            insert = "INSERT INTO writes VALUES ('t', '', ?, ?, 0, '', 'a', 'r', 'msgpack', ?)"
            database.write_now(lambda connection, row=row, insert=insert: connection.execute(insert, row))
        assert len(saver.get_tuple(config).pending_writes) == 3
        assert not mark.exists()
        # The same rows, read as LangGraph reads by default: the call is real.
        SqlSaver(database, clock=SystemClock(), serde=JsonPlusSerializer(allowed_msgpack_modules=True)).get_tuple(config)
        assert mark.exists()

    def test_a_pickle_is_not_read(self, database: Database):
        saver = saver_for(database)
        config = put_checkpoint(saver)
        database.write_now(lambda connection: connection.execute("UPDATE checkpoints SET type = 'pickle'"))
        with pytest.raises(NotImplementedError, match="pickle"):
            saver.get_tuple(config)

    @pytest.mark.parametrize(
        "serde",
        [
            JsonPlusSerializer(allowed_msgpack_modules=True),
            JsonPlusSerializer(allowed_msgpack_modules=None, allowed_json_modules=True),
            JsonPlusSerializer(allowed_msgpack_modules=None, pickle_fallback=True),
        ],
        ids=["any type in msgpack, as by default", "any type in json", "pickle"],
    )
    def test_a_serializer_that_calls_what_it_reads_is_found_out(self, serde: JsonPlusSerializer):
        with pytest.raises(ConfigurationError, match="could run code"):
            check_strict(serde)

    def test_ours_is_strict_also_with_a_graphs_types(self, database: Database):
        check_strict(strict_serializer())
        check_strict(saver_for(database).with_allowlist([("some.module", "Name")]).serde)


class TestTraces:
    async def test_a_run_leaves_its_checkpoints_and_answers(self, database: Database):
        saver = saver_for(database)
        assert (await run_wrote(database, "t", "r")).checkpointed is False
        below = saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": "sub:1"}}, empty_checkpoint(), {}, {})
        assert (await run_wrote(database, "t", "r")).checkpointed is False
        config = put_checkpoint(saver)
        for task, channel in (("task-1", RESUME), (NULL_TASK, RESUME), ("task-2", "a")):
            saver.put_writes(config, [(channel, 1)], task)
        saver.put_writes(below, [(RESUME, 1)], "task-3")
        traces = await run_wrote(database, "t", "r")
        assert traces.checkpointed is True
        assert traces.resumed_tasks == {"task-1", "task-3"}
        other = await run_wrote(database, "t", "other")
        assert (other.checkpointed, other.resumed_tasks) == (False, frozenset())

    async def test_a_graph_that_takes_an_answer_leaves_its_task(self, database: Database):
        graph = StateGraph(DeepAgentState)
        graph.add_node("ask", lambda _: {"messages": [AIMessage(interrupt("well?"), id="a")]})
        graph.add_edge(START, "ask")
        await graph.compile(checkpointer=saver_for(database, "first")).ainvoke({"messages": []}, ROOT)
        assert (await run_wrote(database, "t", "first")).resumed_tasks == frozenset()
        agent = graph.compile(checkpointer=saver_for(database, "second"))
        [task] = (await agent.aget_state(ROOT)).tasks
        await agent.ainvoke(Command(resume={task.interrupts[0].id: "yes"}), ROOT)
        assert (await run_wrote(database, "t", "second")).resumed_tasks == {task.id}


class TestCompaction:
    def agent(self, saver: SqlSaver) -> Any:
        graph = StateGraph(DeepAgentState)
        graph.add_node("answer", lambda state: {"messages": [AIMessage("x", id=f"a{len(state['messages'])}")]})
        graph.add_edge(START, "answer")
        agent = graph.compile(checkpointer=saver)
        for n in range(5):
            agent.invoke({"messages": [HumanMessage("y", id=f"q{n}")]}, ROOT)
        return agent

    @pytest.mark.parametrize("colour", ["sync", "async"])
    async def test_a_thread_shrinks_and_loses_nothing_that_is_kept(self, database: Database, colour: str):
        saver = saver_for(database)
        agent = self.agent(saver)
        before = list(agent.get_state_history(ROOT, limit=3))
        report = compact(saver, "t", keep_last=3) if colour == "sync" else await acompact(saver, "t", keep_last=3)
        assert (report.before.checkpoints, report.after.checkpoints) == (15, 3)
        assert [each.values for each in agent.get_state_history(ROOT)] == [each.values for each in before]

    async def test_a_compaction_that_is_refused_leaves_all_as_it_was(self, database: Database):
        saver = saver_for(database)
        self.agent(saver)
        saver_for(database, "other")
        with pytest.raises(LeaseLostError):
            await acompact(saver, "t")
        assert len(list(saver.list(ROOT))) == 15


def test_an_unknown_way_to_prune_is_refused(database: Database):
    with pytest.raises(ConfigurationError, match="keep_latest"):
        saver_for(database).prune(["t"], strategy="keep_some")


def test_a_filter_key_may_contain_quotes(database: Database):
    saver = saver_for(database)
    for n in range(3):
        saver.put(ROOT, empty_checkpoint(), {'a" OR 1': n}, {})
    assert [each.metadata for each in saver.list(ROOT, filter={'a" OR 1': 1})] == [{'a" OR 1': 1}]


def test_a_filter_finds_what_stands_far_back(database: Database):
    saver = saver_for(database)
    for n in range(200):
        saver.put(ROOT, empty_checkpoint(), {"step": n, "odd": n % 2}, {})
    assert [each.metadata["step"] for each in saver.list(ROOT, filter={"step": 3})] == [3]
    odd = [each.metadata["step"] for each in saver.list(ROOT, filter={"odd": 1})]
    assert odd == list(range(199, 0, -2))
    assert [each.metadata["step"] for each in saver.list(ROOT, filter={"odd": 1}, limit=70)] == odd[:70]


def test_rows_carry_the_run(database: Database):
    saver = saver_for(database, "run-1")
    saver.put_writes(put_checkpoint(saver), [("a", 1)], "task")

    def runs(connection: sqlite3.Connection) -> list[str]:
        both = connection.execute("SELECT run_id FROM checkpoints UNION ALL SELECT run_id FROM writes")
        return [run_id for (run_id,) in both]

    assert database.read_now(runs) == ["run-1", "run-1"]


def test_savers_with_the_same_list_share_a_serializer_and_others_do_not(database: Database):
    shared, other = [("graphs", "Order")], [("graphs", "Parcel")]
    serializers = [saver_for(database).with_allowlist(allowed).serde for allowed in (shared, shared, other)]
    assert serializers[0] is serializers[1]
    assert serializers[2] is not serializers[0]
    assert saver_for(database).serde is strict_serializer()
