"""Skills, memory files, permissions, tool search, hooks and long messages in one agent, as people will use them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import FilesystemPermission, HooksMiddleware, Refusal, create_deep_agent
from stepwell.middleware.hooks import ToolEvent
from stepwell.testing import ScriptedModel, call, say

SKILL = "---\nname: letters\ndescription: Write letters in the house style.\n---\nBegin with Good day.\n"
FILES = {"/skills/letters/SKILL.md": SKILL, "/AGENTS.md": "The user is called Ada.", "/secrets/key.txt": "4711"}


def lamp(room: str) -> Any:
    def switch() -> str:
        return f"{room}: on"

    made = StructuredTool.from_function(switch, name=f"switch_{room}", description=f"Switch the lamp in the {room} on.")
    return made.model_copy(update={"extras": {"defer_loading": True}})


def no_big_letters(event: ToolEvent) -> Refusal | None:
    too_long = event.name == "write_file" and len(event.args["content"]) > 100
    return Refusal("Letters have at most 100 characters.") if too_long else None


def turns() -> list[Any]:
    return [
        call("read_file", file_path="/skills/letters/SKILL.md"),
        call("glob", pattern="**/*.txt"),
        call("tool_search", query="lamp in the cellar"),
        call("switch_cellar"),
        call("write_file", file_path="/letter.md", content="x" * 101),
        call("write_file", file_path="/letter.md", content="Good day, Ada."),
        call("move", source="/letter.md", destination="/sent/letter.md"),
        call("read_file", file_path="/secrets/key.txt"),
        call("tool_search", query="lamp in the attic"),
        say("Done."),
    ]


def make_agent(model: ScriptedModel) -> Any:
    return create_deep_agent(
        model,
        tools=[lamp(room) for room in ("cellar", "attic", "hall", "kitchen", "garden", "shed", "bath")],
        skills=["/skills"],
        memory=["/AGENTS.md"],
        permissions=[FilesystemPermission(operations=["read", "write"], paths=["/secrets/**"], mode="deny")],
        middleware=[HooksMiddleware(before_tool=no_big_letters)],
        checkpointer=InMemorySaver(),
    )


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_one_agent_uses_everything(colour: str):
    model = ScriptedModel(turns())
    agent, config = make_agent(model), {"configurable": {"thread_id": "1"}}
    given = {"messages": [("user", "Write to Ada.")], "files": FILES}
    final = agent.invoke(given, config) if colour == "sync" else await agent.ainvoke(given, config)
    said = [message.text for message in final["messages"] if message.type == "tool"]
    assert "Begin with Good day" in said[0]
    assert "key.txt" not in said[1]
    assert "switch_cellar" in said[2]
    assert said[3] == "cellar: on"
    assert "at most 100 characters" in said[4]
    assert "permission denied" in said[7]
    assert "/sent/letter.md" in final["files"]
    assert "/letter.md" not in final["files"]
    model.assert_finished()


def test_the_prefix_of_ten_calls_is_the_same_bytes():
    """What a provider caches: the system prompt, and the tools up to those that were loaded since."""
    model = ScriptedModel(turns())
    make_agent(model).invoke({"messages": [("user", "Write to Ada.")], "files": FILES}, {"configurable": {"thread_id": "1"}})
    assert len(model.asked) == 10
    assert len({asked.messages[0].model_dump_json(include={"content"}) for asked in model.asked}) == 1
    offered = [[json.dumps(schema) for schema in asked.tool_schemas] for asked in model.asked]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(offered))
    assert len(offered[-1]) > len(offered[0])
    for earlier, later in pairwise(model.asked):
        assert [message.content for message in later.messages[: len(earlier.messages)]] == [
            message.content for message in earlier.messages
        ]


def test_nothing_of_it_is_there_when_unused():
    model = ScriptedModel([say("Hello.")])
    create_deep_agent(model).invoke({"messages": [("user", "Hello.")]})
    asked = model.last_asked
    assert "skill" not in asked.system.lower()
    assert "agent_memory" not in asked.system
    assert "tool_search" not in asked.tool_names
