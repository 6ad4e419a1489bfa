"""D9: dangling tool calls are closed, and whatever happens to a call, the history stays valid."""

from __future__ import annotations

import asyncio
import logging

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import PatchToolCallsMiddleware, ToolUseError, create_deep_agent
from stepwell.testing import ScriptedModel, call, calls, raw, say


def ai_call(name, call_id, **args):
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": call_id}])


def every_call_has_one_result_behind_it(messages):
    waiting: list[str] = []
    for message in messages:
        if message.type == "ai":
            assert not waiting
            waiting = [call["id"] for call in message.tool_calls]
        elif message.type == "tool":
            waiting.remove(message.tool_call_id)
        else:
            assert not waiting
    return not waiting


def test_dangling_calls_are_closed_before_the_model_sees_them_and_in_the_thread():
    """D9."""
    history = [HumanMessage("a"), ai_call("ls", "1"), HumanMessage("b"), ai_call("ls", "2"), ToolMessage("x", tool_call_id="2")]
    model = ScriptedModel([say("ok"), say("again")])
    agent = create_deep_agent(model, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    final = agent.invoke({"messages": [*history, HumanMessage("c")]}, thread)
    assert every_call_has_one_result_behind_it(model.last_asked.messages[1:])
    assert every_call_has_one_result_behind_it(final["messages"])
    again = agent.invoke({"messages": [HumanMessage("d")]}, thread)
    assert sum(message.type == "tool" for message in again["messages"]) == 2


def test_a_call_id_used_again_in_a_later_turn_is_still_closed():
    """D9: models that count from zero in every turn."""
    history = [ai_call("ls", "0"), ToolMessage("x", tool_call_id="0"), ai_call("ls", "0"), HumanMessage("go on")]
    model = ScriptedModel([say("ok")])
    final = create_deep_agent(model).invoke({"messages": [HumanMessage("a"), *history]})
    assert [message.type for message in final["messages"]] == ["human", "ai", "tool", "ai", "tool", "human", "ai"]


def test_an_untouched_history_is_not_copied():
    from stepwell.middleware.patch_tool_calls import close_dangling

    messages = [HumanMessage("a"), ai_call("ls", "1"), ToolMessage("x", tool_call_id="1")]
    assert close_dangling(messages) == (messages, [])
    assert close_dangling(messages)[0] is messages


def test_two_calls_of_one_id_get_ids_of_their_own():
    """Faults: a duplicate call id; history stays valid."""
    twice = AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": "x"}, {"name": "ls", "args": {"path": "/"}, "id": "x"}])
    final = create_deep_agent(ScriptedModel([raw(twice), say("ok")])).invoke({"messages": [("user", "go")]})
    assert every_call_has_one_result_behind_it(final["messages"])
    assert len({call["id"] for call in final["messages"][1].tool_calls}) == 2


def test_a_failing_tool_gives_an_error_result_and_the_run_goes_on(caplog):
    """Bad input: the history stays valid."""

    @tool
    def explode() -> str:
        """Fails."""
        raise ValueError("no fuel")

    with caplog.at_level(logging.WARNING):
        final = create_deep_agent(ScriptedModel([call("explode"), say("ok")]), [explode]).invoke({"messages": [("user", "go")]})
    result = final["messages"][-2]
    assert result.status == "error"
    assert result.content == "Error: explode failed: ValueError: no fuel"
    assert "explode" in caplog.text


def test_a_tool_use_error_is_shown_as_it_is():
    @tool
    def strict(x: int) -> str:
        """Wants an even number."""
        raise ToolUseError("Error: 3 is odd. Pass an even number.")

    final = create_deep_agent(ScriptedModel([call("strict", x=3), say("ok")]), [strict]).invoke({"messages": [("user", "go")]})
    assert final["messages"][-2].content == "Error: 3 is odd. Pass an even number."


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_unknown_tools_and_malformed_calls_are_tool_errors(colour):
    """Bad input: an unknown tool, arguments that are not JSON, a megabyte of arguments."""
    broken = AIMessage("", invalid_tool_calls=[{"name": "ls", "args": "{not json", "id": "b1", "error": "bad"}])
    megabyte = call("write_file", file_path="/a.md", content="x" * 1_000_000)
    model = ScriptedModel(
        [call("nosuchtool", x=1), megabyte, raw(broken), say("ok")]
        if colour == "sync"
        else [call("nosuchtool"), megabyte, say("ok")]
    )
    agent = create_deep_agent(model)
    ask = {"messages": [("user", "go")]}
    final = agent.invoke(ask) if colour == "sync" else await agent.ainvoke(ask)
    unknown, large = [message for message in final["messages"] if message.type == "tool"][:2]
    assert unknown.status == large.status == "error"
    assert "nosuchtool" in unknown.content
    assert "1,000,005 characters" in large.content or "characters" in large.content
    assert not final.get("files")


def in_tuples(text, number):
    return ("user", text)


def in_numbered_messages(text, number):
    return HumanMessage(text, id=f"message-{number}")


@pytest.mark.parametrize("said", [in_tuples, in_numbered_messages])
def test_a_thread_that_looks_like_another_is_checked_by_itself(said):
    """D9: a person's messages may have the same ids in two threads."""

    @tool
    def stop() -> str:
        """Ends the run."""
        raise KeyboardInterrupt

    model = ScriptedModel([say("hello"), say("fine"), call("stop"), say("going on")])
    agent = create_deep_agent(model, [stop], checkpointer=InMemorySaver())
    first, second = ({"configurable": {"thread_id": name}} for name in ("first", "second"))
    agent.invoke({"messages": [said("hi", 0)]}, first)
    agent.invoke({"messages": [said("continue", 1)]}, first)
    with pytest.raises(KeyboardInterrupt):
        agent.invoke({"messages": [said("hi", 0)]}, second)
    agent.invoke({"messages": [said("continue", 1)]}, second)
    assert every_call_has_one_result_behind_it(model.last_asked.messages[1:])


def test_in_a_plain_agent_the_model_sees_the_result_in_its_place_on_later_steps_too():
    """D9: LangChain's own messages channel puts a result that comes late to the end."""
    from langchain.agents import create_agent

    model = ScriptedModel([say("one"), say("two"), say("three")])
    agent = create_agent(model, middleware=[PatchToolCallsMiddleware()], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [HumanMessage("a"), ai_call("ls", "1"), HumanMessage("b")]}, thread)
    for text in ("c", "d"):
        final = agent.invoke({"messages": [HumanMessage(text)]}, thread)
        assert every_call_has_one_result_behind_it(model.last_asked.messages)
    assert sum(message.type == "tool" for message in final["messages"]) == 1


async def test_a_call_that_finished_in_a_cancelled_step_is_not_said_to_have_done_nothing():
    """D9: its effect is there, only its result is lost."""
    waiting, done = asyncio.Event(), asyncio.Event()

    @tool
    async def pay() -> str:
        """Pays."""
        done.set()
        return "paid"

    @tool
    async def wait() -> str:
        """Waits for ever."""
        await done.wait()
        waiting.set()
        await asyncio.Event().wait()
        return ""

    model = ScriptedModel([calls(call("wait"), call("pay")), say("ok")])
    agent = create_deep_agent(model, [pay, wait], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    run = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("a")]}, thread))
    await waiting.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    final = await agent.ainvoke({"messages": [HumanMessage("b")]}, thread)
    assert every_call_has_one_result_behind_it(final["messages"])
    (of_pay,) = (message for message in final["messages"] if message.type == "tool" and message.name == "pay")
    assert of_pay.content == "paid" or "may have run" in of_pay.content
