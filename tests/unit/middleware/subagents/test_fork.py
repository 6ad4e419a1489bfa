"""`mode="fork"`: a subagent that sees the main agent's conversation."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import SubAgentMiddleware, SummarizationMiddleware, create_deep_agent
from stepwell.errors import SubAgentSpecError
from stepwell.state.transcripts import read_transcript
from stepwell.testing import Asked, ScriptedModel, call, raw, say

CONFIG: Any = {"configurable": {"thread_id": "t"}}
COPY: Any = {"name": "copy", "description": "a copy of yourself", "mode": "fork"}


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def task(call_id: str = "c1", to: str = "copy", **more: Any) -> Any:
    args = {"description": "Check the sum", "subagent_type": to, **more}
    return raw(AIMessage("I ask a copy.", tool_calls=[{"id": call_id, "name": "task", "args": args}]))


def talk(
    main: list[Any], copy: list[Any], *, times: int = 1, subagents: Any = None, **options: Any
) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel.by_agent({"main": main, "copy": copy})
    agent = create_deep_agent(
        model, [add], system_prompt="Be kind.", subagents=subagents or [COPY], checkpointer=InMemorySaver(), **options
    )
    final: Any = None
    for number in range(times):
        final = agent.invoke({"messages": [("user", f"question {number}")]}, CONFIG)
    return final, model


def asked_by(model: ScriptedModel, agent: str) -> list[Asked]:
    return [asked for asked in model.asked if asked.agent == agent]


def on_the_wire(messages: Any) -> list[Any]:
    return [(message.type, message.content, getattr(message, "tool_calls", None)) for message in messages]


def assert_begins_like(forked: Asked, parent: Asked) -> list[BaseMessage]:
    """The fork's request has the parent's as a prefix; gives what follows."""
    length = len(parent.messages)
    assert on_the_wire(forked.messages[:length]) == on_the_wire(parent.messages)
    assert forked.tool_schemas == parent.tool_schemas
    return list(forked.messages[length:])


def test_a_fork_s_request_begins_exactly_like_the_parent_s():
    final, model = talk([call("add", a=1, b=2), task(), say("ok")], [call("add", a=3, b=4), say("The sum holds.")])
    parent, fork = asked_by(model, "main")[1], asked_by(model, "copy")
    (given,) = assert_begins_like(fork[0], parent)
    assert given.text.endswith("Check the sum")
    assert assert_begins_like(fork[1], fork[0])
    assert final["messages"][-2].text == "The sum holds."
    assert [message.type for message in final["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]


async def test_forks_work_in_async_runs_too():
    model = ScriptedModel.by_agent({"main": [task(), say("ok")], "copy": [say("yes")]})
    agent = create_deep_agent(model, subagents=[COPY])
    final = await agent.ainvoke({"messages": [("user", "go")]})
    assert final["messages"][-2].text == "yes"
    assert_begins_like(asked_by(model, "copy")[0], asked_by(model, "main")[0])


def test_a_summarised_conversation_is_forked_as_the_parent_saw_it():
    model = ScriptedModel.by_agent({"main": [say("a"), say("b"), say("c"), task(), say("ok")], "copy": [say("yes")]})
    shortening = SummarizationMiddleware(ScriptedModel([say("So far: letters.")]), trigger_tokens=200, keep_messages=2)
    agent = create_deep_agent(model, subagents=[COPY], middleware=[shortening], checkpointer=InMemorySaver())
    for number in range(4):
        agent.invoke({"messages": [("user", f"question {number} " + "word " * (0 if number else 200))]}, CONFIG)
    parent, fork = asked_by(model, "main")[3], asked_by(model, "copy")[0]
    assert parent.mentions("So far: letters.")
    assert_begins_like(fork, parent)


def test_a_fork_s_transcript_begins_with_its_task():
    saver = InMemorySaver()
    model = ScriptedModel.by_agent({"main": [task(), say("ok")], "copy": [say("yes")]})
    agent = create_deep_agent(model, subagents=[COPY], checkpointer=saver)
    agent.invoke({"messages": [("user", "go")]}, CONFIG)
    transcript = read_transcript(saver, "t", "c1")
    assert transcript is not None
    assert [message.type for message in transcript.own] == ["human", "ai"]
    assert [message.type for message in transcript.messages] == ["human", "human", "ai"]


def test_a_fork_cannot_call_subagents():
    _, model = talk([task(), say("ok")], [task("c2", to="general-purpose"), say("Done myself.")])
    assert "a copy of the agent cannot call subagents" in str(asked_by(model, "copy")[1].messages[-1].text)


def test_a_fork_gets_its_own_instructions_with_the_task():
    _, model = talk([task(), say("ok")], [say("yes")], subagents=[{**COPY, "system_prompt": "Be a sceptic."}])
    fork = asked_by(model, "copy")[0]
    assert "Be a sceptic.\n\nCheck the sum" in fork.human
    assert "sceptic" not in fork.system


def test_a_fork_can_be_continued():
    _, model = talk(
        [task(), say("ok"), task("c2", task_id="c1"), say("ok")],
        [say("first"), say("second")],
        times=2,
        subagents=[{**COPY, "continuable": True}],
    )
    first, second = asked_by(model, "copy")
    assert [str(message.text) for message in assert_begins_like(second, first)] == ["first", "Check the sum"]


def test_the_files_that_a_fork_changes_come_back():
    final, _ = talk([task(), say("ok")], [call("write_file", file_path="/a.md", content="a"), say("Written.")])
    assert "/a.md" in final["files"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mode": "spoon"}, "mode='spoon'. Use 'fork'"),
        ({"tools": [], "model": "x:y"}, "so it has the main agent's tools, model. Leave out either these keys or the mode"),
    ],
)
def test_what_a_fork_cannot_have_is_refused(more: Any, words: str):
    with pytest.raises(SubAgentSpecError, match=words):
        create_deep_agent(ScriptedModel([]), subagents=[{**COPY, **more}])


def test_a_fork_needs_the_agent_that_it_copies():
    with pytest.raises(SubAgentSpecError, match="copy have mode='fork', which only create_deep_agent can build"):
        SubAgentMiddleware(subagents=[COPY], default_model=ScriptedModel([]))


def test_a_fork_starts_no_background_tasks():
    """The main agent would not know of them."""
    helper: Any = {"name": "helper", "description": "helps", "system_prompt": "Help.", "mode": "background"}
    start = call("start_async_task", description="Find it", subagent_type="helper")
    final, model = talk([task(), say("done")], [start, say("I did it")], subagents=[COPY, helper])
    assert_begins_like(asked_by(model, "copy")[0], asked_by(model, "main")[0])
    assert "cannot start background tasks" in asked_by(model, "copy")[1].messages[-1].text
    assert not final.get("async_tasks")
