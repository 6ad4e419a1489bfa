"""A thread read back: what a run returned is what the store gives, on every branch, and whoever asks."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from stepwell.agent import create_deep_agent
from stepwell.backends.changes import conflicts
from stepwell.errors import BackendError
from stepwell.testing import ScriptedModel, call, calls, say

Saver = BaseCheckpointSaver[Any]


def write(path: str, content: str) -> Any:
    return call("write_file", file_path=path, content=content)


def edit(path: str, old: str, new: str) -> Any:
    return call("edit_file", file_path=path, old_string=old, new_string=new)


def text_of(state: Any, path: str) -> str:
    return "\n".join(state["files"][path]["content"])


def test_a_long_thread_is_the_same_after_a_restart(tmp_path: Path, thread: Any):
    """D3: todos, messages and files of a thread outlive the process that wrote them."""
    turns: list[Any] = [call("write_todos", todos=[{"content": "all of it", "status": "in_progress"}])]
    turns += [write(f"/f{number}.md", f"version 0 of {number}") for number in range(35)]
    turns += [edit(f"/f{number}.md", "version 0", "version 1") for number in range(35)]
    with closing(sqlite3.connect(tmp_path / "t.sqlite", check_same_thread=False)) as connection:
        agent = create_deep_agent(ScriptedModel([*turns, say("done")]), checkpointer=SqliteSaver(connection))
        returned = agent.invoke({"messages": "go"}, thread)
    with closing(sqlite3.connect(tmp_path / "t.sqlite", check_same_thread=False)) as connection:
        agent = create_deep_agent(ScriptedModel([write("/last.md", "x"), say("really")]), checkpointer=SqliteSaver(connection))
        read = agent.get_state(thread).values
        assert len(read["messages"]) == 2 * 71 + 2
        assert {key: read[key] for key in returned} == returned
        went_on = agent.invoke({"messages": "go on"}, thread)
    assert went_on["messages"][: len(returned["messages"])] == returned["messages"]
    assert went_on["files"].keys() == {*returned["files"], "/last.md"}


def test_two_branches_of_a_thread_keep_apart(saver: Saver, thread: Any):
    trunk = [write("/a.md", "first"), edit("/a.md", "first", "second"), say("trunk")]
    branch = [edit("/a.md", "first", "other"), write("/b.md", "new"), say("branch")]
    agent = create_deep_agent(ScriptedModel([*trunk, *branch]), checkpointer=saver)
    on_trunk = agent.invoke({"messages": "go"}, thread)
    old = [s for s in agent.get_state_history(thread) if s.next == ("model",) and "/a.md" in s.values.get("files", {})][-1]
    assert text_of(old.values, "/a.md") == "first"

    on_branch = agent.invoke({"messages": "differently"}, old.config)

    assert [m.content for m in on_branch["messages"] if m.type == "human"] == ["go", "differently"]
    assert (text_of(on_branch, "/a.md"), text_of(on_branch, "/b.md")) == ("other", "new")
    assert agent.get_state(thread).values["messages"] == on_branch["messages"]
    assert agent.get_state(thread).values["files"] == on_branch["files"]
    ends = [s for s in agent.get_state_history(thread) if s.next == ()]
    assert {s.values["messages"][-1].content for s in ends} == {"trunk", "branch"}
    trunk_end = next(s for s in ends if s.values["messages"][-1].content == "trunk")
    assert trunk_end.values["messages"] == on_trunk["messages"]
    assert trunk_end.values["files"] == on_trunk["files"]


def test_an_old_checkpoint_can_be_run_again_as_it_was(saver: Saver, thread: Any):
    agent = create_deep_agent(ScriptedModel([write("/a.md", "x"), say("first end"), say("second end")]), checkpointer=saver)
    agent.invoke({"messages": "go"}, thread)
    old = next(s for s in agent.get_state_history(thread) if s.next == ("model",) and "/a.md" in s.values.get("files", {}))
    again = agent.invoke(None, old.config)
    assert [m.content for m in again["messages"]][-1] == "second end"
    assert len(again["messages"]) == 4
    assert agent.get_state(thread).values["messages"] == again["messages"]


def test_messages_and_files_can_be_updated_by_hand(saver: Saver, thread: Any):
    agent = create_deep_agent(ScriptedModel([write("/a.md", "x"), say("done"), say("more")]), checkpointer=saver)
    final = agent.invoke({"messages": [HumanMessage("go", id="asked")]}, thread)
    agent.update_state(thread, {"messages": [HumanMessage("come", id="asked")], "files": {"/b.md": "by hand", "/a.md": None}})
    agent.update_state(thread, {"messages": [RemoveMessage(id=final["messages"][-1].id), "a thought"]})
    values = agent.get_state(thread).values
    assert [m.content for m in values["messages"] if m.type != "tool"] == ["come", "", "a thought"]
    assert text_of(values, "/b.md") == "by hand"
    assert "/a.md" not in values["files"]
    on = agent.invoke({"messages": "and then?"}, thread)
    assert on["messages"][: len(values["messages"])] == values["messages"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_ids_of_untyped_messages_are_the_same_when_replayed(saver: Saver, thread: Any, durability: Any):
    agent = create_deep_agent(ScriptedModel([say("one"), say("two"), say("three")]), checkpointer=saver)
    for given in ("text", [("human", "pair")], [{"role": "user", "content": "dict"}]):
        final = agent.invoke({"messages": given}, thread, durability=durability)
        ids = [m.id for m in final["messages"]]
        assert [m.id for m in agent.get_state(thread).values["messages"]] == ids
    assert len(set(ids)) == 6


def test_three_edits_of_one_file_in_one_turn_apply_in_call_order(saver: Saver, thread: Any):
    """D13: each edit works on the result of the call before it."""
    turn = calls(
        write("/a.md", "one"), edit("/a.md", "one", "two"), edit("/a.md", "two", "three"), edit("/a.md", "three", "four")
    )
    agent = create_deep_agent(ScriptedModel([turn, say("done")]), checkpointer=saver)
    final = agent.invoke({"messages": "go"}, thread)
    assert text_of(final, "/a.md") == "four"
    assert {m.status for m in final["messages"] if m.type == "tool"} == {"success"}
    assert list(final["files"]) == ["/a.md"]
    assert agent.get_state(thread).values["files"] == final["files"]


async def test_three_edits_of_one_turn_apply_in_call_order_in_async_code(thread: Any):
    turn = calls(edit("/a.md", "one", "two"), edit("/a.md", "two", "three"), edit("/a.md", "three", "four"))
    agent = create_deep_agent(ScriptedModel([turn, say("done")]), checkpointer=InMemorySaver())
    final = await agent.ainvoke({"messages": "go", "files": {"/a.md": "one"}}, thread)
    assert text_of(final, "/a.md") == "four"


def test_a_rejected_write_does_not_count_in_the_order(saver: Saver, thread: Any):
    """D10: what a person refused has not happened."""
    turn = calls(write("/a.md", "refused"), edit("/b.md", "one", "two"), write("/c.md", "fine"), edit("/a.md", "refused", "x"))
    agent = create_deep_agent(ScriptedModel([turn, say("done")]), checkpointer=saver, interrupt_on={"write_file": True})
    agent.invoke({"messages": "go", "files": {"/b.md": "one"}}, thread)
    answer = {"decisions": [{"type": "reject", "message": "not that one"}, {"type": "approve"}]}
    final = agent.invoke(Command(resume=answer), thread)
    assert {path: text_of(final, path) for path in final["files"]} == {"/b.md": "two", "/c.md": "fine"}
    results = {m.name: m for m in final["messages"] if m.type == "tool" and m.status == "error"}
    assert "not that one" in results["write_file"].content
    assert "no file '/a.md'" in results["edit_file"].content


def test_a_conflict_of_two_subagents_is_kept_and_told_once(saver: Saver, thread: Any):
    """D6, D13: both subagents changed one file; neither version is lost, and the model hears of it once."""
    task = {"subagent_type": "general-purpose"}

    def subagent(asked: Any) -> Any:
        who = "left" if asked.mentions("go left") else "right"
        return edit("/a.md", "base", who) if asked.turn == 0 else say(f"{who} done")

    model = ScriptedModel.by_agent(
        {
            "main": [
                calls(call("task", description="go left", **task), call("task", description="go right", **task)),
                call("read_file", file_path="/a.md"),
                write("/c.md", "c"),
                say("merged"),
            ],
            "general-purpose": subagent,
        }
    )
    agent = create_deep_agent(model, checkpointer=saver, name="main")
    final = agent.invoke({"messages": "go", "files": {"/a.md": "base"}}, thread)
    kept = conflicts(final["files"])
    assert kept == {"/a.md.conflict-1": "/a.md"}
    assert {text_of(final, "/a.md"), text_of(final, "/a.md.conflict-1")} == {"left", "right"}
    told = [m for m in final["messages"] if "/a.md.conflict-1" in str(m.content)]
    assert len(told) == 1
    assert str(told[0].content).count("/a.md.conflict-1") == 1
    assert agent.get_state(thread).values["messages"] == final["messages"]


def test_a_refused_update_does_not_spoil_the_thread(saver: Saver, thread: Any):
    agent = create_deep_agent(ScriptedModel([write("/a.md", "x"), say("one"), say("two"), say("three")]), checkpointer=saver)
    before = agent.invoke({"messages": "go"}, thread)
    with pytest.raises(BackendError, match="climbs out"):
        agent.invoke({"messages": "bad", "files": {"/../x.md": "t"}}, thread)
    final = agent.invoke({"messages": "good"}, thread)
    assert final["messages"][:4] == before["messages"]
    assert [m.content for m in final["messages"][4:]] == ["good", "two"]
    assert agent.get_state(thread).values["messages"] == final["messages"]
    assert agent.get_state(thread).values["files"] == before["files"]
