"""The official OpenAI client against a server process, and what Open WebUI sends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import openai
import pytest
from openai import AsyncOpenAI
from tests.integration.served.process import Server
from tests.support.waiting import wait_until

USER: Any = {"role": "user", "content": "hello"}
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

WEATHER: Any = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


@pytest.fixture
async def client(served: Server) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0, timeout=60) as opened:
        yield opened


async def ask(client: AsyncOpenAI, model: str, *messages: Any, **more: Any) -> str:
    answer = await client.chat.completions.create(model=model, messages=list(messages), **more)
    assert answer.choices[0].finish_reason == "stop"
    return str(answer.choices[0].message.content)


async def stream(client: AsyncOpenAI, model: str, *messages: Any, **more: Any) -> list[Any]:
    opened = await client.chat.completions.create(model=model, messages=list(messages), stream=True, **more)
    return [chunk async for chunk in opened]


def text_of(chunks: list[Any]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


async def test_models_are_the_assistants_that_take_messages(client: AsyncOpenAI) -> None:
    models = [model.id async for model in client.models.list()]
    assert {"echo", "agent", "careful", "slow"} <= set(models)
    assert not {"adder", "shouter"} & set(models)
    assert (await client.models.retrieve("echo")).id == "echo"
    with pytest.raises(openai.NotFoundError, match="Models of this server: "):
        await client.models.retrieve("gpt-4o")


async def test_a_completion_has_text_and_usage(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="agent", messages=[USER])
    assert answer.choices[0].message.content == "It is 3."
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


async def test_a_stream_ends_with_a_reason_and_the_usage(client: AsyncOpenAI) -> None:
    chunks = await stream(client, "agent", USER, stream_options={"include_usage": True})
    assert text_of(chunks) == "It is 3."
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens > 0
    assert len({chunk.id for chunk in chunks}) == 1


async def test_the_conversation_is_the_clients(served: Server, client: AsyncOpenAI) -> None:
    messages: Any = [{"role": "system", "content": "Be brief."}, USER, {"role": "assistant", "content": "Hi."}, USER]
    async with httpx.AsyncClient(base_url=served.url) as http:
        before = (await http.post("/threads/count", json={})).json()
        assert await ask(client, "echo", *messages) == "You said: hello (after 2)"
        assert (await http.post("/threads/count", json={})).json() == before


async def test_a_named_thread_is_continued(client: AsyncOpenAI) -> None:
    thread_id = str(uuid4())
    header = {"X-Thread-Id": thread_id}
    assert await ask(client, "echo", USER, extra_headers=header) == "You said: hello (after 0)"
    assert await ask(client, "echo", USER, extra_headers=header) == "You said: hello (after 2)"
    whole: Any = [USER, {"role": "assistant", "content": "You said: hello"}, USER]
    assert await ask(client, "echo", *whole, metadata={"thread_id": thread_id}) == "You said: hello (after 4)"


async def test_pictures_reach_the_model(client: AsyncOpenAI) -> None:
    parts: Any = {
        "role": "user",
        "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": PIXEL}}],
    }
    assert await ask(client, "echo", parts) == "You said: look, with 1 picture (after 0)"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_question_is_text_and_the_next_message_its_answer(client: AsyncOpenAI, streamed: bool) -> None:
    """A client that knows nothing of threads: it sends back what it got."""

    async def say(*messages: Any) -> str:
        return text_of(await stream(client, "careful", *messages)) if streamed else await ask(client, "careful", *messages)

    question = await say(USER)
    assert question.startswith('Run add({"a": 1, "b": 2})?\n[y]es, [n]o')
    asked: Any = {"role": "assistant", "content": question}
    again = await say(USER, asked, {"role": "user", "content": "perhaps"})
    assert again.startswith("Please type one of: [y]es")
    said_again: Any = {"role": "assistant", "content": again}
    answered = await say(USER, asked, {"role": "user", "content": "perhaps"}, said_again, {"role": "user", "content": "yes"})
    assert answered == "It is 3."


async def test_tools_of_the_caller_are_called_by_the_caller(client: AsyncOpenAI) -> None:
    assert await ask(client, "open_handed", USER) == "I cannot know."
    answer = await client.chat.completions.create(model="open_handed", messages=[USER], tools=[WEATHER])
    (choice,) = answer.choices
    assert choice.finish_reason == "tool_calls"
    (wanted,) = choice.message.tool_calls or ()
    assert wanted.type == "function"
    assert (wanted.function.name, wanted.function.arguments) == ("get_weather", '{"city": "Rome"}')
    result: Any = {"role": "tool", "tool_call_id": wanted.id, "content": "sunny"}
    messages: Any = [USER, choice.message.model_dump(exclude_none=True), result]
    assert await ask(client, "open_handed", *messages, tools=[WEATHER]) == "It is sunny."
    chunks = await stream(client, "open_handed", USER, tools=[WEATHER])
    assert chunks[-2].choices[0].delta.tool_calls[0].function.name == "get_weather"
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    clash: Any = {"type": "function", "function": {"name": "add"}}
    with pytest.raises(openai.BadRequestError, match="has a tool 'add' itself"):
        await ask(client, "open_handed", USER, tools=[clash])


CALL: Any = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
RESULT: Any = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}


def called(**changed: Any) -> Any:
    return {"role": "assistant", "content": None, "tool_calls": [{**CALL, **changed}]}


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ([{"role": "assistant", "tool_calls": [{}]}, RESULT], "messages.0.tool_calls.0.id"),
        ([called(id=1), RESULT], "messages.0.tool_calls.0.id"),
        ([called(function={"name": "f", "arguments": "{bad"}), RESULT], "arguments: it must be a JSON object, as text"),
        ([called(), {"role": "tool", "content": "sunny"}], "tool_call_id"),
        ([{"role": "user", "content": [{"type": "text", "text": 5}]}], "content\\[0\\] cannot be read"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": 5}]}], "content\\[0\\] cannot be read"),
        ([{"role": "user", "content": [{"text": "x"}]}], "content\\[0\\] cannot be read"),
        ([{"role": "assistant", "content": "Hello."}], "The last message is the assistant's"),
        ([USER, {"role": "assistant", "content": "Hello."}], "The last message is the assistant's"),
    ],
)
async def test_a_history_that_cannot_be_read_is_refused(client: AsyncOpenAI, messages: Any, sentence: str) -> None:
    with pytest.raises(openai.BadRequestError, match=sentence) as refused:
        await ask(client, "echo", *messages)
    assert "pydantic" not in refused.value.message


async def test_a_call_without_arguments_in_the_history_is_read(client: AsyncOpenAI) -> None:
    history = [USER, called(function={"name": "get_time", "arguments": ""}), RESULT, USER]
    assert await ask(client, "echo", *history) == "You said: hello (after 2)"


async def test_a_stream_whose_thread_is_deleted_ends_with_an_error(served: Server, client: AsyncOpenAI) -> None:
    thread_id = str(uuid4())

    def runs() -> int:
        found = httpx.get(f"{served.url}/threads/{thread_id}/runs")
        return len(found.json()) if found.status_code == 200 else 0

    asking = asyncio.create_task(stream(client, "slow", USER, extra_headers={"X-Thread-Id": thread_id}))
    await asyncio.to_thread(wait_until, lambda: runs() == 1, "the run is there")
    await asyncio.to_thread(httpx.delete, f"{served.url}/threads/{thread_id}", timeout=60)
    with pytest.raises(openai.APIError, match=r"was deleted|was stopped"):
        await asking


async def test_errors_have_openais_form(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        await ask(client, "gpt-4o", USER)
    assert unknown.value.body["type"] == "invalid_request_error"  # type: ignore[index]
    for wrong, sentence in (
        ({"n": 2}, "'n' is 1"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"tools": [WEATHER]}, "takes none from its caller"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools"),
        ({"tools": [WEATHER], "tool_choice": "required"}, "tool_choice"),
        ({"metadata": {"thread_id": "mine"}}, "UUID"),
        ({"logprobs": True}, "'logprobs' is false"),
        ({"functions": [WEATHER["function"]]}, "old form of 'tools'"),
    ):
        with pytest.raises(openai.BadRequestError, match=sentence):
            await ask(client, "echo", USER, **wrong)
    with pytest.raises(openai.BadRequestError, match="takes no messages"):
        await ask(client, "adder", USER)
    with pytest.raises(openai.BadRequestError, match="messages"):
        await client.chat.completions.create(model="echo", messages=[])


async def test_a_failed_run_is_an_error_that_is_not_tried_again(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError, match="the node fell over") as failed:
        await ask(client, "failing", USER)
    assert failed.value.response.headers["x-should-retry"] == "false"
    with pytest.raises(openai.APIError, match="the node fell over"):
        await stream(client, "failing", USER)


async def until_its_run_is(served: Server, thread_id: str, status: str) -> None:
    def is_so() -> bool:
        found = httpx.get(f"{served.url}/threads/{thread_id}/runs")
        return found.status_code == 200 and [run["status"] for run in found.json()] == [status]

    await asyncio.to_thread(wait_until, is_so, f"the run is {status}")


async def test_leaving_stops_the_run(served: Server, client: AsyncOpenAI) -> None:
    thread_id = str(uuid4())
    asking = asyncio.create_task(stream(client, "slow", USER, extra_headers={"X-Thread-Id": thread_id}))
    await until_its_run_is(served, thread_id, "running")
    asking.cancel()
    await until_its_run_is(served, thread_id, "interrupted")


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_request_with_a_key_can_be_sent_again_after_a_lost_connection(served: Server, streamed: bool) -> None:
    body = {"model": "pause", "messages": [USER], "stream": streamed}
    thread_id = str(uuid4())
    headers = {"Idempotency-Key": str(uuid4()), "X-Thread-Id": thread_id}
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
        asking = asyncio.create_task(http.post("/v1/chat/completions", json=body, headers=headers))
        await until_its_run_is(served, thread_id, "running")
        asking.cancel()
        answer = await http.post("/v1/chat/completions", json=body, headers=headers)
        again = await http.post("/v1/chat/completions", json=body, headers=headers)
    assert (answer.status_code, "Here I am." in answer.text) == (200, True), answer.text
    named = [re.findall(r'"id":"(chatcmpl-[^"]+)"|"created":(\d+)', each.text) for each in (answer, again)]
    assert named[0][:2] == named[1][:2], "the same completion"
    assert len(named[0]) >= 2


async def test_what_open_webui_sends(served: Server) -> None:
    """The requests of a chat in Open WebUI 0.6: the list of models, the answer, then a title and tags by the same model."""
    headers = {"Authorization": "Bearer none", "X-OpenWebUI-User-Name": "Ada", "Accept-Encoding": "identity"}
    async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=60) as http:
        listed = (await http.get("/v1/models")).json()
        assert listed["object"] == "list"
        assert {"id", "object", "created", "owned_by", "name"} <= listed["data"][0].keys()
        chat = {"stream": True, "model": "echo", "messages": [USER], "stream_options": {"include_usage": True}}
        answer = await http.post("/v1/chat/completions", json=chat)
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
        assert lines[-1] == "data: [DONE]"
        title = {
            "model": "echo",
            "messages": [{"role": "user", "content": "### Task: title"}],
            "stream": False,
            "max_tokens": 1000,
        }
        told = (await http.post("/v1/chat/completions", json=title)).json()
        assert told["choices"][0]["message"]["content"].startswith("You said: ### Task")
