"""What must be true of messages to runs on every database, as tests with a real engine and a real agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.support.driven_runs import OWNER, new_id
from tests.support.steered_agent import MODELS, TOOLS

from stepwell.clock import SystemClock
from stepwell.database.persistence import Persistence
from stepwell.database.sent_messages import SentMessage
from stepwell.database.types import Run
from stepwell.errors import (
    InvalidRequestError,
    MessageTakenError,
    NoActiveRunError,
    NotFoundError,
    RunPausedError,
    SteerQueueFullError,
)
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.starting import RunOrder
from stepwell.state.steering import SteeringMessage

Open = Callable[[], AbstractAsyncContextManager[Persistence]]
APPROVE = {"decisions": [{"type": "approve"}]}


@dataclass
class Served:
    """An engine, with the few words that these tests need."""

    engine: Engine
    persistence: Persistence

    async def start(self, thread_id: str, text: str, **order: Any) -> Run:
        given = {"messages": [{"role": "user", "content": text}]}
        order = {"if_not_exists": "create", "input": given, **order}
        return (await self.engine.start(OWNER, RunOrder("agent", thread_id=thread_id, **order))).run

    async def work(self) -> tuple[Run, str]:
        """A run whose tool waits, and the mark of its gate."""
        mark = new_id()
        run = await self.start(new_id(), f"work {mark}")
        await TOOLS[mark].reached.wait()
        return run, mark

    async def steer(self, run: Run, text: str, message_id: str | None = None, owner: str | None = OWNER) -> SentMessage:
        message = SteeringMessage(message_id or new_id(), text)
        return await self.engine.steer(owner, run.thread_id, run.run_id, message)

    async def said(self, run: Run) -> list[tuple[str, str]]:
        """The thread's messages once the run has ended, without the first two."""
        result = orjson.loads(await self.engine.result(OWNER, run.thread_id, run.run_id))
        return [(message["type"], message["content"]) for message in result["messages"]][2:]

    async def runs(self, thread_id: str) -> list[Run]:
        """The thread's runs, oldest first."""
        from stepwell.database.records.types import Page

        return (await self.persistence.records.list_runs(OWNER, thread_id, None, Page()))[::-1]

    async def waiting(self, thread_id: str) -> list[str]:
        messages = await self.persistence.records.list_waiting_messages(OWNER, thread_id)
        return [str(sent.message.content) for sent in messages]


async def make_engine(persistence: Persistence) -> Engine:
    clock = SystemClock()
    registry = GraphRegistry.from_specs({"agent": "tests.support.steered_agent:agent"}, Path())
    assistants = Assistants(persistence.records, registry, clock, new_id)
    await assistants.install_defaults()
    options = EngineOptions(drain_s=0.0)
    return Engine(persistence, registry, assistants, clock=clock, new_id=new_id, options=options)


class SteeringConformance:
    """Subclass it with a fixture `opened`, which opens the same database each time."""

    @pytest.fixture
    def open_served(self, opened: Open) -> Callable[[], AbstractAsyncContextManager[Served]]:
        @asynccontextmanager
        async def serve() -> AsyncIterator[Served]:
            async with opened() as persistence, await make_engine(persistence) as engine:
                yield Served(engine, persistence)

        return serve

    @pytest.fixture
    async def served(self, open_served: Callable[[], AbstractAsyncContextManager[Served]]) -> AsyncIterator[Served]:
        async with open_served() as served:
            yield served

    async def test_messages_enter_in_their_order_after_the_tool_results(self, served: Served) -> None:
        run, mark = await served.work()
        sent = [await served.steer(run, text) for text in ("one", "two")]
        assert [(each.state, each.position, each.run_id) for each in sent] == [
            ("waiting", 1, run.run_id),
            ("waiting", 2, run.run_id),
        ]
        assert await served.waiting(run.thread_id) == ["one", "two"]
        TOOLS[mark].open.set()
        assert await served.said(run) == [
            ("tool", "worked"),
            ("human", "one"),
            ("human", "two"),
            ("ai", f"heard work {mark} | one | two"),
        ]
        assert await served.waiting(run.thread_id) == []
        assert len(await served.runs(run.thread_id)) == 1

    async def test_a_message_with_a_known_id_is_the_same_message(self, served: Served) -> None:
        run, mark = await served.work()
        first = await served.steer(run, "one", "m")
        assert await served.steer(run, "one", "m") == first
        with pytest.raises(InvalidRequestError, match="with another content"):
            await served.steer(run, "other", "m")
        TOOLS[mark].open.set()
        assert (await served.said(run)).count(("human", "one")) == 1
        again = await served.steer(run, "one", "m")  # the run has ended, and had it
        assert (again.state, again.position, again.run_id) == ("taken", 0, run.run_id)

    async def test_the_eleventh_message_is_refused(self, served: Served) -> None:
        run, mark = await served.work()
        for number in range(10):
            await served.steer(run, str(number))
        with pytest.raises(SteerQueueFullError, match="10 messages wait"):
            await served.steer(run, "more")
        TOOLS[mark].open.set()
        assert len(await served.said(run)) == 12

    async def test_what_comes_during_the_last_call_becomes_the_next_run(self, served: Served) -> None:
        run, mark = await served.work()
        gate = MODELS[mark]
        TOOLS[mark].open.set()
        await gate.reached.wait()
        await served.steer(run, "late", "m1")
        await served.steer(run, "later", "m2")
        gate.open.set()
        assert (await served.said(run))[-1] == ("ai", f"heard work {mark}")
        first, second = await served.runs(run.thread_id)
        assert (first.run_id, second.metadata["steered_run_id"]) == (run.run_id, run.run_id)
        assert (await served.said(second))[-3:] == [
            ("human", "late"),
            ("human", "later"),
            ("ai", f"heard work {mark} | late | later"),
        ]
        again = await served.steer(run, "late", "m1")
        assert (again.state, again.run_id) == ("enqueued", second.run_id)
        with pytest.raises(MessageTakenError, match="input of another run"):
            await served.persistence.records.withdraw_message(OWNER, run.thread_id, "m1")

    async def test_a_run_that_is_stopped_leaves_its_messages_to_the_next(self, served: Served) -> None:
        run, mark = await served.work()
        await served.steer(run, "late")
        await served.engine.cancel(OWNER, run.thread_id, [run.run_id], wait=True)
        _, second = await served.runs(run.thread_id)
        assert (await served.said(second))[-2:] == [("human", "late"), ("ai", f"heard work {mark} | late")]

    async def test_a_run_that_is_rolled_back_leaves_what_it_has_not_taken(self, served: Served) -> None:
        run, mark = await served.work()
        gate = MODELS[mark]
        await served.steer(run, "given")
        TOOLS[mark].open.set()
        await gate.reached.wait()
        await served.engine.cancel(OWNER, run.thread_id, [run.run_id], action="rollback", wait=True)
        (second,) = await served.runs(run.thread_id)
        result = orjson.loads(await served.engine.result(OWNER, run.thread_id, second.run_id))
        assert [message["content"] for message in result["messages"]] == ["given", "heard given"]

    async def test_an_ended_run_refuses_messages(self, served: Served) -> None:
        run = await served.start(new_id(), "hello")
        await served.engine.result(OWNER, run.thread_id, run.run_id)
        with pytest.raises(NoActiveRunError, match="has ended") as refused:
            await served.steer(run, "late")
        assert refused.value.code == "NO_ACTIVE_RUN"

    async def test_a_paused_run_refuses_messages(self, served: Served) -> None:
        run = await served.start(new_id(), "pay")
        await served.engine.result(OWNER, run.thread_id, run.run_id)
        with pytest.raises(RunPausedError, match="waits for an answer") as refused:
            await served.steer(run, "late")
        assert refused.value.code == "RUN_PAUSED"

    async def test_messages_of_a_run_that_pauses_enter_after_the_answer(self, served: Served) -> None:
        run = await served.start(new_id(), "hello")
        await served.engine.result(OWNER, run.thread_id, run.run_id)
        run, mark = await served.work()
        gate = MODELS[mark]
        await served.steer(run, "pay")
        TOOLS[mark].open.set()
        await gate.reached.wait()
        await served.steer(run, "less, please")
        gate.open.set()
        assert (await served.said(run))[-1] == ("ai", "")
        assert await served.waiting(run.thread_id) == ["less, please"]
        assert len(await served.runs(run.thread_id)) == 1
        (question,) = await served.persistence.open_interrupts(OWNER, run.thread_id)
        answered = await served.start(run.thread_id, "", input=None, command={"resume": {question.interrupt_id: APPROVE}})
        said = await served.said(answered)
        assert said[-3:-1] == [("tool", "paid 5"), ("human", "less, please")]
        assert await served.waiting(run.thread_id) == []
        assert len(await served.runs(run.thread_id)) == 2

    async def test_messages_of_a_run_that_pauses_do_not_wait_for_a_run_that_is_due_later(self, served: Served) -> None:
        run, mark = await served.work()
        gate = MODELS[mark]
        await served.steer(run, "pay")
        await served.start(run.thread_id, "much later", after_seconds=3600)
        TOOLS[mark].open.set()
        await gate.reached.wait()
        await served.steer(run, "less, please")
        gate.open.set()
        await served.said(run)
        (question,) = await served.persistence.open_interrupts(OWNER, run.thread_id)
        answered = await served.start(run.thread_id, "", input=None, command={"resume": {question.interrupt_id: APPROVE}})
        assert ("human", "less, please") in await served.said(answered)

    async def test_a_waiting_message_is_withdrawn_and_a_given_one_stays(self, served: Served) -> None:
        run, mark = await served.work()
        gate = MODELS[mark]
        await served.steer(run, "one", "m1")
        await served.steer(run, "two", "m2")
        withdraw = served.persistence.records.withdraw_message
        await withdraw(OWNER, run.thread_id, "m1")
        with pytest.raises(NotFoundError):
            await withdraw(OWNER, run.thread_id, "m1")
        TOOLS[mark].open.set()
        await gate.reached.wait()
        with pytest.raises(MessageTakenError, match="has read the message 'm2' already"):
            await withdraw(OWNER, run.thread_id, "m2")
        gate.open.set()
        assert await served.said(run) == [("tool", "worked"), ("human", "two"), ("ai", f"heard work {mark} | two")]

    async def test_strangers_cannot_send_see_or_withdraw(self, served: Served) -> None:
        run, mark = await served.work()
        await served.steer(run, "one", "m1")
        records = served.persistence.records
        with pytest.raises(NotFoundError):
            await served.steer(run, "two", owner="a stranger")
        with pytest.raises(NotFoundError):
            await records.list_waiting_messages("a stranger", run.thread_id)
        with pytest.raises(NotFoundError):
            await records.withdraw_message("a stranger", run.thread_id, "m1")
        TOOLS[mark].open.set()
        await served.said(run)

    async def test_the_strategy_steer_sends_the_message_to_the_run_under_way(self, served: Served) -> None:
        run, mark = await served.work()
        same = await served.start(run.thread_id, "one", multitask_strategy="steer")
        assert same.run_id == run.run_id
        TOOLS[mark].open.set()
        assert ("human", "one") in await served.said(run)
        fresh = await served.start(run.thread_id, "two", multitask_strategy="steer")
        assert (fresh.run_id != run.run_id, fresh.multitask_strategy) == (True, "enqueue")
        assert (await served.said(fresh))[-2] == ("human", "two")

    async def test_one_request_with_one_id_twice_is_one_message(self, served: Served) -> None:
        run, mark = await served.work()
        twice = {"messages": [{"role": "user", "id": "m", "content": "one"}] * 2}
        await served.start(run.thread_id, "", input=twice, multitask_strategy="steer")
        other = {"messages": [{"role": "user", "id": "n", "content": text} for text in ("one", "two")]}
        with pytest.raises(InvalidRequestError, match="with another content"):
            await served.start(run.thread_id, "", input=other, multitask_strategy="steer")
        TOOLS[mark].open.set()
        assert (await served.said(run)).count(("human", "one")) == 1

    @pytest.mark.parametrize(
        "order",
        [
            {"input": {"messages": [{"role": "user", "content": "x", "name": "Ann"}]}},
            {"input": {"messages": [{"role": "user", "content": "x", "id": "x" * 257}]}},
            {"input": {"messages": []}},
            {"input": {"messages": [{"role": "assistant", "content": "no"}]}},
            {"input": {"messages": [{"role": "user", "content": ""}]}},
            {"input": {"messages": [{"role": "user", "content": "x"}], "files": {}}},
            {"input": None, "command": {"update": {"messages": []}}},
        ],
    )
    async def test_the_strategy_steer_takes_messages_of_the_user_only(self, served: Served, order: dict[str, Any]) -> None:
        with pytest.raises(InvalidRequestError):
            await served.start(new_id(), "", multitask_strategy="steer", **order)

    async def test_a_restart_between_giving_and_storing_gives_it_again_once(
        self, open_served: Callable[[], AbstractAsyncContextManager[Served]]
    ) -> None:
        async with open_served() as served:
            run, mark = await served.work()
            gate = MODELS[mark]
            await served.steer(run, "one")
            TOOLS[mark].open.set()
            await gate.reached.wait()  # given to the model, whose answer never comes
        gate.open.set()
        async with open_served() as served:
            assert await served.said(run) == [("tool", "worked"), ("human", "one"), ("ai", f"heard work {mark} | one")]
            assert await served.waiting(run.thread_id) == []
            assert len(await served.runs(run.thread_id)) == 1

    async def test_a_restart_before_the_next_call_keeps_the_messages(
        self, open_served: Callable[[], AbstractAsyncContextManager[Served]]
    ) -> None:
        async with open_served() as served:
            run, mark = await served.work()
            await served.steer(run, "one")
        TOOLS[mark].open.set()
        async with open_served() as served:
            assert ("human", "one") in await served.said(run)

    async def test_a_run_that_stores_only_its_end_takes_messages_too(self, served: Served) -> None:
        mark = new_id()
        run = await served.start(new_id(), f"work {mark}", durability="exit")
        await TOOLS[mark].reached.wait()
        await served.steer(run, "one")
        TOOLS[mark].open.set()
        assert (await served.said(run)).count(("human", "one")) == 1
        assert (len(await served.runs(run.thread_id)), await served.waiting(run.thread_id)) == (1, [])

    async def test_messages_to_a_run_that_waits_for_its_turn_enter_with_its_first_call(self, served: Served) -> None:
        run, mark = await served.work()
        queued = await served.start(run.thread_id, "next")
        await served.steer(queued, "for the second")
        TOOLS[mark].open.set()
        assert ("human", "for the second") not in await served.said(run)
        assert (await served.said(queued))[-3:] == [
            ("human", "next"),
            ("human", "for the second"),
            ("ai", f"heard work {mark} | next | for the second"),
        ]

    async def test_many_senders_at_once_lose_nothing(self, served: Served) -> None:
        run, mark = await served.work()

        async def send(number: int) -> None:
            try:
                await served.steer(run, f"text {number}", f"m{number}")
            except NoActiveRunError:
                await served.start(run.thread_id, f"text {number}")

        sending = [asyncio.create_task(send(number)) for number in range(10)]
        await asyncio.sleep(0)
        TOOLS[mark].open.set()
        await asyncio.gather(*sending)
        for each in await served.runs(run.thread_id):
            await served.persistence.queue.finished(each.run_id)
        for each in await served.runs(run.thread_id):
            said = await served.said(each)
        texts = [text for kind, text in said if kind == "human"]
        assert sorted(texts) == sorted(f"text {number}" for number in range(10))
