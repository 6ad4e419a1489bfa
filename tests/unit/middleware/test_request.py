"""What a capability may change in one model call, beside its messages."""

from __future__ import annotations

from langchain_core.tools import tool

from stepwell import create_deep_agent
from stepwell.middleware.request import ModelCall, RequestMiddleware
from stepwell.testing import ScriptedModel, call, say


class WithSection(RequestMiddleware):
    def prepare(self, call: ModelCall) -> None:
        call.sections.append(f"Turn {len(call.messages)}.")


class WithoutTools(RequestMiddleware):
    def prepare(self, call: ModelCall) -> None:
        call.tools = [each for each in call.tools if getattr(each, "name", "") != "ping"]


@tool
def ping() -> str:
    """Answer."""
    return "pong"


def test_a_section_of_one_call_stands_after_the_prompt_and_is_gone_in_the_next():
    model = ScriptedModel([call("ls"), say("Done.")])
    create_deep_agent(model, middleware=[WithSection()]).invoke({"messages": [("user", "Go.")]})
    first, second = (asked.system for asked in model.asked)
    assert first.endswith("\n\nTurn 1.")
    assert second.endswith("\n\nTurn 3.")
    assert first.removesuffix("Turn 1.") == second.removesuffix("Turn 3.")


def test_tools_can_be_left_out_of_one_call():
    model = ScriptedModel([say("Done.")])
    create_deep_agent(model, tools=[ping], middleware=[WithoutTools()]).invoke({"messages": [("user", "Go.")]})
    assert "ping" not in model.last_asked.tool_names
    assert "read_file" in model.last_asked.tool_names
