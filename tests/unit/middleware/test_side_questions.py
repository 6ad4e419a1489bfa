"""A run that answers a side question has no tools, and one model call."""

from __future__ import annotations

from stepwell import create_deep_agent
from stepwell.testing import ScriptedModel, say


def test_a_side_question_gets_no_tools_and_another_run_gets_them():
    model = ScriptedModel([say("aside"), say("usual")])
    agent = create_deep_agent(model)
    given = {"messages": [("user", "what now?")]}
    assert agent.invoke(given, {"configurable": {"side_question": True}})["messages"][-1].text == "aside"
    assert (model.last_asked.tool_names, "side question" in model.last_asked.system) == ([], True)
    agent.invoke(given)
    assert "write_file" in model.last_asked.tool_names
    assert "side question" not in model.last_asked.system
