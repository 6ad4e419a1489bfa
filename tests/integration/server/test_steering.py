"""Messages to a run over HTTP: what is answered, what is refused and with which code, and what a client sees."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langgraph.checkpoint.memory import InMemorySaver
from tests.integration.runs.graphs import two
from tests.integration.server.conftest import Server, serve
from tests.support.steered_agent import MODELS, TOOLS, agent

from stepwell import BudgetMiddleware, create_deep_agent
from stepwell.terminal.dialogue.graph_session import GraphConversations
from stepwell.testing import Asked, ScriptedModel, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with serve(tmp_path_factory.mktemp("steering"), graphs={"agent": agent, "words": two}) as running:
        yield running


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def work(server: Server) -> tuple[str, str, str]:
    """The thread and the run of an agent whose tool waits, and the mark of its gate."""
    thread_id, mark = str(uuid.uuid4()), uuid.uuid4().hex
    body = {"assistant_id": "agent", "input": said(f"work {mark}"), "if_not_exists": "create"}
    run = (await server.http.post(f"/threads/{thread_id}/runs", json=body)).json()
    await TOOLS[mark].reached.wait()
    return thread_id, run["run_id"], mark


async def steer(server: Server, thread_id: str, run_id: str, content: Any, message_id: str | None = None) -> Any:
    message = {"content": content, **({"id": message_id} if message_id else {})}
    return await server.http.post(f"/threads/{thread_id}/runs/{run_id}/messages", json={"message": message})


async def test_a_message_is_accepted_listed_and_taken(server: Server):
    thread_id, run_id, mark = await work(server)
    accepted = await steer(server, thread_id, run_id, "Use B.", "m1")
    assert accepted.status_code == 202
    body = accepted.json()
    assert {name: body[name] for name in ("message_id", "thread_id", "run_id", "status", "position")} == {
        "message_id": "m1",
        "thread_id": thread_id,
        "run_id": run_id,
        "status": "waiting",
        "position": 1,
    }
    blocks = [{"type": "text", "text": "And C."}]
    assert (await steer(server, thread_id, run_id, blocks, "m2")).json()["position"] == 2
    listed = (await server.http.get(f"/threads/{thread_id}/waiting-messages")).json()["messages"]
    assert [(each["message_id"], each["content"], each["position"]) for each in listed] == [
        ("m1", "Use B.", 1),
        ("m2", blocks, 2),
    ]
    TOOLS[mark].open.set()
    values = await server.client.runs.join(thread_id, run_id)
    assert [message["id"] for message in values["messages"] if message["type"] == "human"][1:] == ["m1", "m2"]
    assert (await server.http.get(f"/threads/{thread_id}/waiting-messages")).json() == {"messages": []}
    assert (await steer(server, thread_id, run_id, "Use B.", "m1")).json()["status"] == "taken"


async def test_refusals_say_why_in_a_sentence_and_a_code(server: Server):
    thread_id, run_id, mark = await work(server)
    for number in range(10):
        await steer(server, thread_id, run_id, str(number))
    full = await steer(server, thread_id, run_id, "more")
    assert (full.status_code, full.json()["code"]) == (429, "STEER_QUEUE_FULL")
    assert "10 messages wait" in full.json()["detail"]
    TOOLS[mark].open.set()
    await server.client.runs.join(thread_id, run_id)
    ended = await steer(server, thread_id, run_id, "late")
    assert (ended.status_code, ended.json()["code"]) == (409, "NO_ACTIVE_RUN")
    paused = (await server.http.post(f"/threads/{thread_id}/runs", json={"assistant_id": "agent", "input": said("pay")})).json()
    await server.client.runs.join(thread_id, paused["run_id"])
    asks = await steer(server, thread_id, paused["run_id"], "late")
    assert (asks.status_code, asks.json()["code"]) == (409, "RUN_PAUSED")


async def test_unknown_things_are_not_found_and_bad_messages_are_refused(server: Server):
    thread_id, run_id, mark = await work(server)
    assert (await steer(server, thread_id, str(uuid.uuid4()), "x")).status_code == 404
    assert (await steer(server, str(uuid.uuid4()), run_id, "x")).status_code == 404
    for content in ("", " ", [], [{"no": "type"}], 5, None):
        assert (await steer(server, thread_id, run_id, content)).status_code == 422, content
    wrong = await server.http.post(f"/threads/{thread_id}/runs/{run_id}/messages", json={"message": "text"})
    assert wrong.status_code == 422
    assert (await server.http.delete(f"/threads/{thread_id}/waiting-messages/none")).status_code == 404
    TOOLS[mark].open.set()
    await server.client.runs.join(thread_id, run_id)


async def test_a_message_is_withdrawn_until_the_model_has_it(server: Server):
    thread_id, run_id, mark = await work(server)
    gate = MODELS[mark]
    await steer(server, thread_id, run_id, "one", "m1")
    await steer(server, thread_id, run_id, "two", "m2")
    assert (await server.http.delete(f"/threads/{thread_id}/waiting-messages/m1")).status_code == 204
    TOOLS[mark].open.set()
    await gate.reached.wait()
    taken = await server.http.delete(f"/threads/{thread_id}/waiting-messages/m2")
    assert (taken.status_code, taken.json()["code"]) == (409, "MESSAGE_TAKEN")
    gate.open.set()
    values = await server.client.runs.join(thread_id, run_id)
    assert [message["id"] for message in values["messages"] if message["type"] == "human"][1:] == ["m2"]


async def test_a_graph_without_messages_takes_none(server: Server):
    thread_id = str(uuid.uuid4())
    body = {"assistant_id": "words", "input": {"words": ["hi"]}, "if_not_exists": "create"}
    run = (await server.http.post(f"/threads/{thread_id}/runs", json=body)).json()
    refused = await steer(server, thread_id, run["run_id"], "late")
    assert refused.status_code == 422, refused.text


async def test_a_stream_shows_the_message_before_the_answer(server: Server):
    thread_id, run_id, mark = await work(server)
    await steer(server, thread_id, run_id, "Use B.", "m1")
    TOOLS[mark].open.set()
    shown = [
        [message["id"] for message in part.data["messages"]]
        async for part in server.client.runs.join_stream(thread_id, run_id, stream_mode="values")
        if part.event == "values"
    ]
    assert "m1" in shown[-1]
    assert shown[-1].index("m1") == len(shown[-1]) - 2


async def test_a_side_question_is_answered_and_the_thread_keeps_nothing(server: Server):
    thread_id, run_id, mark = await work(server)
    before = (await server.http.get(f"/threads/{thread_id}/state")).json()
    answered = await server.http.post(f"/threads/{thread_id}/side-question", json={"question": "what now?"})
    assert answered.status_code == 200, answered.text
    assert answered.json()["answer"] == f"heard work {mark} | what now?"
    assert (await server.http.get(f"/threads/{thread_id}/state")).json() == before  # also while its run works
    TOOLS[mark].open.set()
    values = await server.client.runs.join(thread_id, run_id)
    assert "what now?" not in str(values)
    listed = await server.http.post("/threads/search", json={"limit": 1000})
    assert all("what now?" not in str(thread) for thread in listed.json())


async def test_a_side_question_needs_an_agent_and_words(server: Server):
    thread_id = str(uuid.uuid4())
    assert (await server.http.post(f"/threads/{thread_id}/side-question", json={"question": "x"})).status_code == 404
    body = {"assistant_id": "words", "input": {"words": ["hi"]}, "if_not_exists": "create"}
    await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
    refused = await server.http.post(f"/threads/{thread_id}/side-question", json={"question": "x"})
    assert refused.status_code == 422
    assert "not a conversation with an agent" in refused.text
    for question in ("", "   "):
        refused = await server.http.post(f"/threads/{thread_id}/side-question", json={"question": question})
        assert refused.status_code == 422


async def test_side_questions_count_towards_the_thread_s_budget_and_usage(tmp_path: Path):
    asked: list[str] = []

    def answer(given: Asked) -> Any:
        asked.append(given.messages[-1].text)
        return say("heard")

    budget = BudgetMiddleware(max_model_calls=3, per="thread")
    limited = create_deep_agent(ScriptedModel.answering(answer, usage=(10, 1)), middleware=[budget])
    async with serve(tmp_path, graphs={"agent": limited}) as server:
        thread_id = str(uuid.uuid4())
        body = {"assistant_id": "agent", "input": said("one"), "if_not_exists": "create"}
        await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
        answers = [
            (await server.http.post(f"/threads/{thread_id}/side-question", json={"question": f"aside {number}"})).json()[
                "answer"
            ]
            for number in range(3)
        ]
        assert answers[:2] == ["heard", "heard"]
        assert "budget of 3 model calls is used up" in answers[2]
        after = (await server.http.post(f"/threads/{thread_id}/runs/wait", json={**body, "input": said("two")})).json()
        assert "budget of 3 model calls is used up" in after["messages"][-1]["content"]
        assert asked == ["one", "aside 0", "aside 1"]
        usage = (await server.http.get("/api/usage", params={"group_by": "thread", "thread_id": thread_id})).json()
        assert sum(row["calls"] for row in usage) == 3


async def test_side_questions_in_a_process_count_towards_the_conversation_s_budget():
    model = ScriptedModel([say("one"), say("two"), say("never said")])
    budget = BudgetMiddleware(max_model_calls=2, per="thread")
    agent = create_deep_agent(model, middleware=[budget], checkpointer=InMemorySaver())
    session = GraphConversations(agent).new()
    async for _ in session.send(said("hello")):
        pass
    assert await session.aside("what?") == "two"
    assert "budget of 2 model calls is used up" in await session.aside("and now?")
