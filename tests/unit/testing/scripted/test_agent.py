"""The scripted model inside LangChain's own agent, which is what it is for."""

from __future__ import annotations

import asyncio

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from stepwell.testing import ScriptedModel, call, calls, each_run, expect, fail, raw, repeat, reply, say


@tool
def add_numbers(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Verdict(BaseModel):
    """A verdict."""

    good: bool


def asking(text: str) -> dict:
    return {"messages": [HumanMessage(text)]}


def test_an_agent_runs_its_tool_loop():
    model = ScriptedModel(
        [
            call("add_numbers", a=1, b=2),
            expect(lambda asked: [result.text for result in asked.results] == ["3"], then=say("Three.")),
        ]
    )
    agent = create_agent(model, [add_numbers], system_prompt="Count.", name="counter")
    messages = agent.invoke(asking("1 + 2?"))["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
    assert messages[-1].text == "Three."
    model.assert_finished()
    assert (model.last_asked.system, model.last_asked.agent) == ("Count.", "counter")
    model.last_asked.assert_offers("add_numbers")


async def test_parallel_calls_are_all_answered():
    model = ScriptedModel([calls(*(call("add_numbers", a=n, b=n) for n in range(3))), "Done."])
    result = await create_agent(model, [add_numbers]).ainvoke(asking("go"))
    answers = {message.tool_call_id: message.text for message in result["messages"] if isinstance(message, ToolMessage)}
    assert answers == {"call_1": "0", "call_2": "2", "call_3": "4"}
    model.assert_finished()


def test_two_hundred_steps_loop():
    model = ScriptedModel([repeat(call("add_numbers", a=1, b=1), times=200), "Done."])
    result = create_agent(model, [add_numbers]).invoke(asking("go"), {"recursion_limit": 1000})
    assert len(result["messages"]) == 402
    model.assert_finished()


def test_tokens_stream_through_the_agent():
    model = ScriptedModel([call("add_numbers", a=1, b=2), say("The sum is three.")])
    agent = create_agent(model, [add_numbers])
    shown = [message for message, _ in agent.stream(asking("go"), stream_mode="messages")]
    texts = [str(message.text) for message in shown if isinstance(message, AIMessageChunk) and message.id == "reply_2"]
    assert texts == ["The", " sum", " is", " three.", ""]
    called = [piece for message in shown if message.id == "reply_1" for piece in message.tool_call_chunks]
    assert "".join(piece["args"] for piece in called) == '{"a": 1, "b": 2}'
    model.assert_finished()


async def test_tokens_stream_through_the_agent_async():
    agent = create_agent(ScriptedModel([say("The sum is three.")]), [add_numbers])
    shown = [str(message.text) async for message, _ in agent.astream(asking("go"), stream_mode="messages")]
    assert shown == ["The", " sum", " is", " three.", ""]


def test_structured_output_by_tool_and_by_provider():
    by_tool = ScriptedModel([call("Verdict", good=True)])
    assert create_agent(by_tool, [add_numbers], response_format=ToolStrategy(Verdict)).invoke(asking("go"))[
        "structured_response"
    ] == Verdict(good=True)
    assert (by_tool.last_asked.tool_names, by_tool.last_asked.tool_choice) == (["add_numbers", "Verdict"], "any")
    by_provider = ScriptedModel(['{"good": false}'], profile={"structured_output": True})
    assert create_agent(by_provider, response_format=Verdict).invoke(asking("go"))["structured_response"] == Verdict(good=False)
    assert "response_format" in by_provider.last_asked.model_settings


def test_an_unknown_tool_and_a_malformed_call_come_back_as_errors():
    malformed = {"name": "add_numbers", "args": "not json", "id": "bad", "error": None, "type": "invalid_tool_call"}
    model = ScriptedModel([call("no_such_tool"), raw(AIMessage("Hm.", invalid_tool_calls=[malformed]))])
    messages = create_agent(model, [add_numbers]).invoke(asking("go"))["messages"]
    assert [message.status for message in messages if isinstance(message, ToolMessage)][:1] == ["error"]
    assert any(message.invalid_tool_calls for message in messages if isinstance(message, AIMessage))
    model.assert_finished()


def test_a_retrying_agent_gets_over_a_failure():
    model = ScriptedModel([fail(ConnectionError("overloaded")), "Done."])
    agent = create_agent(model, middleware=[ModelRetryMiddleware(max_retries=1, initial_delay=0)])
    assert agent.invoke(asking("go"))["messages"][-1].text == "Done."
    model.assert_finished()


async def test_agents_that_share_a_model_are_told_apart_by_name():
    model = ScriptedModel.by_agent(
        {
            "main": [calls(call("research", topic="a"), call("research", topic="b")), "Both done."],
            "researcher": each_run([call("add_numbers", a=1, b=1), reply(lambda asked: f"{asked.first_human}: done")]),
        }
    )
    researcher = create_agent(model, [add_numbers], name="researcher")

    @tool
    async def research(topic: str) -> str:
        """Research a topic."""
        return (await researcher.ainvoke(asking(topic)))["messages"][-1].text

    result = await create_agent(model, [research]).ainvoke(asking("go"))
    assert [message.text for message in result["messages"] if isinstance(message, ToolMessage)] == ["a: done", "b: done"]
    assert sorted(asked.agent for asked in model.asked) == ["main", "main", *["researcher"] * 4]
    model.assert_finished()


async def test_many_runs_share_one_stateless_script():
    agent = create_agent(ScriptedModel(each_run([repeat(call("add_numbers", a=1, b=1), times=3), "Done."])), [add_numbers])
    results = await asyncio.gather(*(agent.ainvoke(asking(str(number))) for number in range(20)))
    assert {len(result["messages"]) for result in results} == {8}


def test_a_restart_with_a_new_model_keeps_the_old_messages():
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    for turn in range(1, 4):
        model = ScriptedModel([call("add_numbers", a=turn, b=0), f"Turn {turn}."])
        messages = create_agent(model, [add_numbers], checkpointer=saver).invoke(asking("go"), config)["messages"]
        assert len(messages) == 4 * turn
    ids = [message.id for message in messages]
    assert len(set(ids)) == len(ids)
