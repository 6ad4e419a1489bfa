"""What a run has used of its models, as it is stored."""

from __future__ import annotations

from stepwell import create_deep_agent
from stepwell.database.types import ModelUsage
from stepwell.models.usage import UsageMeter
from stepwell.runs.usage import model_usage
from stepwell.testing import ScriptedModel, call, say


async def test_each_model_has_a_row_and_an_unknown_price_is_no_cost():
    meter = UsageMeter()
    agent = create_deep_agent(ScriptedModel([call("ls"), say("done")], usage=(10, 5)))
    await agent.ainvoke({"messages": [("user", "go")]}, {"callbacks": [meter]})
    assert model_usage(meter) == [ModelUsage("scriptedmodel", 2, 20, 10, None)]
