"""D3: planning with `write_todos`."""

from __future__ import annotations

from stepwell import create_deep_agent
from stepwell.testing import ScriptedModel, call, calls, say

ASK = {"messages": [("user", "go")]}


def todo(content, status="pending"):
    return {"content": content, "status": status}


def test_todos_are_kept_in_state_with_their_status():
    """D3."""
    plan = [todo("a", "completed"), todo("b", "in_progress"), todo("c")]
    final = create_deep_agent(ScriptedModel([call("write_todos", todos=plan), say("ok")])).invoke(ASK)
    assert final["todos"] == plan
    assert final["messages"][-2].content == "1 of 3 done."


def test_unknown_status_is_a_tool_error():
    """D3: pending, in_progress, completed and nothing else."""
    final = create_deep_agent(ScriptedModel([call("write_todos", todos=[todo("a", "someday")]), say("ok")])).invoke(ASK)
    assert final["messages"][-2].status == "error"
    assert not final.get("todos")


def test_two_lists_in_one_turn_are_refused():
    """D3: each call replaces the whole list, so two at once would contradict each other."""
    model = ScriptedModel([calls(call("write_todos", todos=[todo("a")]), call("write_todos", todos=[todo("b")])), say("ok")])
    final = create_deep_agent(model).invoke(ASK)
    assert [message.status for message in final["messages"][-3:-1]] == ["error", "error"]
    assert not final.get("todos")
