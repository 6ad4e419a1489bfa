"""What a run used of its models: every call counted once, wherever in the run it was made."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from stepwell import create_deep_agent
from stepwell.models.pricing import Price
from stepwell.runs.records import ModelUsage
from stepwell.runs.usage import UNNAMED, UsageMeter
from stepwell.testing import ScriptedModel, call, calls, fail, say, stream_then_fail

USER = {"messages": [("user", "go")]}
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


class Named(ScriptedModel):
    """Says who it is, as a provider's model does."""

    named: str = "local:tiny"

    def _get_ls_params(self, stop=None, **kwargs):
        provider, _, name = self.named.partition(":")
        return {"ls_provider": provider, "ls_model_name": name, "ls_model_type": "chat"}


async def run(agent, meter, *, is_async=True):
    config = {"callbacks": [meter]}
    return await agent.ainvoke(USER, config) if is_async else await asyncio.to_thread(agent.invoke, USER, config)


@COLOURS
async def test_calls_and_tokens_are_summed_by_model_with_their_cost(is_async):
    meter = UsageMeter({"acme:big": Price(input=1, output=2)})
    worker = Named([call("ls"), say("done")], usage=(10, 5), named="local:tiny")
    main = Named([call("task", description="x", subagent_type="worker"), say("end")], usage=(100, 50), named="acme:big")
    sub = {"name": "worker", "description": "works", "system_prompt": "Work.", "model": worker}
    await run(create_deep_agent(main, subagents=[sub]), meter, is_async=is_async)
    assert meter.usage() == [
        ModelUsage("acme:big", 2, 200, 100, pytest.approx(0.0004)),
        ModelUsage("local:tiny", 2, 20, 10, 0.0),
    ]


async def test_a_model_without_a_price_has_no_cost():
    meter = UsageMeter()
    await run(create_deep_agent(Named([say("x")], usage=(1, 1), named="acme:big")), meter)
    assert meter.usage() == [ModelUsage("acme:big", 1, 1, 1, None)]


def test_cached_tokens_have_their_own_price():
    meter, one = UsageMeter({"acme:big": Price(input=10, output=0, cache_read=1)}), uuid4()
    million = {"input_tokens": 1_000_000, "output_tokens": 0, "total_tokens": 1_000_000}
    message = AIMessage("x", usage_metadata={**million, "input_token_details": {"cache_read": 500_000}})
    meter.on_chat_model_start({}, [[]], run_id=one, metadata={"ls_provider": "acme", "ls_model_name": "big"})
    meter.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]), run_id=one)
    assert meter.usage()[0].cost_usd == pytest.approx(5.5)


async def test_parallel_subagents_and_threads_lose_no_call():
    meter = UsageMeter()
    worker = ScriptedModel.answering(lambda asked: say("done"), usage=(3, 2))
    tasks = [call("task", description=str(n), subagent_type="worker") for n in range(20)]
    main = ScriptedModel([calls(*tasks), say("end")], usage=(3, 2))
    sub = {"name": "worker", "description": "works", "system_prompt": "Work.", "model": worker}
    await run(create_deep_agent(main, subagents=[sub]), meter, is_async=False)
    assert meter.usage() == [ModelUsage("scriptedmodel", 22, 66, 44, None)]


async def test_streaming_counts_as_invoking_does():
    meter = UsageMeter()
    agent = create_deep_agent(ScriptedModel([call("ls"), say("a long answer in parts")], usage=(10, 5)))
    async for _ in agent.astream(USER, {"callbacks": [meter]}, stream_mode="messages"):
        pass
    assert meter.usage() == [ModelUsage("scriptedmodel", 2, 20, 10, None)]


@COLOURS
async def test_a_refused_call_counts_without_tokens(is_async):
    meter = UsageMeter()
    with pytest.raises(ConnectionError):
        await run(create_deep_agent(ScriptedModel([fail(ConnectionError("down"))])), meter, is_async=is_async)
    assert meter.usage() == [ModelUsage("scriptedmodel", 1, 0, 0, None)]


async def test_what_was_streamed_before_a_failure_counts():
    meter = UsageMeter()
    model = ScriptedModel([stream_then_fail("a good many words before the line breaks", ConnectionError("cut"))])
    with pytest.raises(ConnectionError):
        async for _ in model.astream("hello there, model", {"callbacks": [meter]}):
            pass
    [usage] = meter.usage()
    assert usage.calls == 1
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0


async def test_tokens_are_estimated_where_none_are_reported():
    meter = UsageMeter()
    await run(create_deep_agent(ScriptedModel([say("one two three four five six")])), meter)
    [usage] = meter.usage()
    assert usage.input_tokens > usage.output_tokens > 0


def test_models_that_only_complete_text_count_too():
    meter = UsageMeter()
    FakeListLLM(responses=["a completion"]).invoke("a prompt", {"callbacks": [meter]})
    [usage] = meter.usage()
    assert usage.calls == 1
    assert usage.output_tokens > 0


def test_a_call_without_a_name_is_unnamed_and_an_end_without_a_start_is_nothing():
    meter, one = UsageMeter(), uuid4()
    meter.on_llm_end(LLMResult(generations=[]), run_id=one)
    assert meter.usage() == []
    meter.on_chat_model_start({}, [], run_id=one)
    meter.on_llm_error(ValueError(), run_id=one)
    meter.on_llm_end(LLMResult(generations=[]), run_id=one)
    assert meter.usage() == [ModelUsage(UNNAMED, 1, 0, 0, None)]
