"""Checks and hooks on the server: sync functions there too, pauses that a client answers, and streams that hold an answer back."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from langgraph.types import interrupt
from tests.integration.server.conftest import Server, serve

from stepwell import HooksMiddleware, Refusal, SendBack, create_deep_agent
from stepwell.testing import ScriptedModel, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


def no_cards(event: Any) -> Refusal | None:
    return Refusal("Please do not send card numbers.") if "4111" in event.text else None


def reviewed(event: Any) -> Refusal | None:
    return None if interrupt({"review": event.text}) == "ok" else Refusal("Withheld by the editor.")


def twice(event: Any) -> SendBack | None:
    return SendBack("Check it again.") if event.times_sent_back == 0 else None


def _agent(script: list[Any], **hooks: Any) -> Any:
    return create_deep_agent(ScriptedModel(script), middleware=[HooksMiddleware(**hooks)])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    graphs = {
        "input": _agent([say("Hello.")] * 2, on_input=no_cards),
        "masked": _agent([say("Hello.")], on_input=lambda event: event.text.replace("4111", "####")),
        "asked": _agent([say("Hello.")], on_input=reviewed),
        "review": _agent([say("Draft."), say("Another draft.")], after_model=reviewed),
        "stop": _agent([say("First."), say("Second.")], on_stop=twice),
        "held": _agent(
            [say("the secret word")], after_model=lambda event: event.text.replace("secret", "other"), hold_back=True
        ),
    }
    async with serve(tmp_path_factory.mktemp("hooks"), graphs=graphs) as running:
        yield running


async def wait(server: Server, graph: str, thread_id: str, **body: Any) -> Any:
    given = {"assistant_id": graph, "if_not_exists": "create", **body}
    response = await server.http.post(f"/threads/{thread_id}/runs/wait", json=given)
    response.raise_for_status()
    return response.json()


def asking(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def texts(values: Any) -> list[str]:
    return [message["content"] for message in values["messages"]]


async def test_refused_input_is_answered_without_the_model(server: Server):
    values = await wait(server, "input", str(uuid.uuid4()), input=asking("My card is 4111."))
    assert texts(values) == ["[This message was withheld by a check.]", "Please do not send card numbers."]


async def title(server: Server, thread_id: str) -> str | None:
    return (await server.client.threads.get(thread_id))["metadata"].get("title")  # type: ignore[return-value]


async def test_a_withheld_message_is_no_title_and_the_next_message_gives_one(server: Server):
    thread_id = str(uuid.uuid4())
    await wait(server, "input", thread_id, input=asking("My card is 4111."))
    assert await title(server, thread_id) is None
    await wait(server, "input", thread_id, input=asking("Hello again"))
    assert await title(server, thread_id) == "Hello again"


async def test_a_client_s_own_title_stays_when_a_message_is_withheld(server: Server):
    thread = await server.client.threads.create(metadata={"title": "Cards"})
    await wait(server, "input", thread["thread_id"], input=asking("My card is 4111."))
    assert await title(server, thread["thread_id"]) == "Cards"


async def test_a_message_that_a_check_changes_changes_the_title_made_of_it(server: Server):
    thread_id = str(uuid.uuid4())
    await wait(server, "masked", thread_id, input=asking("My card is 4111."))
    assert await title(server, thread_id) == "My card is ####."


async def test_a_message_that_is_withheld_after_a_question_is_no_title(server: Server):
    thread_id = str(uuid.uuid4())
    await wait(server, "asked", thread_id, input=asking("My card is 4111."))
    state = (await server.http.get(f"/threads/{thread_id}/state")).json()
    await wait(server, "asked", thread_id, command={"resume": {state["interrupts"][0]["id"]: "no"}})
    assert await title(server, thread_id) is None


async def test_a_client_answers_a_hook_s_question_about_the_answer_it_saw(server: Server):
    thread_id = str(uuid.uuid4())
    await wait(server, "review", thread_id, input=asking("Write."))
    state = (await server.http.get(f"/threads/{thread_id}/state")).json()
    assert state["interrupts"][0]["value"] == {"review": "Draft."}
    values = await wait(server, "review", thread_id, command={"resume": {state["interrupts"][0]["id"]: "no"}})
    assert texts(values) == ["Write.", "Withheld by the editor."]


async def test_on_stop_sends_back(server: Server):
    values = await wait(server, "stop", str(uuid.uuid4()), input=asking("Go."))
    assert texts(values) == ["Go.", "First.", "Second."]


async def test_a_held_back_answer_is_streamed_only_after_its_check(server: Server):
    thread = await server.client.threads.create()
    modes: Any = ["messages-tuple", "updates", "values", "custom"]
    stream = server.client.runs.stream(thread["thread_id"], "held", input=asking("Say it."), stream_mode=modes)
    sent = [str(part.data) async for part in stream]
    assert any("the other word" in each for each in sent)
    assert not any("secret" in each for each in sent)
