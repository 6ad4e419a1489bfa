"""An AI message as events of content blocks: what comes in which order, and that the pieces add up to the whole."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.chat_model_stream import ChatModelStream
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage

from stepwell.runs.streaming.message_blocks import MessageBlocks

NODE = {"langgraph_node": "talk", "ls_provider": "someone", "ls_model_name": "small", "secret": "no", "ls_model_type": "chat"}


def chunk(content: Any = "", *, last: bool = False, **fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content, id="m1", chunk_position="last" if last else None, **fields)


def piece(args: str, **fields: Any) -> dict[str, Any]:
    return {"name": None, "id": None, "index": 0, **fields, "args": args}


def told(*messages: Any) -> list[dict[str, Any]]:
    blocks = MessageBlocks()
    return [event for message in messages for event in blocks.events(message, NODE)]


def finished(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["content"] for event in events if event["event"] == "content-block-finish"]


def test_a_text_comes_in_pieces_and_once_whole() -> None:
    events = told(chunk("big"), chunk(" world"), chunk(last=True, usage_metadata=_usage(3)))
    assert [event["event"] for event in events] == [
        *("message-start", "content-block-start", "content-block-delta", "content-block-delta"),
        *("content-block-finish", "message-finish"),
    ]
    assert events[0]["metadata"] == {"langgraph_node": "talk", "provider": "someone", "model": "small"}
    assert events[1]["content"] == {"type": "text", "text": ""}
    assert finished(events) == [{"type": "text", "text": "big world"}]
    assert events[-1]["usage"]["output_tokens"] == 3
    assert {(event["message_id"], event["run_id"]) for event in events} == {("m1", "m1")}


def test_usage_of_several_chunks_is_added() -> None:
    events = told(chunk("a", usage_metadata=_usage(1)), chunk("b", last=True, usage_metadata=_usage(2)))
    assert events[-1]["usage"]["total_tokens"] == 5


def test_calls_side_by_side_are_put_together_each_for_itself() -> None:
    first, second = piece('{"a"', name="one", id="c1"), piece('{"b"', name="two", id="c2", index=1)
    events = told(
        chunk("So"),
        chunk(tool_call_chunks=[first, second]),
        chunk(tool_call_chunks=[piece(": 1}")]),
        chunk(tool_call_chunks=[piece(": 2}", index=1)], last=True),
    )
    assert finished(events)[1:] == [
        {"type": "tool_call", "id": "c1", "name": "one", "args": {"a": 1}},
        {"type": "tool_call", "id": "c2", "name": "two", "args": {"b": 2}},
    ]
    deltas = [event for event in events if event.get("delta", {}).get("type") == "tool-call-delta"]
    assert [(event["index"], event["delta"]["args"], event["content"]["args"]) for event in deltas] == [
        *((1, '{"a"', '{"a"'), (2, '{"b"', '{"b"')),
        *((1, ": 1}", ": 1}"), (2, ": 2}", ": 2}")),
    ]


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    calls = [piece("{}", name=name, id=name, index=None) for name in ("one", "two")]
    events = told(chunk(tool_call_chunks=[calls[0]]), chunk(tool_call_chunks=[calls[1]], last=True))
    assert [block["name"] for block in finished(events)] == ["one", "two"]


def test_arguments_that_are_no_object_make_an_invalid_call() -> None:
    (block,) = finished(told(chunk(tool_call_chunks=[piece('{"cut', name="one", id="c1")], last=True)))
    assert (block["type"], block["args"]) == ("invalid_tool_call", '{"cut')


def test_reasoning_is_a_block_of_its_own() -> None:
    content = [{"type": "reasoning", "reasoning": "hm", "index": 0}]
    events = told(chunk(content), chunk([{"type": "text", "text": "yes", "index": 1}], last=True))
    assert [(block["type"], block.get("reasoning") or block.get("text")) for block in finished(events)] == [
        *(("reasoning", "hm"), ("text", "yes")),
    ]


def test_a_whole_message_has_all_its_blocks() -> None:
    call = {"name": "one", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    events = told(AIMessage("Hello", id="m1", tool_calls=[call]))
    assert (events[0]["event"], events[-1]["event"]) == ("message-start", "message-finish")
    assert finished(events) == [{"type": "text", "text": "Hello"}, call]


def test_messages_at_the_same_time_do_not_mix() -> None:
    one, two = AIMessageChunk("a", id="m1"), AIMessageChunk("b", id="m2")
    ends = [AIMessageChunk("c", id=name, chunk_position="last") for name in ("m1", "m2")]
    assert [block["text"] for block in finished(told(one, two, *ends))] == ["ac", "bc"]


def test_other_messages_have_no_blocks() -> None:
    assert told(HumanMessage("hi", id="h1"), ToolMessage("42", tool_call_id="c1", id="t1"), AIMessage("no id")) == []


def test_langchain_puts_the_message_together_again() -> None:
    stream = ChatModelStream(message_id="m1")
    for event in told(
        chunk("So: "),
        chunk("it"),
        chunk(tool_call_chunks=[piece('{"a"', name="one", id="c1")]),
        chunk(tool_call_chunks=[piece(": [1, 2]}")], last=True, usage_metadata=_usage(2)),
    ):
        stream.dispatch(event)
    message = stream.output
    assert (message.id, message.text) == ("m1", "So: it")
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [("one", {"a": [1, 2]})]


def _usage(tokens: int) -> dict[str, int]:
    return {"input_tokens": 1, "output_tokens": tokens, "total_tokens": tokens + 1}


def test_a_message_that_a_node_merely_returned_is_not_told() -> None:
    blocks = MessageBlocks()
    assert blocks.events(AIMessage("Hello", id="m1"), {"langgraph_node": "talk"}) == []
