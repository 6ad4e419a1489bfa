"""What research has used of its models, from the trail: every call counts, and what is not known is said."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda

from stepwell.models.pricing import ASSUMED, TokenUse
from stepwell.models.usage import UsageMeter
from stepwell.research.audit.exchanges.recording import Recorder
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.evidence.recorded.models import RecordedModels, TrailSpending
from stepwell.testing import ScriptedModel, say

ASKED = [HumanMessage("How long is the bridge? " * 40)]


class Known(ScriptedModel):
    """Says who it is, as a provider's model does."""

    model_name: str = "gpt-5"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "openai", "ls_model_name": self.model_name}


async def spending(vault: MemoryVault) -> TrailSpending:
    return await TrailSpending(vault, 0).catch_up()


async def call(vault: MemoryVault, model: Any, key: str = "k") -> dict[str, Any]:
    await RecordedModels(Recorder(vault), "q1").call(key, "writer", ASKED, model)
    return dict((await vault.entries())[-1].data["answer"])


async def test_what_a_provider_reports_is_written_down() -> None:
    vault = MemoryVault()
    told = await call(vault, Known([say("Long.")], usage=(400, 100)))
    assert told == {"model": "openai:gpt-5", "input_tokens": 400, "output_tokens": 100, "usage": "reported"}
    spent = await spending(vault)
    assert (spent.used.tokens.total, spent.used.known_usd) == (500, pytest.approx(0.0015))


async def test_a_provider_that_reports_nothing_is_estimated() -> None:
    vault = MemoryVault()
    told = await call(vault, ScriptedModel([say("It is long. " * 40)]))
    assert told["input_tokens"] > 200
    assert told["output_tokens"] > 100
    assert told["usage"] == "estimated"
    spent = await spending(vault)
    assert spent.used.tokens.total == told["input_tokens"] + told["output_tokens"]
    assert "1 of 1 calls reported no tokens" in spent.describe_guesses()


async def test_an_answer_held_to_a_schema_counts_too() -> None:
    vault = MemoryVault()
    held = Known([say('{"a": 1}')], usage=(400, 100)) | RunnableLambda(lambda answer: {"a": answer.text})
    told = await call(vault, held)
    assert told == {"model": "openai:gpt-5", "input_tokens": 400, "output_tokens": 100, "usage": "reported"}


async def test_one_call_without_a_price_does_not_hide_what_the_others_cost() -> None:
    vault = MemoryVault()
    await call(vault, Known([say("a")], usage=(400, 100)), "one")
    await call(vault, Known([say("b")], usage=(400, 100), model_name="of-tomorrow"), "two")
    await call(vault, Known([say("c")], usage=(400, 100)), "three")
    spent = await spending(vault)
    assert (spent.used.known_usd, spent.used.unpriced) == (pytest.approx(0.003), {"openai:of-tomorrow"})
    assert spent.assumed_usd == pytest.approx(ASSUMED.of(TokenUse(400, 100))), "the ceiling counts it with a price that is said"
    assert "No price is known for openai:of-tomorrow" in spent.describe_guesses()


class Here(Known):
    """A server on this machine, of whose price no table knows."""

    model_name: str = "mine"
    base_url: str = "http://localhost:1234/v1"


async def test_a_model_on_this_machine_costs_nothing() -> None:
    vault = MemoryVault()
    told = await call(vault, Here([say("a")], usage=(400, 100)))
    assert told["here"] is True
    spent = await spending(vault)
    assert (spent.used.cost_usd, spent.assumed_usd, spent.describe_guesses()) == (0.0, 0.0, "")


async def test_the_run_around_it_hears_the_call_as_well() -> None:
    vault, meter = MemoryVault(), UsageMeter()
    model = Known([say("Long.")], usage=(400, 100))

    async def step(_: str) -> dict[str, Any]:
        return await call(vault, model)

    await RunnableLambda(step).ainvoke("", {"callbacks": [meter]})
    assert meter.sums()["openai:gpt-5"].tokens.total == 500
