"""What model calls use: each counted once, wherever it was made, with what it reports or an estimate."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult

from stepwell import create_deep_agent
from stepwell.models.pricing import Price, TokenUse
from stepwell.models.usage import UNNAMED, CallUsage, UsageMeter, UsageSum, label_of, reported_tokens
from stepwell.testing import ScriptedModel, call, calls, fail, say, stream_then_fail

USER = {"messages": [("user", "go")]}
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


class Named(ScriptedModel):
    """Says who it is, as a provider's model does."""

    named: str = "local:tiny"

    def _get_ls_params(self, stop=None, **kwargs):
        provider, _, name = self.named.partition(":")
        return {"ls_provider": provider, "ls_model_name": name, "ls_model_type": "chat"}


def totals(meter):
    """Model, calls, input, output, cost."""
    return [(name, used.calls, used.tokens.input, used.tokens.output, used.cost_usd) for name, used in meter.sums().items()]


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
    assert totals(meter) == [
        ("acme:big", 2, 200, 100, pytest.approx(0.0004)),
        ("local:tiny", 2, 20, 10, 0.0),
    ]


async def test_a_model_without_a_price_has_no_cost():
    meter = UsageMeter()
    await run(create_deep_agent(Named([say("x")], usage=(1, 1), named="acme:big")), meter)
    assert totals(meter) == [("acme:big", 1, 1, 1, None)]


def test_cached_tokens_have_their_own_price():
    meter, one = UsageMeter({"acme:big": Price(input=10, output=0, cache_read=1)}), uuid4()
    million = {"input_tokens": 1_000_000, "output_tokens": 0, "total_tokens": 1_000_000}
    message = AIMessage("x", usage_metadata={**million, "input_token_details": {"cache_read": 500_000}})
    meter.on_chat_model_start({}, [[]], run_id=one, metadata={"ls_provider": "acme", "ls_model_name": "big"})
    meter.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]), run_id=one)
    assert meter.sums()["acme:big"].cost_usd == pytest.approx(5.5)


async def test_parallel_subagents_and_threads_lose_no_call():
    meter = UsageMeter()
    worker = ScriptedModel.answering(lambda asked: say("done"), usage=(3, 2))
    tasks = [call("task", description=str(n), subagent_type="worker") for n in range(20)]
    main = ScriptedModel([calls(*tasks), say("end")], usage=(3, 2))
    sub = {"name": "worker", "description": "works", "system_prompt": "Work.", "model": worker}
    await run(create_deep_agent(main, subagents=[sub]), meter, is_async=False)
    assert totals(meter) == [("scriptedmodel", 22, 66, 44, None)]


async def test_streaming_counts_as_invoking_does():
    meter = UsageMeter()
    agent = create_deep_agent(ScriptedModel([call("ls"), say("a long answer in parts")], usage=(10, 5)))
    async for _ in agent.astream(USER, {"callbacks": [meter]}, stream_mode="messages"):
        pass
    assert totals(meter) == [("scriptedmodel", 2, 20, 10, None)]


@COLOURS
async def test_a_refused_call_counts_without_tokens(is_async):
    meter = UsageMeter()
    with pytest.raises(ConnectionError):
        await run(create_deep_agent(ScriptedModel([fail(ConnectionError("down"))])), meter, is_async=is_async)
    assert totals(meter) == [("scriptedmodel", 1, 0, 0, None)]


async def test_what_was_streamed_before_a_failure_counts():
    meter = UsageMeter()
    model = ScriptedModel([stream_then_fail("a good many words before the line breaks", ConnectionError("cut"))])
    with pytest.raises(ConnectionError):
        async for _ in model.astream("hello there, model", {"callbacks": [meter]}):
            pass
    [usage] = meter.sums().values()
    assert usage.calls == 1
    assert usage.tokens.input > 0
    assert usage.tokens.output > 0


async def test_tokens_are_estimated_where_none_are_reported():
    meter = UsageMeter()
    await run(create_deep_agent(ScriptedModel([say("one two three four five six")])), meter)
    [usage] = meter.sums().values()
    assert usage.tokens.input > usage.tokens.output > 0


def test_models_that_only_complete_text_count_too():
    meter = UsageMeter()
    FakeListLLM(responses=["a completion"]).invoke("a prompt", {"callbacks": [meter]})
    [usage] = meter.sums().values()
    assert usage.calls == 1
    assert usage.tokens.output > 0


def test_a_call_without_a_name_is_unnamed_and_an_end_without_a_start_is_nothing():
    meter, one = UsageMeter(), uuid4()
    meter.on_llm_end(LLMResult(generations=[]), run_id=one)
    assert totals(meter) == []
    meter.on_chat_model_start({}, [], run_id=one)
    meter.on_llm_error(ValueError(), run_id=one)
    meter.on_llm_end(LLMResult(generations=[]), run_id=one)
    assert totals(meter) == [(UNNAMED, 1, 0, 0, None)]


async def test_what_was_streamed_before_a_failure_counts_inside_an_agent_too():
    meter = UsageMeter()
    model = ScriptedModel([stream_then_fail("word " * 400, ConnectionError("cut"))])
    with pytest.raises(ConnectionError):
        async for _ in create_deep_agent(model).astream(USER, {"callbacks": [meter]}, stream_mode="messages"):
            pass
    [usage] = meter.sums().values()
    assert usage.calls == 1
    assert usage.tokens.input > 0
    assert usage.tokens.output >= 400


async def test_a_call_that_is_cancelled_counts_with_what_it_had_said():
    class Stalling(ScriptedModel):
        async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                yield chunk
                said.set()
                await asyncio.Event().wait()

    meter, said = UsageMeter(), asyncio.Event()

    async def follow():
        agent = create_deep_agent(Stalling([say("x" * 400)]))
        async for _ in agent.astream(USER, {"callbacks": [meter]}, stream_mode="messages"):
            pass

    task = asyncio.create_task(follow())
    await said.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [usage] = meter.sums().values()
    assert usage.calls == 1
    assert usage.tokens.input > 0
    assert usage.tokens.output == 100


def test_what_a_broken_stream_had_reported_counts_as_reported():
    """Anthropic reports the input first, with the tools; no estimate comes as near."""
    meter, one = UsageMeter(), uuid4()
    first = AIMessageChunk("", usage_metadata={"input_tokens": 5_000, "output_tokens": 1, "total_tokens": 5_001})
    meter.on_chat_model_start({}, [[HumanMessage("hi")]], run_id=one)
    meter.on_llm_new_token("", chunk=ChatGenerationChunk(message=first), run_id=one)
    meter.on_llm_new_token("x" * 400, chunk=ChatGenerationChunk(message=AIMessageChunk("x" * 400)), run_id=one)
    meter.on_llm_error(ConnectionError(), run_id=one)
    assert totals(meter) == [(UNNAMED, 1, 5_000, 100, None)]


@pytest.mark.parametrize(
    ("content", "calls"),
    [
        ([{"type": "thinking", "thinking": "x" * 400}], []),
        ("", [{"name": None, "args": "x" * 400, "id": None, "index": 0}]),
    ],
    ids=["thoughts", "arguments"],
)
def test_a_stream_speaks_in_thoughts_and_arguments_too(content, calls):
    meter, one = UsageMeter(), uuid4()
    meter.on_chat_model_start({}, [[HumanMessage("hi")]], run_id=one)
    part = AIMessageChunk(content, tool_call_chunks=calls)
    meter.on_llm_new_token(content, chunk=ChatGenerationChunk(message=part), run_id=one)
    meter.on_llm_error(ConnectionError(), run_id=one)
    [usage] = meter.sums().values()
    assert usage.tokens.output == 100


def test_the_events_of_a_stream_are_heard_too():
    meter, one = UsageMeter(), uuid4()
    meter.on_chat_model_start({}, [[HumanMessage("hi")]], run_id=one)
    meter.on_stream_event({"event": "message-start"}, run_id=one)
    delta = {"type": "text-delta", "text": "x" * 400}
    meter.on_stream_event({"event": "content-block-delta", "index": 0, "delta": delta}, run_id=one)
    meter.on_llm_error(ConnectionError(), run_id=one)
    [usage] = meter.sums().values()
    assert usage.tokens.output == 100


def test_a_report_of_zeros_is_no_report():
    zeros = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    assert reported_tokens(AIMessage("x", usage_metadata=zeros)) is None
    assert reported_tokens(AIMessage("x")) is None
    assert reported_tokens(None) is None


def test_a_sum_knows_which_part_of_its_cost_is_known():
    total = UsageSum()
    total.add(CallUsage("acme:big", TokenUse(10, 5), 0.5))
    assert total.cost_usd == 0.5
    total.add(CallUsage("acme:new", TokenUse(10, 5), None))
    assert (total.known_usd, total.unpriced, total.cost_usd) == (0.5, {"acme:new"}, None)
    assert (total.calls, total.tokens.total) == (2, 30)


def test_a_model_is_labelled_as_its_calls_are():
    class Known(Named):
        model_name: str = "big"

    meter, model = UsageMeter(), Known([say("x")], named="acme:big")
    model.invoke("hi", {"callbacks": [meter]})
    assert [label_of(model)] == [*meter.sums()] == ["acme:big"]
