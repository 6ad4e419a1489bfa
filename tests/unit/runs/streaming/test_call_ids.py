"""All chunks of a model call leave under the id that their sum has, in every shape in which providers stream."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from tests.integration.clients.provider_streams import SHAPES, RecordedModel

from stepwell.runs.streaming.message_blocks import CallIds, MessageBlocks

ASKED = [HumanMessage("1 + 2?")]
ANSWERED = [*ASKED, ToolMessage("3", tool_call_id="c")]


def streamed(shape: str, messages: list[Any] = ASKED) -> list[AIMessageChunk]:
    """The chunks as LangChain hands them on: with an id each, and a closing one where the provider marks none."""
    return list(RecordedModel(shape=shape).stream(messages))


def settle(ids: CallIds, chunks: list[Any], metadata: dict[str, Any]) -> list[Any]:
    return [each for chunk in chunks for each in ids.settle(chunk, metadata)]


@pytest.mark.parametrize("messages", [ASKED, ANSWERED], ids=["call", "text"])
@pytest.mark.parametrize("shape", SHAPES)
def test_chunks_have_the_id_of_their_sum_and_none_is_lost(shape: str, messages: list[Any]) -> None:
    chunks = streamed(shape, messages)
    whole = chunks[0] + chunks[1:]
    settled = settle(CallIds(), chunks, {})
    assert {each.id for each in settled} == {whole.id}
    assert settled[0] + settled[1:] == whole


@pytest.mark.parametrize("shape", SHAPES)
def test_events_of_blocks_are_of_one_message_that_is_finished(shape: str) -> None:
    blocks, told = MessageBlocks(), []
    for chunk in settle(CallIds(), streamed(shape), {}):
        told += blocks.events(chunk, {})
    names = [event["event"] for event in told]
    assert (names.count("message-start"), names.count("message-finish")) == (1, 1)
    finished = [event["content"] for event in told if event["event"] == "content-block-finish"]
    assert [each["args"] for each in finished if each["type"] == "tool_call"] == [{"a": 1, "b": 2}]
    assert not [each for each in finished if each["type"].endswith("_chunk")]


def test_answers_that_come_at_the_same_time_keep_their_own_ids() -> None:
    ids, first, second = CallIds(), streamed("openai_responses"), streamed("openai_responses")
    about_first, about_second = {"node": "a"}, {"node": "a"}
    told = [
        each.id
        for one, other in zip(first, second, strict=True)
        for each in (*ids.settle(one, about_first), *ids.settle(other, about_second))
    ]
    assert told == [first[0].id, second[0].id] * len(first)


def test_whole_messages_pass_as_they_are() -> None:
    message = AIMessage("done", id="m1")
    assert CallIds().settle(message, {}) == [message]
    assert CallIds().settle("anything", {}) == ["anything"]
