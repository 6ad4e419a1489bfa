"""Background tasks over HTTP: listed, read and stopped, by their owner alone."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.integration.runs import background_graphs
from tests.integration.server.conftest import Server, serve

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    graphs = {"agent": background_graphs.parent(), "other": background_graphs.other()}
    async with serve(tmp_path_factory.mktemp("background"), graphs=graphs) as running:
        yield running


async def say(server: Server, thread_id: str, text: str) -> Any:
    given = {"messages": [{"role": "user", "content": text}]}
    body = {"assistant_id": "agent", "if_not_exists": "create", "input": given}
    return (await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)).json()


async def task_of(server: Server, thread_id: str, status: str) -> Any:
    async with asyncio.timeout(120):
        while True:
            (task,) = (await server.http.get(f"/threads/{thread_id}/background-tasks")).json()["tasks"]
            if task["status"] == status:
                return task
            await asyncio.sleep(0.02)


async def test_tasks_are_listed_and_read_with_their_answer(server: Server):
    thread_id = str(uuid.uuid4())
    await say(server, thread_id, "start")
    task = await task_of(server, thread_id, "success")
    assert task["agent_name"] == "researcher"
    assert task["description"] == "answer"
    assert task["result"] is None
    whole = (await server.http.get(f"/threads/{thread_id}/background-tasks/{task['task_id']}")).json()
    assert whole["result"] == "answer to: answer"
    state = (await server.http.get(f"/threads/{task['thread_id']}/state")).json()
    assert [message["type"] for message in state["values"]["messages"]] == ["human", "ai"]


async def test_a_task_is_stopped_by_its_user(server: Server):
    thread_id = str(uuid.uuid4())
    await say(server, thread_id, "start wait never")
    task = await task_of(server, thread_id, "running")
    stopped = await server.http.post(f"/threads/{thread_id}/background-tasks/{task['task_id']}/cancel")
    assert stopped.json()["status"] == "cancelled"
    again = await server.http.post(f"/threads/{thread_id}/background-tasks/{task['task_id']}/cancel")
    assert again.json()["status"] == "cancelled"


async def test_a_task_that_waits_for_an_answer_is_stopped_and_cannot_be_answered(server: Server):
    thread_id = str(uuid.uuid4())
    await say(server, thread_id, "start change")
    task = await task_of(server, thread_id, "waiting")
    question = (await server.http.get(f"/threads/{task['thread_id']}")).json()["interrupts"]
    stopped = await server.http.post(f"/threads/{thread_id}/background-tasks/{task['task_id']}/cancel")
    assert stopped.json()["status"] == "cancelled"
    (asked,) = next(iter(question.values()))
    answer = {"resume": {asked["id"]: {"decisions": [{"type": "approve"}]}}}
    late = await server.http.post(f"/threads/{task['thread_id']}/runs", json={"assistant_id": "agent", "command": answer})
    assert late.status_code == 409
    waiting = (await server.http.get("/interrupts")).json()["interrupts"]
    assert task["thread_id"] not in {question["thread_id"] for question in waiting}


async def test_a_task_of_another_thread_is_not_found(server: Server):
    one, other = str(uuid.uuid4()), str(uuid.uuid4())
    await say(server, one, "start")
    await say(server, other, "what")
    task = await task_of(server, one, "success")
    missing = await server.http.get(f"/threads/{other}/background-tasks/{task['task_id']}")
    assert missing.status_code == 404
    assert "List the tasks" in missing.text
    assert (await server.http.get(f"/threads/{uuid.uuid4()}/background-tasks")).status_code == 404


async def test_a_question_of_a_task_is_among_those_that_wait(server: Server):
    thread_id = str(uuid.uuid4())
    await say(server, thread_id, "start change")
    task = await task_of(server, thread_id, "waiting")
    assert "change" in task["question"]
    waiting = (await server.http.get("/interrupts")).json()["interrupts"]
    assert task["thread_id"] in {question["thread_id"] for question in waiting}


async def test_a_background_subagent_is_described_and_started_by_its_agent_alone(server: Server):
    described = await server.http.get("/assistants/researcher@agent/schemas")
    assert "messages" in described.json()["input_schema"]["properties"]
    body = {"assistant_id": "researcher@agent", "if_not_exists": "create", "input": {"messages": []}}
    refused = await server.http.post(f"/threads/{uuid.uuid4()}/runs", json=body)
    assert refused.status_code == 404
    assert "its agent starts it" in refused.text
    assert (await server.http.get("/assistants/nobody@agent/schemas")).status_code >= 400
