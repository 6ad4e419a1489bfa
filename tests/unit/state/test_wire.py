"""JSON as LangGraph's clients read it, whatever a state holds."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections import OrderedDict, deque
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.types import Command, Interrupt, Overwrite, PregelTask, Send, StateSnapshot
from pydantic import BaseModel, Field, SecretStr, model_serializer

from stepwell.state.wire import CYCLE, MAX_DEPTH, TOO_DEEP, TOO_LONG, encode, plain

MESSAGES: list[BaseMessage] = [
    HumanMessage("hi", id="1", name="ann"),
    HumanMessage([{"type": "text", "text": "a"}, {"type": "image", "url": "b"}]),
    SystemMessage("be brief"),
    AIMessage("", tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": "c1"}], response_metadata={"model": "m"}),
    AIMessageChunk("par", id="2", tool_call_chunks=[{"name": "ls", "args": '{"p', "id": "c1", "index": 0}]),
    AIMessage("x", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    AIMessage("x", parts="an extra field"),  # type: ignore[call-arg]  # LangChain allows extra fields
    ToolMessage("42", tool_call_id="c1", artifact={"rows": [1]}, status="error"),
    RemoveMessage(id="1"),
]


class Colour(enum.Enum):
    RED = "red"


class Shade(enum.StrEnum):
    DARK = "dark"


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Note:
    text: str
    _private: int = 1


class Inbox(BaseModel):
    mails: list[BaseMessage]
    key: SecretStr = SecretStr("hush")
    hidden: str = Field(default="hush", exclude=True)


class Celsius(BaseModel):
    degrees: int

    @model_serializer
    def _as_text(self) -> str:
        return f"{self.degrees} °C"


class Refuses(BaseModel):
    @model_serializer
    def _fail(self) -> str:
        raise ValueError("hush")


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_its_own_dump(message: BaseMessage) -> None:
    assert orjson.loads(encode(message)) == message.model_dump()


def test_a_subclass_of_a_message_keeps_its_fields() -> None:
    class Signed(AIMessage):
        signature: str = "s"

    assert plain([Signed("x")])[0]["signature"] == "s"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Point(1, 2), {"x": 1, "y": 2}),
        (Note("a"), {"text": "a"}),
        (Colour.RED, "red"),
        (Shade.DARK, "dark"),
        (Celsius(degrees=3), "3 °C"),
        (Document("text", id="d"), {"id": "d", "metadata": {}, "page_content": "text", "type": "Document"}),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (timedelta(seconds=90), 90.0),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.50"), 1.5),
        (Decimal("NaN"), None),
        (PurePosixPath("/a/b"), "/a/b"),
        (b"\xff\x00", "/wA="),
        (bytearray(b"abc"), "YWJj"),
        ({1}, [1]),
        (frozenset({1}), [1]),
        (deque([1, 2]), [1, 2]),
        ((1, (2,)), [1, [2]]),
        (OrderedDict(a=1), {"a": 1}),
        (float("nan"), None),
        (float("-inf"), None),
        (ValueError("no such thing"), {"error": "ValueError", "message": "no such thing"}),
        (Interrupt({"q": 1}, id="i"), {"value": {"q": 1}, "id": "i", "response_schema": None}),
        (Send("node", {"a": 1}), {"node": "node", "args": {"a": 1}}),
        (Command(goto="x", update={"a": 1}), {"graph": None, "update": {"a": 1}, "resume": None, "goto": "x"}),
        (Overwrite([1]), {"value": [1], "type": "__overwrite__"}),
        (object(), "<object>"),
        (Point, "<Point>"),
        ({2: "a", None: "b", True: "c", 1.5: "d"}, {"2": "a", "null": "b", "true": "c", "1.5": "d"}),
        ({Colour.RED: 1, UUID(int=1): 2}, {"red": 1, "00000000-0000-0000-0000-000000000001": 2}),
    ],
)
def test_a_value_becomes(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    assert orjson.loads(encode(value)) == expected
    # The slow way, which the tuple as a key forces, says the same.
    assert plain({(1, 2): value}) == {"1,2": expected}


def test_a_snapshot_of_a_thread_is_an_object_with_its_tasks() -> None:
    task = PregelTask("t", "ask", ("__pregel_pull", "ask"), interrupts=(Interrupt("why?", id="i"),))
    snapshot = StateSnapshot({"n": 1}, ("ask",), {}, None, None, None, (task,), task.interrupts)
    seen = plain(snapshot)
    assert seen["values"] == {"n": 1}
    assert seen["tasks"][0]["interrupts"] == [{"value": "why?", "id": "i", "response_schema": None}]


def test_a_model_keeps_the_fields_of_the_messages_in_it_and_hides_what_it_hides() -> None:
    calls = [{"name": "ls", "args": {}, "id": "c1"}]
    seen = plain(Inbox(mails=[AIMessage("", tool_calls=calls)]))
    assert seen["mails"][0]["tool_calls"][0]["name"] == "ls"
    assert b"hush" not in encode(Inbox(mails=[]))


@pytest.mark.parametrize(
    "data", [{"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"x": 1}}, {"lc": 2, "type": "secret"}]
)
def test_data_that_looks_like_a_constructor_is_data(data: dict[str, Any]) -> None:
    assert encode(data) == json.dumps(data, separators=(",", ":")).encode()
    assert plain(HumanMessage("x", additional_kwargs=data))["additional_kwargs"] == data


def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_is_its_character() -> None:
    assert plain({"a\ud800": "b\udc00c"}) == {"a\ufffd": "b\ufffdc"}
    assert plain("\ud83d\ude00 \ud800") == "😀 \ufffd"
    assert plain(HumanMessage("\ud800"))["content"] == "\ufffd"
    encode(HumanMessage("\ud800")).decode()


def test_big_integers_keep_their_digits() -> None:
    assert encode({"n": 2**70}) == b'{"n":1180591620717411303424}'
    assert plain([2**70]) == [2**70]
    assert plain(10**5000) == TOO_LONG


def test_a_value_that_contains_itself_is_cut_there_and_a_value_used_twice_is_not() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["me"] = loop
    twice = ["x"]
    assert plain(loop) == {"a": 1, "me": CYCLE}
    assert plain({"first": twice, "second": twice, (1,): 0}) == {"first": ["x"], "second": ["x"], "1": 0}


def test_a_thousand_levels_end_in_a_sentence() -> None:
    deep: Any = "bottom"
    for _ in range(1000):
        deep = [deep]
    seen, levels = plain({"deep": deep, "beside": 1}), 0
    assert seen["beside"] == 1
    inner = seen["deep"]
    while isinstance(inner, list):
        inner, levels = inner[0], levels + 1
    assert (inner, levels) == (TOO_DEEP, MAX_DEPTH - 1)
    assert orjson.loads(encode(deep))


def test_a_value_that_cannot_describe_itself_costs_only_its_place() -> None:
    assert plain({"bad": Refuses(), "good": 1}) == {
        "bad": "Left out: a Refuses could not be written as JSON (PydanticSerializationError).",
        "good": 1,
    }


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_comes_back_as_it_was(value: Any) -> None:
    assert plain(value) == json.loads(encode(value)) == json.loads(json.dumps(value))


@given(st.recursive(st.text(st.characters(categories=["Cs", "L"])) | st.floats() | st.integers() | st.binary(), st.lists))
def test_no_value_stops_it_and_both_ways_agree(value: Any) -> None:
    assert json.loads(encode(value)) == plain(value)
