"""`client.threads.stream` of the Python SDK, async and sync, against a server process.

What an SDK yields while a message, a tool call or a subgraph is under way must be read beside the loop that found it: the loop
is what feeds it. The same over JavaScript: `js/thread-stream.test.mjs`. The wire itself, filters, coming back and refusals:
tests/integration/server/test_thread_protocol.py.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import LangGraphClient

HI = {"messages": [{"role": "user", "content": "hi"}]}
SAID = "You said: hi, I think"


async def beside(found: AsyncIterator[Any], read: Callable[[Any], Awaitable[Any]]) -> list[Any]:
    """Each thing that is found, read while the search goes on."""
    reading: list[asyncio.Future[Any]] = []
    async for each in found:
        reading.append(asyncio.ensure_future(read(each)))  # begun while the search goes on
    return await asyncio.gather(*reading)


async def together(thread: Any, **reading: Callable[[Any], Awaitable[Any]]) -> dict[str, list[Any]]:
    """Several projections of a thread at once. (Two that are opened at the same moment may hang in this SDK.)"""
    begun: dict[str, list[asyncio.Future[Any]]] = {name: [] for name in reading}
    async for name, each in thread.interleave_projections(list(reading)):
        begun[name].append(asyncio.ensure_future(reading[name](each)))
    return {name: await asyncio.gather(*found) for name, found in begun.items()}


async def as_it_is(each: Any) -> Any:
    return each


async def pieces(message: Any) -> list[str]:
    return [piece async for piece in message.text]


async def test_a_run_on_a_new_thread_brings_values_and_the_answer_in_pieces(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="echo") as thread:
        started = await thread.run.start(input=HI, metadata={"why": "test"})
        found = await together(thread, messages=pieces, values=as_it_is)
        (message,) = found["messages"]
        assert (len(message) > 2, "".join(message)) == (True, SAID)
        assert found["values"][-1]["log"] == ["heard", "answered"]
        assert (await thread.output)["log"] == ["heard", "answered"]
    run = await client.runs.get(thread.thread_id, started["run_id"])
    assert (run["status"], run["metadata"]["why"]) == ("success", "test")


async def test_a_message_has_its_node_its_id_and_its_whole(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="echo") as thread:
        await thread.run.start(input=HI)

        async def whole(message: Any) -> Any:
            return message.node, message.message_id, await message.output

        ((node, message_id, message),) = await beside(thread.messages, whole)
        assert (node, message.text) == ("answer", SAID)
        last = (await thread.output)["messages"][-1]
        assert (last["id"], last["content"]) == (message_id, SAID)


async def test_tool_calls_come_in_the_message_and_as_calls(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="deep") as thread:
        await thread.run.start(input=HI)

        async def calls_of(message: Any) -> Any:
            return await message.tool_calls

        async def result_of(call: Any) -> Any:
            return call.name, call.input, await call.output

        found = await together(thread, messages=calls_of, tool_calls=result_of)
        asked = [call for calls in found["messages"] for call in calls]
        assert [(call["name"], call["args"]["description"]) for call in asked] == [("task", "hi")]
        ((name, given, result),) = found["tool_calls"]
        assert (name, given["description"]) == ("task", "hi")
        assert "Helped with hi" in str(result)


async def test_a_subgraph_is_found_and_says_what_it_says(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="nested") as thread:
        await thread.run.start(input={**HI, "count": 2})

        async def heard(subgraph: Any) -> Any:
            return subgraph.graph_name, await beside(subgraph.messages, pieces), subgraph.status

        ((name, messages, status),) = await beside(thread.subgraphs, heard)
        assert (name, ["".join(message) for message in messages], status) == ("inner", [SAID], "completed")


async def test_a_question_is_answered_by_its_id_once(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="asks") as thread:
        await thread.run.start(input=HI)
        async for _ in thread.values:  # ends with the question
            pass
        assert thread.interrupted
        (question,) = thread.interrupts
        assert (question["value"], question["namespace"]) == ({"question": "Which one?"}, [])
        await thread.run.respond("blue")
        assert (await thread.output)["log"] == ["heard", "told blue", "answered"]
        thread.interrupts.append(question)
        with pytest.raises(RuntimeError, match="no_such_interrupt"):
            await thread.run.respond("red", interrupt_id=question["interrupt_id"])
    assert (await client.threads.get(thread.thread_id))["status"] == "idle"


async def test_a_question_is_found_again_by_whoever_comes_later(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="asks") as first:
        await first.run.start(input=HI)
        async for _ in first.values:
            pass
    async with client.threads.stream(first.thread_id, assistant_id="asks") as later:
        while not later.interrupts:  # noqa: ASYNC110 - the SDK has no event for it
            await asyncio.sleep(0.01)
        await later.run.respond("green")
        assert (await later.output)["log"] == ["heard", "told green", "answered"]


async def test_an_error_ends_the_run_with_its_sentence(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="fails") as thread:
        await thread.run.start(input=HI)
        with pytest.raises(RuntimeError, match="the node fell over"):
            await thread.output


async def test_a_new_run_on_a_thread_is_not_mistaken_for_the_one_before(client: LangGraphClient) -> None:
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread_id, "fails", input=HI, raise_error=False)
    async with client.threads.stream(thread_id, assistant_id="echo") as thread:
        await thread.run.start(input=HI)
        assert ["".join(text) for text in await beside(thread.messages, pieces)] == [SAID]


async def test_the_output_of_a_second_turn_is_that_turns(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="echo") as thread:
        await thread.run.start(input=HI)
        await thread.output
    for turn in (2, 3):
        async with client.threads.stream(thread.thread_id, assistant_id="echo") as again:
            await again.run.start(input={**HI, "seconds": 0.05})
            assert len((await again.output)["messages"]) == 2 * turn


async def test_raw_events_of_two_readers_are_the_same(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="nested") as thread:
        await thread.run.start(input={**HI, "count": 5, "seconds": 0.01})

        async def to_the_end() -> list[Any]:
            events = []
            async for event in thread.events:
                events.append((event["seq"], event["event_id"], event["method"], event["params"]["namespace"]))
                if event["method"] == "lifecycle" and event["params"]["data"]["event"] == "completed" and not events[-1][3]:
                    break
            return events

        one, other = await asyncio.gather(to_the_end(), to_the_end())
        assert one == other
        assert {method for _, _, method, _ in one} == {"lifecycle", "values", "updates", "messages", "custom", "tasks"}
        assert [seq for seq, *_ in one] == sorted({seq for seq, *_ in one})


async def test_a_plain_request_to_the_websocket_is_refused_with_a_sentence(http: httpx.AsyncClient) -> None:
    refused = await http.get(f"/threads/{uuid.uuid4()}/stream/events")
    assert (refused.status_code, refused.headers["content-type"]) == (426, "application/problem+json")
    assert "server-sent events" in refused.json()["detail"]


def test_the_sync_client_streams_asks_and_goes_on(url: str) -> None:
    with get_sync_client(url=url, api_key=None) as client:
        with client.threads.stream(assistant_id="echo") as thread:
            thread.run.start(input=HI)
            assert ["".join(message.text) for message in thread.messages] == [SAID]
            assert thread.output["log"] == ["heard", "answered"]
        with client.threads.stream(assistant_id="asks") as thread:
            thread.run.start(input=HI)
            for _ in thread.values:
                pass
            thread.run.respond("blue")
            assert thread.output["log"] == ["heard", "told blue", "answered"]


@pytest.mark.parametrize("action", ["interrupt", "rollback"])
@pytest.mark.parametrize("events", [0, 1, 5])
async def test_values_end_when_the_run_is_cancelled(
    client: LangGraphClient, events: int, action: Literal["interrupt", "rollback"]
) -> None:
    async with client.threads.stream(assistant_id="ticks") as thread:
        started = await thread.run.start(input={"count": 10_000, "seconds": 0.01})

        async def cancel() -> None:
            seen = 0
            async for _ in client.runs.join_stream(thread.thread_id, started["run_id"], stream_mode="custom"):
                if seen >= events:
                    break
                seen += 1
            await client.runs.cancel(thread.thread_id, started["run_id"], action=action)

        cancelling = asyncio.ensure_future(cancel())
        async with asyncio.timeout(120):  # it would never end
            async for _ in thread.values:
                pass
        await cancelling
    left = [run["status"] for run in await client.runs.list(thread.thread_id)]
    assert left == (["interrupted"] if action == "interrupt" else [])


async def test_an_extension_gives_the_event_as_it_was_sent(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="ticks") as thread:
        await thread.run.start(input={"count": 2, "data": "progress"})
        sent = [event async for event in thread.extensions["progress"]]
    assert [event["n"] for event in sent] == [0, 1]
