"""A run that answers a side question has no tools, and one model call."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from stepwell import create_deep_agent
from stepwell.testing import ScriptedModel, raw, say


def test_a_side_question_gets_no_tools_and_another_run_gets_them():
    model = ScriptedModel([say("aside"), say("usual")])
    agent = create_deep_agent(model)
    given = {"messages": [("user", "what now?")]}
    assert agent.invoke(given, {"configurable": {"side_question": True}})["messages"][-1].text == "aside"
    assert (model.last_asked.tool_names, "side question" in model.last_asked.system) == ([], True)
    agent.invoke(given)
    assert "write_file" in model.last_asked.tool_names
    assert "side question" not in model.last_asked.system


@pytest.mark.parametrize("words", ["We chose B.", ""])
def test_a_model_that_calls_a_tool_all_the_same_calls_nothing(words):
    """Without words it is asked for them, as after any empty answer."""
    asks = {"name": "write_file", "args": {"file_path": "/a.md", "content": "no"}, "id": "1"}
    model = ScriptedModel([raw(AIMessage(words, tool_calls=[asks])), say("We chose B.")])
    result = create_deep_agent(model).invoke({"messages": [("user", "what now?")]}, {"configurable": {"side_question": True}})
    assert (result["messages"][-1].text, result["messages"][-1].tool_calls) == ("We chose B.", [])
    assert result.get("files", {}) == {}
    assert len(model.asked) == (1 if words else 2)
