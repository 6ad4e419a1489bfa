"""Tools that run at most once: what is journaled, what a second drive of the same step finds, and what passes through."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from stepwell import StateBackend, create_deep_agent, default_stack
from stepwell.clock import SystemClock
from stepwell.database.effect_journal import SqlEffects
from stepwell.database.sqlite import database as sqlite_database
from stepwell.database.sqlite.database import Database
from stepwell.database.types import Lease
from stepwell.errors import ConfigurationError, StorageUnavailableError
from stepwell.middleware.effects import EffectsMiddleware
from stepwell.testing import ScriptedModel, call, calls, say
from stepwell.tools.effect_journal import JOURNAL, effect_key, settled, settled_now
from stepwell.tools.effects import with_effect

USER = {"messages": [("user", "go")]}
THREAD = (
    "INSERT INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at, fence, lease_run, lease_holder)"
    " VALUES ('t', 'me', 'busy', '{}', '{}', 0, 0, 1, 'r', 'worker')"
)
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def database(tmp_path: Path):
    database = Database(tmp_path / "stepwell.db")
    database.write_now(lambda connection: connection.execute(THREAD))
    yield database
    database.close()


@pytest.fixture
def config(database: Database) -> dict:
    journal = SqlEffects(database, Lease("t", "r", 1, "me", "worker"), SystemClock())
    return {"configurable": {"thread_id": "t", JOURNAL: journal}}


def rows(database: Database) -> list[tuple[str, str]]:
    found = database.read_now(lambda connection: connection.execute("SELECT key, state FROM effects ORDER BY key").fetchall())
    return [(row["key"], row["state"]) for row in found]


def results(state: dict) -> list[tuple[str, str]]:
    return [(message.text, message.status) for message in state["messages"] if isinstance(message, ToolMessage)]


async def run(agent, given, config, *, is_async=True):
    durability = "sync" if agent.checkpointer else None
    if is_async:
        return await agent.ainvoke(given, config, durability=durability)
    return await asyncio.to_thread(agent.invoke, given, config, durability=durability)


class Payments:
    """The world outside: counts what really happened."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.inside = threading.Event()
        self.hangs = False

    def tools(self):
        @with_effect("once")
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            self.inside.set()
            if self.hangs:
                await asyncio.Event().wait()
            return f"paid {amount}"

        return [pay]

    async def stopped_while_paying(self, agent, config) -> None:
        """Drive the agent until it is inside the tool, then end that drive there and then."""
        self.hangs = True
        drive = asyncio.create_task(run(agent, USER, config))
        await asyncio.to_thread(self.inside.wait, 10)
        drive.cancel()
        with pytest.raises(asyncio.CancelledError):
            await drive
        self.hangs = False


@COLOURS
async def test_a_once_tool_runs_and_its_result_is_kept(database, config, is_async):
    @with_effect("once")
    def send(text: str) -> str:
        """Send."""
        return f"sent {text}"

    agent = create_deep_agent(ScriptedModel([call("send", text="a"), say("ok")]), [send], checkpointer=InMemorySaver())
    state = await run(agent, USER, config, is_async=is_async)
    assert results(state) == [("sent a", "success")]
    assert [mark for _, mark in rows(database)] == ["done"]


async def test_after_a_stop_in_the_middle_the_outcome_is_unknown_and_nothing_runs_again(config, database):
    """Architecture, decision 5: a second run would do harm."""
    world = Payments()
    model = ScriptedModel([calls(call("pay", amount=7), call("pay", amount=8)), say("asked")])
    agent = create_deep_agent(model, world.tools(), checkpointer=InMemorySaver())
    await world.stopped_while_paying(agent, config)
    paid, begun = list(world.paid), rows(database)  # the stop may come when the second payment is noted and not yet made
    state = await run(agent, None, config)
    unknown = [text for text, status in results(state) if status == "error"]
    assert len(unknown) == len(begun)
    assert all("outcome of this call is unknown" in text and "not run again" in text and "ask them" in text for text in unknown)
    assert '{"amount": 7}' in unknown[0]
    assert len(world.paid) == len(paid) + 2 - len(begun)
    assert len(set(world.paid)) == len(world.paid)


async def test_the_same_inside_a_subagent(config):
    world = Payments()
    main = ScriptedModel([call("task", description="x", subagent_type="payer"), say("end")])
    worker = ScriptedModel([call("pay", amount=7), say("told")])
    payer = {"name": "payer", "description": "pays", "system_prompt": "Pay.", "model": worker, "tools": world.tools()}
    agent = create_deep_agent(main, subagents=[payer], checkpointer=InMemorySaver())
    await world.stopped_while_paying(agent, config)
    await run(agent, None, config)
    assert world.paid == [7]
    assert "unknown" in worker.last_asked.messages[-1].text


@pytest.mark.parametrize("returns", ["text", "command"])
async def test_what_was_done_before_the_stop_gives_its_result_again(config, returns):
    """The tool finished, its result was journaled, and the drive ended before the step was stored."""
    ran = []

    @with_effect("once")
    def send(runtime: ToolRuntime):
        """Send."""
        ran.append(1)
        if returns == "text":
            return "sent"
        message = ToolMessage("sent", tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [message], "todos": [{"content": "x", "status": "pending"}]})

    saver = ForgetfulSaver()
    agent = create_deep_agent(ScriptedModel([call("send"), say("ok")]), [send], checkpointer=saver)
    saver.refuses = True
    with pytest.raises(PowerCutError):
        await run(agent, USER, config)
    saver.refuses = False
    state = await run(agent, None, config)
    assert ran == [1]
    assert results(state) == [("sent", "success")]
    assert bool(state.get("todos")) is (returns == "command")


class PowerCutError(Exception):
    pass


class ForgetfulSaver(InMemorySaver):
    """Loses what the tools' step wrote."""

    refuses = False

    async def aput_writes(self, config, writes, task_id, task_path=""):
        if self.refuses and any("tools" in task_path or _from_tool(value) for _, value in writes):
            raise PowerCutError
        await super().aput_writes(config, writes, task_id, task_path)


def _from_tool(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(message, ToolMessage) for message in value)


@COLOURS
async def test_a_failure_is_kept_as_the_result_it_became(database, config, is_async):
    @with_effect("once")
    def send() -> str:
        """Send."""
        raise ValueError("no such address")

    agent = create_deep_agent(ScriptedModel([call("send"), say("ok")]), [send], checkpointer=InMemorySaver())
    state = await run(agent, USER, config, is_async=is_async)
    assert results(state) == [("Error: send failed: ValueError: no such address", "error")]
    assert [mark for _, mark in rows(database)] == ["done"]


@COLOURS
async def test_a_tool_that_pauses_has_not_begun(database, config, is_async):
    sent = []

    @with_effect("once")
    def send() -> str:
        """Ask, then send."""
        answer = interrupt("really?")
        sent.append(answer)
        return f"sent {answer}"

    agent = create_deep_agent(ScriptedModel([call("send"), say("ok")]), [send], checkpointer=InMemorySaver())
    paused = await run(agent, USER, config, is_async=is_async)
    assert rows(database) == []
    question = paused["__interrupt__"][0].id
    state = await run(agent, Command(resume={question: "yes"}), config, is_async=is_async)
    assert (sent, results(state)) == (["yes"], [("sent yes", "success")])


async def test_nothing_is_journaled_before_a_person_approves(database, config):
    world = Payments()
    model = ScriptedModel([call("pay", amount=7), say("ok")])
    agent = create_deep_agent(model, world.tools(), interrupt_on={"pay": True}, checkpointer=InMemorySaver())
    paused = await run(agent, USER, config)
    assert (rows(database), world.paid) == ([], [])
    answer = {"decisions": [{"type": "approve"}]}
    await run(agent, Command(resume={paused["__interrupt__"][0].id: answer}), config)
    assert world.paid == [7]
    assert [mark for _, mark in rows(database)] == ["done"]


async def test_two_calls_of_one_turn_are_two_effects(database, config):
    world = Payments()
    model = ScriptedModel([calls(call("pay", amount=7), call("pay", amount=7)), call("pay", amount=7), say("ok")])
    await run(create_deep_agent(model, world.tools(), checkpointer=InMemorySaver()), USER, config)
    assert world.paid == [7, 7, 7]
    assert len(rows(database)) == 3


async def test_other_tools_are_not_journaled(database, config):
    def look() -> str:
        """Look."""
        return "seen"

    model = ScriptedModel([call("look"), call("write_file", file_path="/a", content="x"), say("ok")])
    agent = create_deep_agent(model, [look, *Payments().tools()], checkpointer=InMemorySaver())
    await run(agent, USER, config)
    assert rows(database) == []


@COLOURS
async def test_without_a_journal_a_once_tool_just_runs(is_async):
    @with_effect("once")
    def send() -> str:
        """Send."""
        return "sent"

    agent = create_deep_agent(ScriptedModel([call("send"), say("ok")]), [send])
    assert results(await run(agent, USER, {}, is_async=is_async)) == [("sent", "success")]


async def test_a_result_that_cannot_be_stored_keeps_its_text(config):
    @with_effect("once")
    def send(runtime: ToolRuntime):
        """Send."""
        return ToolMessage("sent", tool_call_id=runtime.tool_call_id, artifact=object())

    agent = create_deep_agent(ScriptedModel([call("send"), say("ok")]), [send])
    assert results(await run(agent, USER, config)) == [("sent", "success")]


def test_the_stack_has_it_only_where_a_tool_declares_once():
    class Brings(EffectsMiddleware):
        tools = ()

    def kinds(**options):
        return [type(entry) for entry in default_stack(ScriptedModel(), backend=StateBackend(), **options)]

    bringing = Brings()
    bringing.tools = Payments().tools()
    assert EffectsMiddleware not in kinds()
    with_tool = kinds(tools=Payments().tools())
    assert [kind.__name__ for kind in with_tool[-2:]] == ["EffectsMiddleware", "PatchToolCallsMiddleware"]
    assert Brings in kinds(middleware=[bringing])


async def test_an_effect_key_is_the_same_when_the_step_runs_again_and_differs_between_calls(config):
    keys: list[str] = []
    inside = asyncio.Event()
    go_on = asyncio.Event()

    async def pay(n: int, config: RunnableConfig, runtime: ToolRuntime) -> str:
        """Pay."""
        await settled(config)
        settled_now(runtime)
        keys.append(effect_key(runtime, "a"))
        assert effect_key(config) != effect_key(config, 1)
        if len(keys) == 2:
            inside.set()
        await go_on.wait()
        return "ok"

    model = ScriptedModel([calls(call("pay", n=1), call("pay", n=2)), call("pay", n=3), say("ok")])
    agent = create_deep_agent(model, [pay], checkpointer=InMemorySaver())
    drive = asyncio.create_task(run(agent, USER, config))
    await inside.wait()
    drive.cancel()
    with pytest.raises(asyncio.CancelledError):
        await drive
    go_on.set()
    await run(agent, None, config)
    first, again, third = keys[:2], keys[2:4], keys[4]
    assert sorted(first) == sorted(again)
    assert len({*first, third}) == 3
    assert all(key.startswith("t/reply_") and key.endswith("/a") for key in keys)


def test_an_effect_key_needs_a_running_graph():
    with pytest.raises(ConfigurationError, match="running graph"):
        effect_key({"configurable": {"thread_id": "t"}})


async def test_nothing_is_stored_behind_an_outcome_that_could_not_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whatever becomes of the error on its way out, the run is driven again from before the call."""
    monkeypatch.setattr(sqlite_database, "_BUSY_TIMEOUT_S", 0.05)
    database = Database(tmp_path / "stepwell.db")
    database.write_now(lambda connection: connection.execute(THREAD))
    journal = SqlEffects(database, Lease("t", "r", 1, "me", "worker"), SystemClock())
    journal.begin("k").result(60)
    other = sqlite3.connect(tmp_path / "stepwell.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageUnavailableError):
        journal.finish("k", b"done").result(60)
    other.close()
    with pytest.raises(StorageUnavailableError, match="earlier write"):
        journal.barrier().result(60)
    assert rows(database) == [("k", "begun")]
    database.close()
