"""LangChain's middleware on the server, where runs are async, threads are stored, and clients answer questions."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langgraph.types import interrupt
from tests.integration.server.conftest import Server, serve

from stepwell import create_deep_agent
from stepwell.testing import ScriptedModel, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


def pay(whom: str) -> str:
    """Pay somebody."""
    return f"paid {whom}: {interrupt('May I?')}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    summary = SummarizationMiddleware(
        ScriptedModel.answering(lambda asked: say("SUMMARY")), trigger=("messages", 4), keep=("messages", 1)
    )
    retry = [ToolRetryMiddleware(initial_delay=0, jitter=False), ToolErrorMiddleware(lambda error, request: "failed")]
    graphs = {
        "pii": create_deep_agent(ScriptedModel([say("Noted.")]), middleware=[PIIMiddleware("email")]),
        "summary": create_deep_agent(ScriptedModel.answering(lambda asked: say("Ok.")), middleware=[summary]),
        "limit": create_deep_agent(
            ScriptedModel.answering(lambda asked: call("ls", path=f"/{asked.number}")),
            middleware=[ModelCallLimitMiddleware(run_limit=2)],
        ),
        "retry": create_deep_agent(ScriptedModel([call("pay", whom="baker"), say("Done.")]), [pay], middleware=retry),
    }
    async with serve(tmp_path_factory.mktemp("langchain"), graphs=graphs) as running:
        yield running


async def wait(server: Server, graph: str, thread_id: str, text: str = "", **body: Any) -> list[str]:
    given = {"input": {"messages": [{"role": "user", "content": text}]}} if text else {}
    asked = {"assistant_id": graph, "if_not_exists": "create", **given, **body}
    response = await server.http.post(f"/threads/{thread_id}/runs/wait", json=asked)
    response.raise_for_status()
    return [message["content"] for message in response.json()["messages"]]


async def test_personal_data_is_redacted_in_the_thread(server: Server):
    thread_id = str(uuid.uuid4())
    await wait(server, "pii", thread_id, "I am ann@example.org.")
    state = (await server.http.get(f"/threads/{thread_id}/state")).json()
    assert "example.org" not in str(state["values"])


async def test_replaced_messages_stay_replaced_in_a_stored_thread(server: Server):
    """It removes messages, which our incremental channel has to follow, across runs."""
    thread_id = str(uuid.uuid4())
    for number in range(4):
        texts = await wait(server, "summary", thread_id, f"question {number}")
    assert "SUMMARY" in texts[0]
    assert "question 0" not in texts
    assert texts[-2:] == ["question 3", "Ok."]
    stored = (await server.http.get(f"/threads/{thread_id}/state")).json()["values"]["messages"]
    assert [message["content"] for message in stored] == texts


async def test_a_limit_ends_the_run(server: Server):
    assert "limit" in (await wait(server, "limit", str(uuid.uuid4()), "Go."))[-1]


async def test_a_question_of_a_tool_passes_through_retries(server: Server):
    thread_id = str(uuid.uuid4())
    await wait(server, "retry", thread_id, "Pay.")
    state = (await server.http.get(f"/threads/{thread_id}/state")).json()
    (question,) = state["interrupts"]
    texts = await wait(server, "retry", thread_id, command={"resume": {question["id"]: "yes"}})
    assert texts[-2:] == ["paid baker: yes", "Done."]
