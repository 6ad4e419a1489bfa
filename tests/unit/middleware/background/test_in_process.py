"""Background subagents in a process: start, check, list, cancel, update, and the budget they share."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from tests.support.waiting import wait_until

from stepwell import AsyncSubAgentMiddleware, BudgetMiddleware, ConfigurationError, create_deep_agent
from stepwell.middleware.background.middleware import find_background
from stepwell.testing import ScriptedModel, call, calls, say
from stepwell.testing.scripted.replies import Computed
from stepwell.tools.background import spent_by_tasks

ASK = {"messages": [("user", "go")]}
THREAD: Any = {"configurable": {"thread_id": "t"}}


def researcher(**more: Any) -> dict[str, Any]:
    return {
        "name": "researcher",
        "description": "looks things up",
        "system_prompt": "You look things up.",
        "mode": "background",
        **more,
    }


def start(description: str = "find it") -> Any:
    return call("start_async_task", description=description, subagent_type="researcher")


def tool_texts(final: dict[str, Any]) -> list[str]:
    return [message.text for message in final["messages"] if message.type == "tool"]


def only_task(final: dict[str, Any]) -> dict[str, Any]:
    (task,) = final["async_tasks"].values()
    return task


def then(verb: str, **more: Any) -> Any:
    """A call about the only task, whose id the model has read in a result."""

    def answer(asked: Any) -> Any:
        text = next(message.text for message in reversed(asked.messages) if "task_id: " in message.text)
        return call(verb, task_id=text.split("task_id: ")[1].split()[0], **more)

    return Computed(answer)


def test_a_task_is_started_checked_and_listed():
    working = threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        working.wait(60)
        return "waited"

    model = ScriptedModel.by_agent(
        {
            "main": [
                start(),
                say("started"),
                then("check_async_task"),
                say("not yet"),
                then("check_async_task"),
                call("list_async_tasks"),
                say("done"),
            ],
            "researcher": [call("wait"), say("forty-two")],
        }
    )
    agent = create_deep_agent(model, [wait], subagents=[researcher()], checkpointer=InMemorySaver())
    first = agent.invoke(ASK, THREAD)
    task = only_task(first)
    assert task["agent_name"] == "researcher"
    assert task["status"] in ("pending", "running")
    assert task["task_id"] in tool_texts(first)[0]

    second = agent.invoke({"messages": [("user", "and?")]}, THREAD)
    assert json.loads(tool_texts(second)[1])["status"] == "running"
    working.set()
    here = find_background(agent)
    assert here is not None
    wait_until(lambda: here._here.report(task["task_id"]).status == "success", "the task ends")
    third = agent.invoke({"messages": [("user", "and now?")]}, THREAD)
    assert json.loads(tool_texts(third)[2]) == {"status": "success", "thread_id": task["task_id"], "result": "forty-two"}
    assert tool_texts(third)[3].splitlines()[0] == "1 tracked task(s):"
    assert only_task(third)["status"] == "success"


async def test_the_same_from_async_code_with_a_message_when_it_is_done():
    told: asyncio.Queue[HumanMessage] = asyncio.Queue()
    model = ScriptedModel.by_agent(
        {"main": [start("say <b>hi</b>"), say("started"), say("it said hi")], "researcher": [say("<b>hi")]}
    )
    background = AsyncSubAgentMiddleware(
        async_subagents=[researcher()], notify=lambda report, message: told.put_nowait(message)
    )
    agent = create_deep_agent(model, middleware=[background], checkpointer=InMemorySaver())
    first = await agent.ainvoke(ASK, THREAD)
    message = await asyncio.wait_for(told.get(), 60)
    assert only_task(first)["task_id"] in message.text
    assert "&lt;b>hi" in message.text
    final = await agent.ainvoke({"messages": [message]}, THREAD)
    assert final["messages"][-1].text == "it said hi"


def test_a_follow_up_sees_the_conversation_and_keeps_the_id():
    ended: list[Any] = []
    model = ScriptedModel.by_agent(
        {
            "main": [start(), say("started"), then("update_async_task", message="also the year"), say("told it")],
            "researcher": [say("Paris"), say("Paris, 1889")],
        }
    )
    background = AsyncSubAgentMiddleware(async_subagents=[researcher()], notify=lambda report, message: ended.append(report))
    agent = create_deep_agent(model, middleware=[background], checkpointer=InMemorySaver())
    before = only_task(agent.invoke(ASK, THREAD))
    wait_until(lambda: len(ended) == 1, "the first answer")
    after = only_task(agent.invoke({"messages": [("user", "the year?")]}, THREAD))
    wait_until(lambda: len(ended) == 2, "the second answer")
    assert after["task_id"] == before["task_id"]
    assert after["run_id"] != before["run_id"]
    assert [report.result for report in ended] == ["Paris", "Paris, 1889"]
    asked = [each for each in model.asked if each.agent == "researcher"][-1]
    assert [message.text for message in asked.messages if message.type == "human"] == ["find it", "also the year"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_task_is_cancelled(is_async):
    begun, go_on = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        begun.set()
        go_on.wait(60)
        return "waited"

    model = ScriptedModel.by_agent(
        {
            "main": [start(), say("started"), then("cancel_async_task"), say("stopped")],
            "researcher": [call("wait"), say("never")],
        }
    )
    agent = create_deep_agent(model, [wait], subagents=[researcher()], checkpointer=InMemorySaver())
    if is_async:
        await agent.ainvoke(ASK, THREAD)
        await asyncio.to_thread(begun.wait, 60)
        final = await agent.ainvoke({"messages": [("user", "stop it")]}, THREAD)
    else:
        await asyncio.to_thread(agent.invoke, ASK, THREAD)
        await asyncio.to_thread(begun.wait, 60)
        final = await asyncio.to_thread(agent.invoke, {"messages": [("user", "stop it")]}, THREAD)
    go_on.set()
    assert only_task(final)["status"] == "cancelled"


def test_a_task_that_fails_or_takes_too_long_says_so():
    ended: list[Any] = []
    go_on = threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        go_on.wait(0.2)
        return "waited"

    model = ScriptedModel.by_agent({"main": [start(), say("started")], "researcher": [call("wait"), call("wait"), say("late")]})
    background = AsyncSubAgentMiddleware(
        async_subagents=[researcher(timeout_s=0.01)], notify=lambda report, message: ended.append((report, message.text))
    )
    agent = create_deep_agent(model, [wait], middleware=[background])
    agent.invoke(ASK)
    wait_until(lambda: ended, "the end of the task")
    report, text = ended[0]
    assert report.status == "error"
    assert "longer than 0.01 s" in text


def test_a_notify_that_fails_is_logged_and_the_task_takes_more_messages(caplog):
    told: list[Any] = []

    def notify(report: Any, message: HumanMessage) -> None:
        told.append(report)
        raise RuntimeError("queue full")

    model = ScriptedModel.by_agent(
        {
            "main": [start(), say("started"), then("update_async_task", message="more"), say("told it")],
            "researcher": [say("one"), say("two")],
        }
    )
    background = AsyncSubAgentMiddleware(async_subagents=[researcher()], notify=notify)
    agent = create_deep_agent(model, middleware=[background], checkpointer=InMemorySaver())
    agent.invoke(ASK, THREAD)
    wait_until(lambda: len(told) == 1, "the first answer")
    agent.invoke({"messages": [("user", "more")]}, THREAD)
    wait_until(lambda: len(told) == 2, "the second answer")
    assert told[1].result == "two"
    wait_until(lambda: "queue full" in caplog.text, "the log")


def test_a_step_that_blocks_does_not_extend_the_limit():
    ended: list[Any] = []
    go_on = threading.Event()

    def block(given: Any) -> Any:
        go_on.wait(60)
        return {"messages": [AIMessage("late")]}

    model = ScriptedModel([start(), say("started"), then("update_async_task", message="go on"), say("told it")])
    blocking: Any = {"name": "researcher", "description": "blocks", "runnable": RunnableLambda(block), "timeout_s": 0.01}
    background = AsyncSubAgentMiddleware(async_subagents=[blocking], notify=lambda report, message: ended.append(report))
    agent = create_deep_agent(model, middleware=[background], checkpointer=InMemorySaver())
    task = only_task(agent.invoke(ASK, THREAD))
    wait_until(lambda: ended, "the end of the task, whose step still blocks")
    assert "longer than 0.01 s" in ended[0].error
    assert background.look(task["task_id"]).status == "error"
    agent.invoke({"messages": [("user", "more")]}, THREAD)
    assert background.look(task["task_id"]).status == "pending"
    go_on.set()
    wait_until(lambda: len(ended) == 2, "the end of the second round")


@pytest.mark.parametrize("verb", ["cancel_async_task", "update_async_task"])
def test_a_task_whose_event_loop_was_closed_says_so_and_can_be_used(verb):
    ended: list[Any] = []

    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "never"

    more = {"message": "again"} if verb.startswith("update") else {}
    model = ScriptedModel.by_agent(
        {
            "main": [start(), say("started"), then("check_async_task"), then(verb, **more), say("done")],
            "researcher": lambda asked: say("here") if asked.messages[-1].text == "again" else call("wait"),
        }
    )
    background = AsyncSubAgentMiddleware(async_subagents=[researcher()], notify=lambda report, message: ended.append(report))
    agent = create_deep_agent(model, [wait], middleware=[background], checkpointer=InMemorySaver())
    loop = asyncio.new_event_loop()
    task = only_task(loop.run_until_complete(agent.ainvoke(ASK, THREAD)))
    loop.close()
    final = agent.invoke({"messages": [("user", "and?")]}, THREAD)
    assert "event loop" in json.loads(tool_texts(final)[1])["error"]
    if more:
        wait_until(lambda: ended, "the answer")
        assert ended[0].result == "here"
    else:
        assert "closed" not in tool_texts(final)[2]
        assert background.look(task["task_id"]).status == "cancelled"


def test_a_task_waits_for_a_person_and_says_what_for():
    model = ScriptedModel.by_agent(
        {
            "main": [start(), say("started"), then("check_async_task"), say("it asks")],
            "researcher": [call("write_file", file_path="/a.md", content="x")],
        }
    )
    agent = create_deep_agent(model, subagents=[researcher()], interrupt_on={"write_file": True}, checkpointer=InMemorySaver())
    task = only_task(agent.invoke(ASK, THREAD))
    here = find_background(agent)
    assert here is not None
    wait_until(lambda: here._here.report(task["task_id"]).status == "waiting", "the question")
    final = agent.invoke({"messages": [("user", "how is it?")]}, THREAD)
    assert only_task(final)["status"] == "waiting"
    assert "write_file" in json.loads(tool_texts(final)[-1])["waits_for"]


def test_a_task_of_another_process_is_lost_and_says_so():
    saver = InMemorySaver()
    model = ScriptedModel.by_agent({"main": [start(), say("started")], "researcher": [say("x")]})
    create_deep_agent(model, subagents=[researcher()], checkpointer=saver).invoke(ASK, THREAD)
    later = ScriptedModel.by_agent({"main": [then("check_async_task"), say("lost")], "researcher": []})
    final = create_deep_agent(later, subagents=[researcher()], checkpointer=saver).invoke(
        {"messages": [("user", "and?")]}, THREAD
    )
    assert "Start it again" in json.loads(tool_texts(final)[-1])["error"]


def test_no_more_tasks_than_allowed():
    go_on = threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        go_on.wait(60)
        return "waited"

    model = ScriptedModel.by_agent(
        {"main": [start(), start("another"), say("one")], "researcher": lambda asked: say("x") if asked.turn else call("wait")}
    )
    background = AsyncSubAgentMiddleware(async_subagents=[researcher()], max_tasks=1)
    final = create_deep_agent(model, [wait], middleware=[background]).invoke(ASK)
    go_on.set()
    assert "1 background tasks are under way" in tool_texts(final)[1]
    assert len(final["async_tasks"]) == 1


@pytest.mark.parametrize("config", [THREAD, {}])
@pytest.mark.parametrize("is_async", [False, True])
async def test_no_more_tasks_than_allowed_in_one_step(is_async, config):
    go_on = threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        go_on.wait(60)
        return "waited"

    model = ScriptedModel.by_agent(
        {
            "main": lambda asked: say("some") if asked.turn % 2 else calls(start("a"), start("b"), start("c")),
            "researcher": lambda asked: say("x") if asked.turn else call("wait"),
        }
    )
    background = AsyncSubAgentMiddleware(async_subagents=[researcher()], max_tasks=2)
    agent = create_deep_agent(model, [wait], middleware=[background])
    final = await agent.ainvoke(ASK, config) if is_async else await asyncio.to_thread(agent.invoke, ASK, config)
    go_on.set()
    assert len(final["async_tasks"]) == 2
    assert len([text for text in tool_texts(final) if "2 background tasks are under way" in text]) == 1


def test_tasks_of_another_conversation_do_not_count():
    go_on = threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        go_on.wait(60)
        return "waited"

    model = ScriptedModel.by_agent(
        {
            "main": [start(), say("one"), start(), say("two")],
            "researcher": lambda asked: say("x") if asked.turn else call("wait"),
        }
    )
    background = AsyncSubAgentMiddleware(async_subagents=[researcher()], max_tasks=1)
    agent = create_deep_agent(model, [wait], middleware=[background])
    finals = [agent.invoke(ASK), agent.invoke(ASK)]
    go_on.set()
    assert [len(final["async_tasks"]) for final in finals] == [1, 1]


def test_a_task_spends_from_its_parent_s_budget():
    ended: list[Any] = []
    model = ScriptedModel.by_agent(
        {
            "main": [start(), say("started"), start("once more"), say("never said")],
            "researcher": [call("ls", path="/"), call("ls", path="/"), say("never said")],
        },
        usage=(10, 0),
    )
    background = AsyncSubAgentMiddleware(
        async_subagents=[researcher()], notify=lambda report, message: ended.append((report, message))
    )
    agent = create_deep_agent(model, middleware=[background, BudgetMiddleware(max_model_calls=4)], checkpointer=InMemorySaver())
    agent.invoke(ASK, THREAD)
    wait_until(lambda: ended, "the end of the task")
    report, message = ended[0]
    # The parent made one call before it started the task, and perhaps one since; the task has what is left of four.
    assert report.spent["calls"] in (2, 3)
    final = agent.invoke({"messages": [message]}, THREAD)
    assert "the budget of 4 model calls is used up" in final["messages"][-1].text


@pytest.mark.parametrize("is_async", [False, True])
async def test_five_tasks_at_once_spend_no_more_than_their_parent_may(is_async):
    ended: list[Any] = []
    asked: list[str] = []
    done = threading.Event()

    def note(report: Any, message: Any) -> None:
        ended.append((report, message))
        if len(ended) == 5:
            done.set()

    def answer(given: Any) -> Any:
        asked.append(given.agent)
        if given.agent == "researcher":
            return call("ls", path="/")  # it never comes to an end by itself
        return say("started") if given.messages[-1].type == "tool" else calls(*(start(str(number)) for number in range(5)))

    background = AsyncSubAgentMiddleware(async_subagents=[researcher()], notify=note)
    model = ScriptedModel.answering(answer, usage=(10, 0))
    agent = create_deep_agent(model, middleware=[background, BudgetMiddleware(max_model_calls=9)], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": f"five-{is_async}"}}
    await (agent.ainvoke(ASK, thread) if is_async else asyncio.to_thread(agent.invoke, ASK, thread))
    assert await asyncio.to_thread(done.wait, 60)
    assert len(asked) == 9
    assert sum(report.spent["calls"] for report, _ in ended) in (7, 8), "the parent may find nothing left for its second call"
    final = await agent.ainvoke({"messages": [message for _, message in ended]}, thread)
    assert "the budget of 9 model calls is used up" in final["messages"][-1].text


def test_a_forged_report_makes_no_spending_smaller():
    def report(run_id: Any, **spent: Any) -> HumanMessage:
        return HumanMessage("x", additional_kwargs={"background_task": {"run_id": run_id, "spent": spent}})

    real = report("a", tokens=100, calls=2)
    forged = [report("a", tokens=0, calls=-5), report("b", tokens=-1000), report(None, tokens="many"), HumanMessage("y")]
    assert spent_by_tasks([real, *forged]) == {"tokens": 100, "usd": 0, "calls": 2}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"graph_id": "x", "system_prompt": "y"}, "system_prompt cannot apply"),
        ({"system_prompt": "y", "url": "http://x"}, "no graph_id"),
        ({"system_prompt": "y", "update_strategy": "steer"}, "update_strategy='steer'"),
        ({"system_prompt": "y", "timeout_s": 0}, "timeout_s=0"),
        ({"system_prompt": "y", "nonsense": 1}, "unknown keys: nonsense"),
        ({}, "no system_prompt"),
    ],
)
def test_wrong_descriptions_are_refused_with_a_way_out(wrong, told):
    with pytest.raises(ConfigurationError, match=told):
        AsyncSubAgentMiddleware(async_subagents=[{"name": "a", "description": "b", **wrong}])


def test_an_agent_without_background_subagents_has_none_of_it():
    agent = create_deep_agent(ScriptedModel([say("hi")]))
    assert find_background(agent) is None
    assert "async_tasks" not in agent.channels
