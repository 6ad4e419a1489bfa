"""Messages while they are being written: both forms of the wire, and the text that is kept when an answer is cancelled."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState

from .stream_world import HELLO, THREAD, Words, chain, chat, watch

META = {"graph_id": "g", "assistant_id": "a", "run_id": "r"}


async def test_tuples_bring_each_chunk_once_and_whole_messages_of_nodes() -> None:
    seen = await watch(chat(), "messages-tuple", input=HELLO, metadata=META)
    assert seen.names == ["messages"] * 4
    assert [(data[0]["type"], data[0]["content"]) for _, data in seen.events] == [
        ("AIMessageChunk", "big"),
        ("AIMessageChunk", " "),
        ("AIMessageChunk", "world"),
        ("tool", "42"),
    ]
    assert [data[0]["id"] for _, data in seen.events] == ["a1", "a1", "a1", "t1"]


async def test_metadata_says_where_a_message_comes_from() -> None:
    seen = await watch(chat(Words(tags=["loud"])), "messages-tuple", input=HELLO, metadata=META)
    first, last = seen.events[0][1][1], seen.events[-1][1][1]
    assert {name: first[name] for name in META} == META
    assert (first["thread_id"], first["langgraph_node"], first["langgraph_step"]) == (THREAD, "talk", 1)
    assert first["langgraph_checkpoint_ns"] == first["checkpoint_ns"]
    assert first["tags"] == ["loud"]
    assert (last["langgraph_node"], last["langgraph_step"]) == ("tool", 2)


async def test_the_older_form_sends_metadata_then_the_message_as_far_as_it_is() -> None:
    seen = await watch(chat(), "messages", input=HELLO, metadata=META)
    assert seen.names == ["messages/metadata", *["messages/partial"] * 3, "messages/metadata", "messages/complete"]
    assert [(data[0]["type"], data[0]["content"]) for _, data in seen.events[1:4]] == [
        ("ai", "big"),
        ("ai", "big "),
        ("ai", "big world"),
    ]
    assert seen.events[0][1]["a1"]["metadata"]["langgraph_node"] == "talk"
    assert seen.events[-1][1][0]["content"] == "42"


async def test_with_both_forms_asked_for_only_the_newer_is_sent() -> None:
    assert set((await watch(chat(), "messages messages-tuple", input=HELLO)).names) == {"messages"}


async def test_a_subgraphs_chunks_carry_its_namespace_and_without_it_the_whole_message_comes() -> None:
    graph = chain(("inner", chat().compile()), schema=MessagesState)
    streamed = await watch(graph, "messages-tuple", input=HELLO, stream_subgraphs=True)
    assert {name.partition(":")[0] for name in streamed.names} == {"messages|inner"}
    assert streamed.partials == []
    whole = await watch(graph, "messages-tuple", input=HELLO)
    assert [data[0]["content"] for _, data in whole.events] == ["big world", "42"]


async def test_the_text_of_the_roots_answer_grows_until_it_is_done() -> None:
    seen = await watch(chat(), "messages-tuple", input=HELLO)
    assert [(each.message_id, each.node, each.text, each.done) for each in seen.partials] == [
        ("a1", "talk", "big", False),
        ("a1", "talk", "big ", False),
        ("a1", "talk", "big world", True),
    ]


async def test_a_whole_answer_is_done_at_once_and_blocks_count_as_text() -> None:
    def node(_: Any) -> Any:
        return {"messages": [AIMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], id="x")]}

    (only,) = (await watch(chain(("node", node), schema=MessagesState), "messages", input=HELLO)).partials
    assert (only.text, only.done) == ("ab", True)


async def test_without_a_mode_of_messages_models_are_not_streamed() -> None:
    seen = await watch(chat(), "values", input=HELLO)
    assert seen.partials == []
