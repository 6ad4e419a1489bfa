"""Messages read from the database are what LangGraph's own serializer would read, whether validation was skipped or not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from stepwell.database.checkpoints.serializer import strict_serializer
from stepwell.database.checkpoints.stored_messages import revive
from stepwell.state.channels import snapshot

CALL: dict[str, Any] = {"name": "look", "args": {"n": 1, "deep": {"a": [1, None]}}, "id": "call-1", "type": "tool_call"}
USAGE: dict[str, Any] = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
DETAILS: dict[str, Any] = {**USAGE, "input_token_details": {"cache_read": 1}, "output_token_details": {"reasoning": 2}}

PLAIN = {
    "answer": AIMessage("Done.", id="1", name="agent"),
    "answer with calls": AIMessage("", tool_calls=[CALL, {**CALL, "id": None}]),
    "answer with usage": AIMessage("Hi", usage_metadata=USAGE),
    "answer with details of usage": AIMessage("Hi", usage_metadata=DETAILS),
    "answer in blocks": AIMessage([{"type": "text", "text": "a", "index": 0}, "b"], response_metadata={"model": "m"}),
    "question": HumanMessage("Why?", additional_kwargs={"from": {"a": 1}}),
    "prompt": SystemMessage("Be brief."),
    "result": ToolMessage("42", tool_call_id="call-1", status="error", artifact={"rows": [1, 2]}),
}
OTHER = {
    "unknown field": HumanMessage("Why?", colour="red"),
    "invalid call": AIMessage(
        "", invalid_tool_calls=[{"name": "look", "args": "{", "id": "1", "error": None, "type": "invalid_tool_call"}]
    ),
    "calls of a provider": AIMessage(
        "", additional_kwargs={"tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}
    ),
    "chunk": AIMessageChunk("Do", id="1"),
    "removal": RemoveMessage(id="1"),
    "own role": ChatMessage("Hi", role="judge"),
}


def stored(value: Any) -> tuple[str, bytes]:
    return JsonPlusSerializer().dumps_typed(value)


def read_alike(message: BaseMessage) -> None:
    """Read it both ways and compare all that pydantic keeps of it."""
    ours = strict_serializer().loads_typed(stored(message))
    theirs = JsonPlusSerializer(allowed_msgpack_modules=None).loads_typed(stored(message))
    assert type(ours) is type(theirs)
    assert list(ours.__dict__.items()) == list(theirs.__dict__.items())
    assert ours.__pydantic_fields_set__ == theirs.__pydantic_fields_set__
    assert ours.__pydantic_extra__ == theirs.__pydantic_extra__
    assert ours.__pydantic_private__ == theirs.__pydantic_private__
    assert ours == theirs
    assert stored(ours) == stored(theirs)


@pytest.mark.parametrize("message", {**PLAIN, **OTHER}.values(), ids={**PLAIN, **OTHER}.keys())
def test_a_stored_message_is_read_as_langgraph_reads_it(message: BaseMessage):
    read_alike(message)


@pytest.mark.parametrize("message", PLAIN.values(), ids=PLAIN.keys())
def test_plain_messages_skip_validation(message: BaseMessage):
    assert revive(type(message).__module__, type(message).__name__, message.model_dump()) == message


@pytest.mark.parametrize("message", OTHER.values(), ids=OTHER.keys())
def test_other_messages_are_validated(message: BaseMessage):
    assert revive(type(message).__module__, type(message).__name__, message.model_dump()) is None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4) | st.integers(0, 3), inner, max_size=2),
    max_leaves=5,
)


@given(
    message=st.sampled_from(list(PLAIN.values())),
    name=st.sampled_from(sorted({field for each in PLAIN.values() for field in type(each).model_fields} - {"type"})),
    value=ANYTHING
    | st.sampled_from(["success", [CALL], [{**CALL, "extras": {}}], [{**CALL, "args": {1: 2}}], USAGE, {**USAGE, "other": 1}]),
)
def test_whatever_a_node_assigns_is_read_as_langgraph_reads_it(message: BaseMessage, name: str, value: Any):
    edited = message.model_copy()
    edited.__dict__[name] = value
    try:
        stored(edited)
    except Exception:  # it cannot be stored, so nobody reads it
        return
    read_alike(edited)


def test_messages_in_a_snapshot_are_read_too():
    found = strict_serializer().loads_typed(stored({"channel_values": {"messages": snapshot(list(PLAIN.values()))}}))
    assert found["channel_values"]["messages"].value == list(PLAIN.values())


def test_two_reads_share_nothing():
    packed = stored(PLAIN["answer with calls"])
    one, other = (strict_serializer().loads_typed(packed) for _ in range(2))
    one.tool_calls[0]["args"]["n"] = 2
    one.additional_kwargs["edited"] = True
    assert other == PLAIN["answer with calls"]
