"""The mode of a served run: refused if unknown, kept while questions are answered, and listed with the graphs that have modes."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.integration.server.conftest import Server, serve
from tests.integration.server.graphs import GRAPHS

from stepwell import create_deep_agent
from stepwell.testing import ScriptedModel, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


def two_writes() -> Any:
    """Writes a file, then another, then says so."""

    def next_step(asked: Any) -> Any:
        results = sum(message.type == "tool" for message in asked.messages)
        return call("write_file", file_path=f"/{results}.md", content="x") if results < 2 else say("done")

    return create_deep_agent(ScriptedModel.answering(next_step))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with serve(tmp_path_factory.mktemp("modes"), graphs={"agent": two_writes(), "echo": GRAPHS["echo"]}) as running:
        yield running


async def start(server: Server, thread_id: str, graph: str = "agent", mode: Any = None, **more: Any) -> Any:
    config = {"config": {"configurable": {"permission_mode": mode}}} if mode is not None else {}
    body = {"assistant_id": graph, "if_not_exists": "create", **config, **more}
    return await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)


INPUT = {"messages": [{"role": "user", "content": "go"}]}


async def state(server: Server, thread_id: str) -> Any:
    return (await server.http.get(f"/threads/{thread_id}/state")).json()


async def test_an_unknown_mode_is_refused_before_anything_is_stored(server: Server):
    thread_id = str(uuid.uuid4())
    refused = await start(server, thread_id, mode="yolo", input=INPUT)
    assert refused.status_code == 422
    assert "plan, ask, accept_edits" in refused.text
    assert (await server.http.get(f"/threads/{thread_id}")).status_code == 404


async def test_a_graph_of_somebody_elses_may_mean_something_else(server: Server):
    assert (await start(server, str(uuid.uuid4()), "echo", mode="yolo", input=INPUT)).status_code == 200


async def test_a_plan_changes_nothing(server: Server):
    thread_id = str(uuid.uuid4())
    assert (await start(server, thread_id, mode="plan", input=INPUT)).status_code == 200
    assert not (await state(server, thread_id))["values"].get("files")


async def test_the_mode_is_kept_while_its_questions_are_answered(server: Server):
    """An answer names no mode; what follows it still asks."""
    thread_id = str(uuid.uuid4())
    await start(server, thread_id, mode="ask", input=INPUT)
    for written in range(2):
        now = await state(server, thread_id)
        assert len(now["values"].get("files") or {}) == written
        (question,) = now["interrupts"]
        assert question["value"]["action_requests"][0]["args"]["file_path"] == f"/{written}.md"
        await start(server, thread_id, command={"resume": {question["id"]: {"decisions": [{"type": "approve"}]}}})
    now = await state(server, thread_id)
    assert (len(now["values"]["files"]), now["interrupts"]) == (2, [])


@pytest.mark.parametrize("going_on", [{"input": None}, {"command": {"goto": "tools"}}, {"command": {"update": {"todos": []}}}])
async def test_a_question_stays_if_a_run_goes_on_without_an_answer(server: Server, going_on: dict[str, Any]):
    thread_id = str(uuid.uuid4())
    await start(server, thread_id, mode="ask", input=INPUT)
    for _ in range(2):
        await start(server, thread_id, **going_on)
        now = await state(server, thread_id)
        assert not now["values"].get("files")
    if "update" not in str(going_on):
        assert {each["value"]["action_requests"][0]["name"] for each in now["interrupts"]} == {"write_file"}


async def test_a_mode_that_is_named_holds_from_then_on(server: Server):
    thread_id = str(uuid.uuid4())
    await start(server, thread_id, mode="ask", input=INPUT)
    await start(server, thread_id, mode="accept_edits", input=None)
    assert len((await state(server, thread_id))["values"]["files"]) == 2


async def test_graphs_say_which_modes_they_have(server: Server):
    told = {each["graph_id"]: each["run_modes"] for each in (await server.http.get("/api/graphs")).json()}
    assert told == {"agent": ["plan", "ask", "accept_edits"], "echo": []}
