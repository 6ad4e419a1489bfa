"""An effect that began is remembered, and never offered again as if it had not: through rolling back, copying, going back, editing,
deleting, trimming and restarts."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from stepwell.agent import create_deep_agent
from stepwell.clock import SystemClock
from stepwell.database.records.types import EffectFilter, EffectRecord, Page
from stepwell.database.sqlite import database as sqlite_database
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import Run
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.threads.operations import Threads
from stepwell.testing import Asked, ScriptedModel, call, calls, say
from stepwell.tools.effects import with_effect

from .conftest import OWNER, Runs, new_id

UNKNOWN = "outcome of this call is unknown"


class Till:
    """The world outside: what was paid, and a payment that can be held up in the middle."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.hangs = False
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def pay(self, to: str) -> str:
        self.paid.append(to)
        if self.hangs and to != "quick":
            self.begun.set()
            await self.go_on.wait()
        return f"paid {to}"


def make_agent(till: Till, *, asks: bool) -> Any:
    @with_effect("once")
    async def pay(to: str) -> str:
        """Pay somebody."""
        return await till.pay(to)

    async def look(to: str) -> str:
        """Look at somebody, as often as one likes."""
        return await till.pay(to)

    def turn(asked: Asked) -> Any:
        last = asked.messages[-1]
        if last.type != "human" or not last.text.startswith(("pay ", "look ", "delegate ")):
            return say("noted")
        verb, *names = last.text.split()
        if verb == "delegate":
            helper = {"subagent_type": "general-purpose"}
            return calls(*(call("task", description=f"pay {name}", **helper) for name in names))
        return calls(*(call(verb, to=name) for name in names))

    gates = {"pay": True, "look": True} if asks else None
    return create_deep_agent(ScriptedModel.answering(turn), [pay, look], interrupt_on=gates)


class World(Runs):
    """The engine, the till, and what a person does."""

    till: Till
    threads: Threads

    async def ask(self, thread_id: str, text: str = "pay baker", assistant: str = "asks", **order: Any) -> Run:
        given = {"messages": [{"role": "user", "content": text}]}
        return await self.start(assistant, thread_id, input=given, **order)

    async def paused(self, thread_id: str, text: str = "pay baker") -> None:
        await self.result(await self.ask(thread_id, text))
        assert len((await self.thread(thread_id)).interrupts) == 1

    async def approve(self, thread_id: str, *decisions: dict[str, Any]) -> Run:
        (question,) = (await self.thread(thread_id)).interrupts
        answer = {"decisions": decisions or [{"type": "approve"} for _ in question.value["action_requests"]]}
        return await self.start("asks", thread_id, command={"resume": {question.interrupt_id: answer}})

    async def begin_paying(self, thread_id: str) -> Run:
        """Approve, and give the run as it stands inside the tool."""
        self.till.hangs = True
        run = await self.approve(thread_id)
        await self.until_paying()
        return run

    async def until_paying(self) -> None:
        async with asyncio.timeout(60):
            await self.till.begun.wait()
        self.till.begun.clear()
        self.till.hangs = False

    async def roll_back(self, run: Run) -> None:
        await self.engine.cancel(OWNER, run.thread_id, [run.run_id], action="rollback", wait=True)

    async def results(self, thread_id: str) -> list[str]:
        """What the thread holds as results of tools."""
        values = (await self.threads.state(OWNER, thread_id))["values"]
        return [message["content"] for message in values.get("messages", ()) if message["type"] == "tool"]

    async def copy(self, thread_id: str) -> str:
        return (await self.persistence.records.copy_thread(OWNER, thread_id, new_id())).thread_id

    async def open_effects(self, owner: str | None = OWNER, *, known: bool = False) -> list[EffectRecord]:
        return await self.persistence.records.effects(owner, EffectFilter(open=not known), Page(limit=100))

    async def questions(self, thread_id: str) -> list[Any]:
        state = await self.threads.state(OWNER, thread_id, subgraphs=True)
        return [*(await self.thread(thread_id)).interrupts, *state["interrupts"]]


OpenWorld = Callable[[], AbstractAsyncContextManager[World]]


@pytest.fixture
def open_world(tmp_path: Path) -> OpenWorld:
    till = Till()

    @asynccontextmanager
    async def opened() -> AsyncIterator[World]:
        clock = SystemClock()
        graphs = {"asks": make_agent(till, asks=True), "acts": make_agent(till, asks=False)}
        async with EmbeddedPersistence(tmp_path / "stepwell.db", clock=clock) as persistence:
            registry = GraphRegistry({name: GraphSource.of(graph) for name, graph in graphs.items()})
            assistants = Assistants(persistence.records, registry, clock, new_id)
            await assistants.install_defaults()
            async with Engine(
                persistence, registry, assistants, clock=clock, new_id=new_id, options=EngineOptions(drain_s=0.0)
            ) as engine:
                world = World(engine, persistence, registry)
                world.till = till
                world.threads = Threads(persistence, registry, clock, new_id)
                yield world

    return opened


@pytest.fixture
async def world(open_world: OpenWorld) -> AsyncIterator[World]:
    async with open_world() as opened:
        yield opened


async def test_after_a_rollback_the_call_is_closed_and_nothing_is_asked_again(world: World, thread_id: str) -> None:
    await world.paused(thread_id)
    await world.roll_back(await world.begin_paying(thread_id))
    assert await world.questions(thread_id) == []
    (told,) = await world.results(thread_id)
    assert UNKNOWN in told
    await world.result(await world.ask(thread_id, "hello"))
    assert (await world.thread(thread_id)).values["messages"][-1]["content"] == "noted"
    assert world.till.paid == ["baker"]


async def test_after_a_rollback_what_was_done_keeps_its_result(world: World, thread_id: str) -> None:
    await world.paused(thread_id, "pay quick baker")
    run = await world.begin_paying(thread_id)
    async with asyncio.timeout(60):
        while "done" not in {effect.outcome for effect in await world.open_effects(known=True)}:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    await world.roll_back(run)
    done, unknown = sorted(await world.results(thread_id), key=len)
    assert done == "paid quick"
    assert UNKNOWN in unknown
    assert await world.questions(thread_id) == []
    assert sorted(world.till.paid) == ["baker", "quick"]


async def test_a_newer_message_that_rolls_back_finds_the_call_closed(world: World, thread_id: str) -> None:
    await world.paused(thread_id)
    await world.begin_paying(thread_id)
    await world.result(await world.ask(thread_id, "hello", multitask_strategy="rollback"))
    assert [UNKNOWN in told for told in await world.results(thread_id)] == [True]
    assert (await world.thread(thread_id)).values["messages"][-1]["content"] == "noted"
    assert (world.till.paid, await world.questions(thread_id)) == (["baker"], [])


@pytest.mark.parametrize("goes_on", ["message", "nothing new"])
async def test_a_rollback_that_a_crash_overtakes_closes_the_call_when_the_thread_goes_on(
    open_world: OpenWorld, thread_id: str, goes_on: str
) -> None:
    async with open_world() as world:
        await world.paused(thread_id)
        await world.begin_paying(thread_id)
        stop_by_rollback = "UPDATE runs SET cancel_action = 'rollback', status = 'running' WHERE status = 'pending'"
        database = world.persistence.database
        hand_back = world.persistence.queue.hand_back

        async def die(*given: Any, **named: Any) -> None:
            await hand_back(*given, **named)
            await database.write(lambda connection: connection.execute(stop_by_rollback))

        world.persistence.queue.hand_back = die  # type: ignore[method-assign]  # as a kill leaves it: under way, and to be stopped
    async with open_world() as world:
        assert await world.questions(thread_id) == []
        more = {"input": {"messages": [{"role": "user", "content": "hello"}]}} if goes_on == "message" else {}
        await world.result(await world.start("asks", thread_id, **more))
        assert [UNKNOWN in told for told in await world.results(thread_id)] == [True]
        assert (world.till.paid, await world.questions(thread_id)) == (["baker"], [])


async def test_a_rollback_takes_a_message_with_its_call_and_the_effect_is_listed(world: World, thread_id: str) -> None:
    await world.result(await world.ask(thread_id, "hello", "acts"))
    world.till.hangs = True
    run = await world.ask(thread_id, "pay quick baker", "acts")
    await world.until_paying()
    await world.roll_back(run)
    assert [message["type"] for message in (await world.thread(thread_id)).values["messages"]] == ["human", "ai"]
    listed = {effect.outcome: effect for effect in await world.open_effects()}
    assert set(listed) == {"unknown", "done"}
    assert all((effect.tool, effect.thread_id, effect.taken_back) == ("pay", thread_id, True) for effect in listed.values())
    await world.result(await world.ask(thread_id, "hello", "acts"))
    assert sorted(world.till.paid) == ["baker", "quick"]


async def test_a_rollback_inside_a_subagent_asks_nothing_again(world: World, thread_id: str) -> None:
    await world.paused(thread_id, "delegate baker")
    await world.roll_back(await world.begin_paying(thread_id))
    assert await world.questions(thread_id) == []
    assert ["may have run" in told for told in await world.results(thread_id)] == [True]
    assert [effect.outcome for effect in await world.open_effects()] == ["unknown"]
    await world.result(await world.ask(thread_id, "hello"))
    assert world.till.paid == ["baker"]


async def test_a_rollback_leaves_the_questions_of_others_open(world: World, thread_id: str) -> None:
    await world.result(await world.ask(thread_id, "delegate baker butcher"))
    first, second = (await world.thread(thread_id)).interrupts
    world.till.hangs = True
    approval = {"decisions": [{"type": "approve"}]}
    run = await world.start("asks", thread_id, command={"resume": {first.interrupt_id: approval}})
    await world.until_paying()
    await world.roll_back(run)
    assert [question.interrupt_id for question in (await world.thread(thread_id)).interrupts] == [second.interrupt_id]
    await world.result(await world.start("asks", thread_id, command={"resume": {second.interrupt_id: approval}}))
    assert sorted(world.till.paid) == ["baker", "butcher"]
    assert (await world.results(thread_id), await world.questions(thread_id)) == (["noted", "noted"], [])
    assert [effect.outcome for effect in await world.open_effects()] == ["unknown"]


async def test_a_rollback_of_an_answer_behind_which_nothing_began_opens_the_question_again(
    world: World, thread_id: str
) -> None:
    await world.paused(thread_id, "look baker")
    first = await world.thread(thread_id)
    await world.roll_back(await world.begin_paying(thread_id))
    assert (await world.thread(thread_id)).interrupts == first.interrupts
    await world.result(await world.approve(thread_id))
    assert await world.results(thread_id) == ["paid baker"]


async def test_the_first_approval_of_copies_acts_and_the_others_get_its_result(world: World, thread_id: str) -> None:
    await world.paused(thread_id)
    copy = await world.copy(thread_id)
    copy_of_copy = await world.copy(copy)
    for thread in (copy, thread_id, copy_of_copy):
        await world.result(await world.approve(thread))
        assert await world.results(thread) == ["paid baker"]
    assert world.till.paid == ["baker"]


async def test_copies_that_approve_at_once_act_once(world: World, thread_id: str) -> None:
    await world.paused(thread_id)
    threads = [thread_id, *[await world.copy(thread_id) for _ in range(5)]]
    runs = await asyncio.gather(*(world.approve(thread) for thread in threads))
    await asyncio.gather(*(world.result(run) for run in runs))
    assert world.till.paid == ["baker"]
    told = [result for thread in threads for result in await world.results(thread)]
    assert len(told) == len(threads)
    assert all(result == "paid baker" or UNKNOWN in result for result in told)


async def test_a_copy_that_was_told_unknown_hears_the_result_when_it_goes_on(world: World, thread_id: str) -> None:
    await world.paused(thread_id)
    copy = await world.copy(thread_id)
    paying = await world.begin_paying(thread_id)
    await world.result(await world.approve(copy))
    assert UNKNOWN in (await world.results(copy))[0]
    world.till.go_on.set()
    await world.result(paying)
    await world.result(await world.ask(copy, "hello"))
    assert await world.results(copy) == await world.results(thread_id) == ["paid baker"]
    assert world.till.paid == ["baker"]


async def test_a_copy_that_edits_the_call_is_told_that_it_acted_otherwise(world: World, thread_id: str) -> None:
    await world.paused(thread_id)
    copy = await world.copy(thread_id)
    await world.result(await world.approve(thread_id))
    edited = {"type": "edit", "edited_action": {"name": "pay", "args": {"to": "butcher"}}}
    await world.result(await world.approve(copy, edited))
    (told,) = await world.results(copy)
    assert "with other arguments" in told
    assert "make a new call" in told
    assert world.till.paid == ["baker"]


async def test_a_copy_made_while_the_payment_is_under_way_does_not_pay(world: World, thread_id: str) -> None:
    await world.paused(thread_id)
    paying = await world.begin_paying(thread_id)
    copy = await world.copy(thread_id)
    await world.roll_back(paying)
    await world.result(await world.start("asks", copy))
    assert [UNKNOWN in told for told in await world.results(copy)] == [True]
    assert world.till.paid == ["baker"]


async def test_a_copy_made_behind_a_question_does_not_ask_it(world: World, thread_id: str) -> None:
    """The run under way has gone past the question, which is dropped only when it ends."""
    await world.paused(thread_id)
    world.till.hangs = True
    await world.ask(thread_id, "pay butcher", "acts")
    await world.until_paying()
    assert len((await world.thread(thread_id)).interrupts) == 1
    assert await world.questions(await world.copy(thread_id)) == []
    world.till.go_on.set()


async def test_a_copy_made_between_two_attempts_does_not_ask_it_either(
    open_world: OpenWorld, thread_id: str, tmp_path: Path
) -> None:
    async with open_world() as world:
        await world.paused(thread_id)
        world.till.hangs = True
        await world.ask(thread_id, "pay butcher", "acts")
        await world.until_paying()
    async with EmbeddedPersistence(tmp_path / "stepwell.db") as persistence:
        assert (await persistence.records.copy_thread(OWNER, thread_id, new_id())).interrupts == ()


async def test_an_edit_of_the_state_does_not_make_the_call_a_new_one(world: World, thread_id: str) -> None:
    """LangGraph gives the step another id when the state is edited. The call is the same."""
    await world.paused(thread_id)
    run = await world.begin_paying(thread_id)
    await world.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
    await world.threads.update_state(
        OWNER, thread_id, values={"todos": [{"content": "x", "status": "pending"}]}, as_node="model"
    )
    await world.result(await world.start("asks", thread_id))
    while (await world.thread(thread_id)).interrupts:
        await world.result(await world.approve(thread_id))
    assert world.till.paid == ["baker"]
    assert [UNKNOWN in told for told in await world.results(thread_id)] == [True]


async def test_going_back_behind_the_call_gets_its_result_and_before_it_makes_a_new_one(world: World, thread_id: str) -> None:
    await world.paused(thread_id)
    await world.result(await world.approve(thread_id))
    history = await world.threads.history(OWNER, thread_id, limit=50)
    behind = next(state for state in history if len(state["values"].get("messages", ())) == 2)
    await world.result(
        await world.start("asks", thread_id, checkpoint={"checkpoint_id": behind["checkpoint"]["checkpoint_id"]})
    )
    while (await world.thread(thread_id)).interrupts:
        await world.result(await world.approve(thread_id))
    assert await world.results(thread_id) == ["paid baker"]
    assert world.till.paid == ["baker"]
    before = next(state for state in history if len(state["values"].get("messages", ())) == 1)
    await world.result(
        await world.start("asks", thread_id, checkpoint={"checkpoint_id": before["checkpoint"]["checkpoint_id"]})
    )
    await world.result(await world.approve(thread_id))
    assert world.till.paid == ["baker", "baker"]


async def test_of_a_deleted_thread_stays_that_it_acted_and_nothing_it_said(
    world: World, thread_id: str, tmp_path: Path
) -> None:
    await world.paused(thread_id)
    copy = await world.copy(thread_id)
    run = await world.begin_paying(thread_id)
    await world.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
    await world.persistence.records.delete_run(OWNER, thread_id, run.run_id)
    await world.persistence.records.delete_thread(OWNER, thread_id)
    (left,) = await world.open_effects(None)
    assert (left.tool, left.outcome, left.thread_id, left.run_id, left.owner) == ("pay", "unknown", None, None, None)
    assert await world.open_effects() == []
    row = world.persistence.database.read_now(lambda connection: tuple(connection.execute("SELECT * FROM effects").fetchone()))
    assert not any(word in str(cell) for cell in row for word in ("baker", thread_id, run.run_id, OWNER))
    await world.result(await world.approve(copy))
    assert [UNKNOWN in told for told in await world.results(copy)] == [True]
    assert world.till.paid == ["baker"]


@pytest.mark.parametrize(
    ("happened", "words"), [(True, "it did take effect. Receipt 7"), (False, "it did not take effect. Receipt 7")]
)
@pytest.mark.parametrize("told", [False, True], ids=["before the model was told", "after the model was told"])
async def test_the_model_hears_what_a_person_has_settled(
    world: World, thread_id: str, happened: bool, words: str, told: bool
) -> None:
    await world.paused(thread_id)
    run = await world.begin_paying(thread_id)
    await world.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
    if told:
        await world.result(await world.ask(thread_id, "hello"))
        assert UNKNOWN in (await world.results(thread_id))[0]
    (effect,) = await world.open_effects()
    await world.persistence.records.settle_effect(OWNER, effect.key, happened=happened, note="Receipt 7", by="ada")
    assert await world.open_effects() == []
    await world.result(await world.ask(thread_id, "hello"))
    (result,) = await world.results(thread_id)
    assert words in result
    assert world.till.paid == ["baker"]


async def test_an_effect_that_an_earlier_release_began_is_recognised(open_world: OpenWorld, thread_id: str) -> None:
    """Its key was made of the step."""
    async with open_world() as world:
        await world.paused(thread_id)
        paying = await world.begin_paying(thread_id)
        task = next(iter((await world.threads.state(OWNER, thread_id))["tasks"]))

        def as_before(connection: Any) -> None:
            origin, call = connection.execute("SELECT origin, key FROM effects").fetchone()
            former = f"{origin}/tools:{task['id']}/{call.split('/')[2]}/0"
            connection.execute("UPDATE effects SET key = ?, arguments = ''", (former,))

        world.persistence.database.write_now(as_before)
    async with open_world() as world:
        await world.result(paying)
        assert [UNKNOWN in told for told in await world.results(thread_id)] == [True]
        assert world.till.paid == ["baker"]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else writes to the file, and takes long over it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


@pytest.mark.parametrize("order", ["pay baker", "delegate baker"], ids=["main agent", "subagent"])
async def test_a_database_that_is_locked_is_not_what_a_tool_or_a_subagent_answers(
    open_world: OpenWorld,
    thread_id: str,
    tmp_path: Path,
    order: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The payment was made, and that it was could not be stored: the run is driven again and says that nobody knows."""
    monkeypatch.setattr(sqlite_database, "_BUSY_TIMEOUT_S", 0.2)
    async with open_world() as world:
        world.till.hangs = True
        run = await world.ask(thread_id, order, assistant="acts")
        await world.until_paying()
        with locked(tmp_path / "stepwell.db"):
            world.till.go_on.set()
            async with asyncio.timeout(60):
                while "the run waits" not in caplog.text:  # noqa: ASYNC110 - nobody announces it
                    await asyncio.sleep(0.02)
        await world.result(run)
        assert (await world.run(run)).status == "success"
        assert world.till.paid == ["baker"]
        (told,) = await world.results(thread_id)
        assert UNKNOWN in told if order == "pay baker" else told == "noted", told
