"""Ceilings of a run: the agent stops with what it has, and says so."""

import asyncio
import threading
import time
from typing import Annotated, Any

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import create_deep_agent
from stepwell.errors import ConfigurationError
from stepwell.middleware.budget import BudgetMiddleware
from stepwell.middleware.robust_calls import RobustCallsMiddleware
from stepwell.models.pricing import Price
from stepwell.testing import ScriptedModel, call, calls, fail, repeat, say, slow, stream_then_fail

USER = {"messages": [("user", "go")]}
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


async def run(agent, given=USER, config=None, *, is_async=True):
    if is_async:
        return await agent.ainvoke(given, config)
    return await asyncio.to_thread(agent.invoke, given, config)


def tick(n: int) -> str:
    """Count on."""
    return f"tick {n}"


def ticks(number: int):
    """Calls that differ from one another."""
    return [call("tick", n=n) for n in range(number)]


@COLOURS
@pytest.mark.parametrize(
    ("limit", "says", "calls_made"),
    [
        ({"max_tokens": 250}, "250 tokens", 3),
        ({"max_model_calls": 3}, "3 model calls", 3),
        ({"max_cost_usd": 0.5, "prices": {"scriptedmodel": Price(1000, 5000)}}, "$0.50", 4),
    ],
    ids=["tokens", "calls", "money"],
)
async def test_at_the_ceiling_the_agent_stops_and_says_so(is_async, limit, says, calls_made):
    model = ScriptedModel([*ticks(10), say("never")], usage=(90, 10))
    agent = create_deep_agent(model, [tick], middleware=[BudgetMiddleware(**limit)])
    messages = (await run(agent, is_async=is_async))["messages"]
    assert len(model.asked) == calls_made
    assert messages[-1].text.startswith("I stopped before the end: the budget of")
    assert says in messages[-1].text
    assert messages[-1].response_metadata["finish_reason"] == "budget"
    assert messages[-2].type == "tool", "the last results are kept"


async def test_the_time_ceiling_counts_steps():
    now = [0.0]

    def slow_tick(n: int) -> str:
        """Takes ten seconds."""
        now[0] += 10
        return str(n)

    budget = BudgetMiddleware(max_seconds=25, monotonic=lambda: now[0])
    model = ScriptedModel([call("slow_tick", n=n) for n in range(9)])
    result = await run(create_deep_agent(model, [slow_tick], middleware=[budget]))
    assert len(model.asked) == 3
    assert "25 seconds is used up" in result["messages"][-1].text


async def test_the_last_message_names_what_is_left_to_do():
    todos = [{"content": "dig", "status": "completed"}, {"content": "build", "status": "in_progress"}]
    script = [call("write_todos", todos=todos), call("write_file", file_path="/a.md", content="x"), *ticks(5)]
    agent = create_deep_agent(ScriptedModel(script), [tick], middleware=[BudgetMiddleware(max_model_calls=3)])
    text = (await run(agent))["messages"][-1].text
    assert "- build" in text
    assert "dig" not in text
    assert "/a.md" in text


async def test_the_model_is_warned_once_and_the_thread_does_not_hold_it():
    model = ScriptedModel([*ticks(9), say("done")])
    agent = create_deep_agent(model, [tick], middleware=[BudgetMiddleware(max_model_calls=10)])
    messages = (await run(agent))["messages"]
    warned = [asked.number for asked in model.asked if "80% of this run's budget" in asked.messages[-1].text]
    assert warned == [9]
    assert not any("Note:" in message.text for message in messages)


def delegating(kind: str):
    return call("task", description="work", subagent_type=kind)


CUSTOM = {"name": "clerk", "description": "works", "system_prompt": "work", "tools": [tick]}


@COLOURS
@pytest.mark.parametrize("kind", ["general-purpose", "clerk"])
async def test_a_subagent_counts_into_the_budget_of_its_caller(is_async, kind):
    model = ScriptedModel.by_agent({"main": [delegating(kind), say("never")], kind: ticks(10)}, usage=(90, 10))
    agent = create_deep_agent(model, [tick], subagents=[CUSTOM], middleware=[BudgetMiddleware(max_tokens=450)])
    messages = (await run(agent, is_async=is_async))["messages"]
    assert len(model.asked) == 5, "one call of the main agent, four of the subagent"
    assert "500 tokens in 5 model calls" in messages[-1].text
    said = messages[-2].text
    assert "used up" in said
    assert said.startswith("I stopped"), "a budget reaches every subagent, so each ends in order"


async def test_subagents_that_work_side_by_side_share_what_is_left():
    model = ScriptedModel.by_agent(
        {"main": [calls(*[delegating("clerk")] * 4), say("never")], "clerk": repeat(*ticks(10), times=4)}, usage=(90, 10)
    )
    agent = create_deep_agent(model, [tick], subagents=[CUSTOM], middleware=[BudgetMiddleware(max_tokens=1_000)])
    await run(agent)
    assert len(model.asked) <= 13, "one more each may be under way, not a whole budget each"


async def test_a_tool_that_asks_a_model_by_itself_counts():
    inner = ScriptedModel([say("yes")] * 9, usage=(900, 100))

    def oracle(question: str) -> str:
        """Ask."""
        return inner.invoke(question).text

    model = ScriptedModel([call("oracle", question=str(n)) for n in range(9)], usage=(1, 1))
    await run(create_deep_agent(model, [oracle], middleware=[BudgetMiddleware(max_tokens=2_500)]))
    assert len(inner.asked) == 3


async def test_totals_survive_a_pause_and_a_new_process():
    saver = InMemorySaver()
    thread = {"configurable": {"thread_id": "t"}}

    def build(script):
        budget = BudgetMiddleware(max_model_calls=3)
        model = ScriptedModel(script)
        return model, create_deep_agent(model, [tick], middleware=[budget], checkpointer=saver, interrupt_on={"tick": True})

    _, before = build(ticks(1))
    await run(before, USER, thread)
    model, after = build([*ticks(5)][1:])
    approve = Command(resume={"decisions": [{"type": "approve"}]})
    for _ in range(3):
        result = await run(after, approve, thread)
    assert len(model.asked) == 2
    assert "3 model calls is used up" in result["messages"][-1].text


async def test_the_next_message_has_a_budget_of_its_own_unless_it_is_the_threads():
    for per, ends in (("run", "two"), ("thread", "I stopped")):
        model = ScriptedModel([say("one"), say("two")])
        budget = BudgetMiddleware(max_model_calls=1, per=per)
        agent = create_deep_agent(model, middleware=[budget], checkpointer=InMemorySaver())
        for _ in range(2):
            result = await run(agent, USER, {"configurable": {"thread_id": "t"}})
        assert result["messages"][-1].text.startswith(ends)


async def test_a_model_without_a_price_is_said_once_and_not_guessed(caplog):
    model = ScriptedModel([*ticks(3), say("done")], usage=(1_000, 1_000))
    agent = create_deep_agent(model, [tick], middleware=[BudgetMiddleware(max_cost_usd=0.000001)])
    notes = [part async for part in agent.astream(USER, stream_mode="custom")]
    assert [note["type"] for note in notes] == ["budget_note"]
    assert "prices=" in notes[0]["text"]
    assert len(model.asked) == 4
    assert len([record for record in caplog.records if "No price is known" in record.message]) == 1


async def test_cached_tokens_cost_what_they_cost():
    usage = {
        "input_tokens": 1_000_000,
        "output_tokens": 0,
        "total_tokens": 1_000_000,
        "input_token_details": {"cache_read": 1_000_000},
    }
    model = ScriptedModel([AIMessage("done", usage_metadata=usage)])
    agent = create_deep_agent(
        model,
        middleware=[BudgetMiddleware(max_cost_usd=100, prices={"scriptedmodel": Price(10, 10, cache_read=1)})],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "t"}}
    await run(agent, USER, thread)
    assert agent.get_state(thread).values["spending"]["usd"] == pytest.approx(1.0)


async def test_a_model_that_reports_no_usage_is_estimated():
    model = ScriptedModel([say("x" * 4_000), say("never")])
    agent = create_deep_agent(model, middleware=[BudgetMiddleware(max_tokens=10**9)], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    await run(agent, USER, thread)
    assert agent.get_state(thread).values["spending"]["tokens"] > 1_000


@pytest.mark.parametrize("limit", ["max_tokens", "max_cost_usd", "max_seconds", "max_model_calls"])
def test_a_ceiling_of_nothing_is_refused(limit):
    with pytest.raises(ConfigurationError, match=limit):
        BudgetMiddleware(**{limit: 0})


BRANCHES = 10


class InFlight:
    """How many calls of a model are under way at once. It lets others begin before it answers."""

    def __init__(self, model):
        self._model = model
        self._lock = threading.Lock()
        self.now = self.most = 0

    def _change(self, by):
        with self._lock:
            self.now += by
            self.most = max(self.most, self.now)

    def ask(self, question):
        self._change(1)
        time.sleep(0.02)
        answer = self._model.invoke(question)
        self._change(-1)
        return answer.text

    async def aask(self, question):
        self._change(1)
        await asyncio.sleep(0.02)
        answer = await self._model.ainvoke(question)
        self._change(-1)
        return answer.text


def spent_by(agent, thread):
    return agent.get_state(thread).values["spending"]["tokens"]


THREAD = {"configurable": {"thread_id": "t"}}


@COLOURS
@pytest.mark.parametrize(("usage", "ceiling"), [((90, 10), 650), ((900, 100), 1_500)], ids=["small calls", "large calls"])
async def test_subagents_side_by_side_pass_the_ceiling_by_one_call_only(is_async, usage, ceiling):
    # Answers that take a moment: all branches ask before the first has an answer.
    slowly = repeat(*(slow(each, seconds_per_chunk=0.01) for each in ticks(10)), times=BRANCHES)
    script = {"main": [calls(*[delegating("clerk")] * BRANCHES), say("never")], "clerk": slowly}
    model = ScriptedModel.by_agent(script, usage=usage)
    budget = BudgetMiddleware(max_tokens=ceiling)
    agent = create_deep_agent(model, [tick], subagents=[CUSTOM], middleware=[budget], checkpointer=InMemorySaver())
    result = await run(agent, USER, THREAD, is_async=is_async)
    assert spent_by(agent, THREAD) <= ceiling + sum(usage)
    assert spent_by(agent, THREAD) >= ceiling, "what fits is not refused"
    assert f"{ceiling:,} tokens is used up" in result["messages"][-1].text


@pytest.mark.parametrize(
    ("is_async", "tool"), [(False, "sync tool"), (True, "sync tool"), (True, "async tool")], ids=["sync", "mixed", "async"]
)
async def test_tools_that_ask_models_side_by_side_pass_the_ceiling_by_one_call_only(is_async, tool):
    inner = ScriptedModel([say("yes")] * BRANCHES, usage=(900, 100))

    def oracle(question: str) -> str:
        """Ask."""
        return inner.invoke(question).text

    async def aoracle(question: str) -> str:
        """Ask."""
        return (await inner.ainvoke(question)).text

    chosen = aoracle if tool == "async tool" else oracle
    asks = [call(chosen.__name__, question=str(n)) for n in range(BRANCHES)]
    model = ScriptedModel([calls(*asks), say("never")], usage=(90, 10))
    agent = create_deep_agent(model, [chosen], middleware=[BudgetMiddleware(max_tokens=2_500)], checkpointer=InMemorySaver())
    await run(agent, USER, THREAD, is_async=is_async)
    assert 2_500 <= spent_by(agent, THREAD) <= 3_500
    assert len(inner.asked) == 3


@COLOURS
async def test_calls_that_fit_together_run_together(is_async):
    inner = InFlight(ScriptedModel([say("yes")] * 4, usage=(90, 10)))

    def oracle(question: str) -> str:
        """Ask."""
        return inner.ask(question)

    async def aoracle(question: str) -> str:
        """Ask."""
        return await inner.aask(question)

    chosen = aoracle if is_async else oracle
    asks = [call(chosen.__name__, question=str(n)) for n in range(4)]
    model = ScriptedModel([calls(*asks), say("done")], usage=(900, 100))
    agent = create_deep_agent(model, [chosen], middleware=[BudgetMiddleware(max_tokens=100_000)])
    result = await run(agent, is_async=is_async)
    assert result["messages"][-1].text == "done"
    assert inner.most > 1


@COLOURS
async def test_a_failed_call_gives_back_what_it_held(is_async):
    inner = ScriptedModel([fail(ConnectionError("down"))] * 5 + [say("yes")] * 5, usage=(900, 100))

    def oracle(question: str) -> str:
        """Ask."""
        return inner.invoke(question).text

    model = ScriptedModel([calls(*(call("oracle", question=str(n)) for n in range(BRANCHES))), say("done")], usage=(9, 1))
    agent = create_deep_agent(model, [oracle], middleware=[BudgetMiddleware(max_tokens=5_000)], checkpointer=InMemorySaver())
    messages = (await run(agent, USER, THREAD, is_async=is_async))["messages"]
    assert sum("yes" in message.text for message in messages if message.type == "tool") == 5
    assert len(inner.asked) == BRANCHES


async def test_calls_that_begin_when_others_have_ended_share_the_ceiling_too():
    inner = ScriptedModel([say("yes")] * BRANCHES, usage=(900, 100))

    def oracle(question: str) -> str:
        """Ask."""
        return inner.invoke(question).text

    model = ScriptedModel([calls(*(call("oracle", question=str(n)) for n in range(BRANCHES))), say("never")], usage=(9, 1))
    agent = create_deep_agent(model, [oracle], middleware=[BudgetMiddleware(max_tokens=2_500)])
    await run(agent, USER, {"max_concurrency": 1}, is_async=False)
    assert len(inner.asked) == 3


@COLOURS
@pytest.mark.parametrize(
    ("limit", "most"),
    [({"max_model_calls": 4}, 4), ({"max_cost_usd": 0.35, "prices": {"scriptedmodel": Price(1_000, 1_000)}}, 4)],
    ids=["calls", "money"],
)
async def test_the_other_ceilings_hold_side_by_side_too(is_async, limit, most):
    # Answers that take a moment: all branches ask before the first has an answer.
    slowly = repeat(*(slow(each, seconds_per_chunk=0.01) for each in ticks(10)), times=BRANCHES)
    script = {"main": [calls(*[delegating("clerk")] * BRANCHES), say("never")], "clerk": slowly}
    model = ScriptedModel.by_agent(script, usage=(90, 10))
    agent = create_deep_agent(model, [tick], subagents=[CUSTOM], middleware=[BudgetMiddleware(**limit)])
    await run(agent, is_async=is_async)
    assert len(model.asked) == most


async def test_a_cancelled_run_does_not_keep_others_waiting():
    """Two runs of one agent: the second is not held up by what the first held when it was cancelled."""
    inner = ScriptedModel([slow(say("never"), seconds_per_chunk=3600)] + [say("yes")] * 3, usage=(900, 100))

    asking = asyncio.Event()

    async def oracle(question: str) -> str:
        """Ask."""
        asking.set()
        return (await inner.ainvoke(question)).text

    model = ScriptedModel([calls(call("oracle", question="a"), call("oracle", question="b")), say("done")] * 2, usage=(9, 1))
    agent = create_deep_agent(model, [oracle], middleware=[BudgetMiddleware(max_tokens=100_000)])
    first = asyncio.create_task(run(agent))
    async with asyncio.timeout(60):
        await asking.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await run(agent))["messages"][-1].text == "done"


@COLOURS
@pytest.mark.parametrize("shape", ["list", "command", "command without an update"])
async def test_a_tool_may_return_anything_that_a_tool_may_return(is_async, shape):
    inner = ScriptedModel([say("yes")], usage=(900, 100))

    def oracle(question: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Ask."""
        said = ToolMessage(inner.invoke(question).text, tool_call_id=tool_call_id, name="oracle")
        if shape == "list":
            return [said, Command(update={"todos": []})]
        if shape == "command":
            return Command(update={"messages": [said]})
        return [said, Command()]

    model = ScriptedModel([call("oracle", question="?"), say("done")], usage=(90, 10))
    agent = create_deep_agent(model, [oracle], middleware=[BudgetMiddleware(max_tokens=9_000)], checkpointer=InMemorySaver())
    messages = (await run(agent, USER, THREAD, is_async=is_async))["messages"]
    assert [message.text for message in messages[-2:]] == ["yes", "done"]
    assert spent_by(agent, THREAD) == 1_200, "what the tool's own call cost is counted"


def robust(**limits):
    async def no_wait(_seconds: float) -> None:
        return None

    return RobustCallsMiddleware(asleep=no_wait, sleep=lambda _seconds: None, **limits)


async def spending_of(agent) -> dict[str, Any]:
    """What a run has spent that somebody follows token by token."""
    async for _ in agent.astream(USER, THREAD, stream_mode="messages"):
        pass
    return (await agent.aget_state(THREAD)).values["spending"]


async def test_a_stream_that_breaks_off_counts_what_it_read_and_said():
    cut = stream_then_fail("word " * 800, ConnectionError("cut"))
    model = ScriptedModel([cut, cut, say("done").using(input_tokens=10, output_tokens=5)])
    budget = BudgetMiddleware(max_tokens=10**9)
    spent = await spending_of(create_deep_agent(model, middleware=[budget, robust()], checkpointer=InMemorySaver()))
    assert spent["calls"] == 3
    assert spent["tokens"] > 2 * 1_000, "each of the two said about a thousand tokens before the line was cut"


async def test_a_stream_that_is_given_up_counts_what_it_read_and_said():
    class Stalling(ScriptedModel):
        """Says a good deal, the first time, and then nothing more."""

        async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                yield chunk
                if len(self.asked) == 1:
                    await asyncio.Event().wait()

    model = Stalling([say("x" * 4_000), say("done").using(input_tokens=10, output_tokens=5)])
    budget = BudgetMiddleware(max_tokens=10**9)
    agent = create_deep_agent(model, middleware=[budget, robust(idle_s=1)], checkpointer=InMemorySaver())
    spent = await spending_of(agent)
    assert spent["calls"] == 2
    assert spent["tokens"] > 1_000


async def test_a_model_that_only_completes_text_counts_what_it_read():
    def oracle(question: str) -> str:
        """Ask."""
        return FakeListLLM(responses=["yes"]).invoke(question)

    model = ScriptedModel([call("oracle", question="why? " * 800), say("done")], usage=(1, 1))
    agent = create_deep_agent(model, [oracle], middleware=[BudgetMiddleware(max_tokens=10**9)], checkpointer=InMemorySaver())
    await run(agent, USER, THREAD)
    spent = (await agent.aget_state(THREAD)).values["spending"]
    assert spent["calls"] == 3
    assert spent["tokens"] > 1_000


async def test_a_report_of_no_tokens_is_no_report():
    silent = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    model = ScriptedModel([AIMessage("x" * 4_000, usage_metadata=silent)])
    agent = create_deep_agent(model, middleware=[BudgetMiddleware(max_tokens=10**9)], checkpointer=InMemorySaver())
    assert (await spending_of(agent))["tokens"] > 1_000


async def test_a_model_without_a_name_is_not_charged_as_somebody_else(caplog):
    class Nameless(ScriptedModel):
        def _get_ls_params(self, stop=None, **kwargs):
            return {}

    model = Nameless([*ticks(3), say("done")], usage=(1_000, 1_000))
    agent = create_deep_agent(model, [tick], middleware=[BudgetMiddleware(max_cost_usd=0.01)], checkpointer=InMemorySaver())
    await run(agent, USER, THREAD)
    spent = (await agent.aget_state(THREAD)).values["spending"]
    assert (spent["usd"], spent["unpriced"]) == (0.0, ["unnamed"])
    assert "No price is known for a model without a name" in caplog.text
