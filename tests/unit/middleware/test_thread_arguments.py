"""Large arguments are stored once: the task that runs a call takes them from the thread."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import create_deep_agent
from stepwell.middleware.thread_arguments import SMALL_ARGUMENT_CHARS, lighten
from stepwell.testing import ScriptedModel, call, calls, say

ASK = {"messages": [("user", "go")]}
THREAD = {"configurable": {"thread_id": "1"}}
LARGE = "x" * (SMALL_ARGUMENT_CHARS + 1)


def task_inputs(agent):
    """What the tool tasks of a run carried."""
    events = agent.stream(ASK, THREAD, stream_mode="tasks")
    return [event["input"][0] for event in events if event["name"] == "tools" and "input" in event]


def test_langchain_s_graph_still_has_the_place_we_reach_for():
    """Pins LangChain's internals: if this fails, `lighten` does nothing and databases grow again."""
    assert lighten(create_deep_agent(ScriptedModel())) is False  # it was found, and renamed, when the agent was built
    from langchain.agents import create_agent

    assert lighten(create_agent(ScriptedModel(), [print_it])) is True


def print_it(text: str) -> str:
    """Print."""
    return text


def test_a_large_call_travels_without_its_arguments_and_runs_with_them():
    model = ScriptedModel([calls(call("print_it", text=LARGE), call("print_it", text="small")), say("ok")])
    agent = create_deep_agent(model, [print_it], checkpointer=InMemorySaver())
    large, small = task_inputs(agent)
    assert large["args"] == {}
    assert small["args"] == {"text": "small"}
    results = [message.content for message in agent.get_state(THREAD).values["messages"] if message.type == "tool"]
    assert results == [LARGE, "small"]


@pytest.mark.parametrize("decision", ["approve", "edit"])
async def test_what_a_person_approved_or_changed_is_what_runs(decision):
    """D10: an edited call's arguments are the edited ones."""
    model = ScriptedModel([call("print_it", text=LARGE), say("ok")])
    agent = create_deep_agent(model, [print_it], checkpointer=InMemorySaver(), interrupt_on={"print_it": True})
    paused = await agent.ainvoke(ASK, THREAD)
    edited = {"type": "edit", "edited_action": {"name": "print_it", "args": {"text": LARGE + "!"}}}
    answer = edited if decision == "edit" else {"type": "approve"}
    final = await agent.ainvoke(Command(resume={paused["__interrupt__"][0].id: {"decisions": [answer]}}), THREAD)
    assert final["messages"][-2].content.endswith(LARGE + "!" if decision == "edit" else LARGE)
