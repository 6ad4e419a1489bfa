"""What a client shows while and after a model streams is what the graph returned, in every shape in which providers stream.

Recorded shapes (`tests.integration.clients.provider_streams`), and the real packages of providers over canned answers of their own wires.
Here with the Python SDK; in `js/provider-streams.test.mjs` with both of JavaScript's `useStream`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient
from tests.integration.clients.provider_streams import SHAPES
from tests.integration.clients.providers import PROVIDERS

CASES = [*((shape, False) for shape in SHAPES), *((provider, True) for provider in PROVIDERS)]


def given(shape: str, address: str | None) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "1 + 2?"}], "shape": shape, **({"address": address} if address else {})}


def text_of(message: Any) -> str:
    content = message["content"]
    blocks = [content] if isinstance(content, str) else content
    return "".join(block if isinstance(block, str) else block.get("text", "") for block in blocks)


@pytest.mark.parametrize(("shape", "real"), CASES)
async def test_a_thread_stream_shows_the_messages_that_the_graph_returned(
    client: LangGraphClient, providers: str, shape: str, real: bool
) -> None:
    async with client.threads.stream(assistant_id="sums") as thread:
        await thread.run.start(input=given(shape, providers if real else None))
        shown: list[asyncio.Future[Any]] = []
        async for message in thread.messages:
            shown.append(asyncio.ensure_future(_whole(message)))
        messages = [await each for each in shown]
        final = [each for each in (await thread.output)["messages"] if each["type"] == "ai"]
    expected = [(each["id"], text_of(each), [(call["id"], call["args"]) for call in each["tool_calls"]]) for each in final]
    assert messages == expected
    assert [len(calls) for _, _, calls in expected] == [1, 0]
    assert all(calls[0][1] == {"a": 1, "b": 2} for _, _, calls in expected[:1])


async def _whole(message: Any) -> Any:
    whole = await message.output
    return message.message_id, whole.text, [(call["id"], call["args"]) for call in whole.tool_calls]


@pytest.mark.parametrize(("shape", "real"), CASES)
async def test_chunks_of_one_answer_come_under_the_id_of_that_answer(
    client: LangGraphClient, providers: str, shape: str, real: bool
) -> None:
    parts = client.runs.stream(
        None, "sums", input=given(shape, providers if real else None), stream_mode=["messages-tuple", "values"]
    )
    ids, final = [], {}
    async for part in parts:
        if part.event == "messages" and part.data[0]["type"] != "tool":
            ids.append(part.data[0]["id"])
        elif part.event == "values":
            final = part.data
    returned = [each["id"] for each in final["messages"] if each["type"] == "ai"]
    assert list(dict.fromkeys(ids)) == returned
