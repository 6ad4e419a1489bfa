"""The mode `protocol`: what thread streams need of a drive, beside the other modes and without changing them."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import interrupt

from stepwell.errors import InvalidRequestError

from .stream_world import HELLO, Seen, chain, chat, fan, stream, two_nodes, watch


def of(seen: Seen, name: str) -> list[Any]:
    return [data for event, data in seen.events if event == name]


async def test_messages_are_told_in_blocks_with_their_node() -> None:
    seen = await watch(chat(), "protocol", input=HELLO)
    told = of(seen, "protocol/messages")
    assert {each["node"] for each in told} == {"talk"}
    assert [each["data"]["event"] for each in told][:2] == ["message-start", "content-block-start"]
    assert told[-2]["data"]["content"] == {"type": "text", "text": "big world"}
    assert not of(seen, "messages")
    assert not of(seen, "messages/partial")


async def test_the_other_forms_stay_as_they_are_beside_it() -> None:
    alone = await watch(chat(), "messages-tuple", input=HELLO)
    both = await watch(chat(), "messages-tuple protocol", input=HELLO)
    contents = [[data[0]["content"] for data in of(seen, "messages")] for seen in (alone, both)]
    assert contents[0] == contents[1] != []


async def test_how_tasks_ended_is_told_of_results_only() -> None:
    seen = await watch(two_nodes(), "protocol")
    assert [(task["name"], task["result"], task["error"]) for task in of(seen, "protocol/tasks")] == [
        ("one", {"n": 1, "log": ["one"]}, None),
        ("two", {"n": 2, "log": ["two"]}, None),
    ]


async def test_an_error_of_a_task_is_a_sentence() -> None:
    def fall(_: Any) -> Any:
        raise ValueError("it fell")

    seen = Seen()
    with pytest.raises(ValueError, match="it fell"):
        await watch(chain(("fall", fall)), "protocol", into=seen)
    assert [task["error"] for task in of(seen, "protocol/tasks")] == ["it fell"]


async def test_each_question_is_told_once_and_not_before_the_engine_knows_it() -> None:
    ask = {name: lambda _, name=name: {"log": [interrupt(name)]} for name in ("left", "right")}
    known: set[str] = set()
    told: list[Any] = []
    async for progress in stream(fan(**ask), "protocol values"):
        known |= {question.interrupt_id for question in progress.interrupts}
        seen = Seen()
        seen.add(progress)
        told += of(seen, "protocol/input")
        assert {each["interrupt_id"] for each in told} <= known
    assert sorted(each["payload"] for each in told) == ["left", "right"]
    assert all(each["payload"] == each["value"] for each in told)


async def test_a_question_of_a_subgraph_names_its_namespace() -> None:
    inner = chain(("ask", lambda _: {"log": [interrupt("which?")]})).compile()
    seen = await watch(chain(("outer", inner)), "protocol", stream_subgraphs=True)
    (name,) = [event for event in seen.names if event.startswith("protocol/input")]
    assert name.startswith("protocol/input|outer:")


async def test_an_unknown_mode_is_still_refused_without_naming_ours() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await watch(two_nodes(), "protocols")
    assert "protocol," not in str(refused.value)
