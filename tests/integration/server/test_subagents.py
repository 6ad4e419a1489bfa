"""A thread's subagents: their tasks, and what was said in each."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from tests.integration.server.conftest import Server, serve

from stepwell.agent import create_deep_agent
from stepwell.errors import NotFoundError
from stepwell.middleware import SubAgent
from stepwell.terminal.dialogue.remote_session import RemoteSession, ServerLine
from stepwell.testing import ScriptedModel, call, calls, each_run, fail, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _agent() -> Any:
    """Two subagents side by side; one may not write without being allowed to."""
    scripts = {
        "main": each_run(
            [
                calls(
                    call("task", description="Write it down", subagent_type="scribe"),
                    call("task", description="Count to two", subagent_type="counter"),
                ),
                say("All done."),
            ]
        ),
        "scribe": each_run([call("write_file", file_path="/note.md", content="x"), say("Written.")]),
        "counter": each_run([say("One, two.")]),
    }
    subagents: list[SubAgent] = [
        {"name": name, "description": "Works.", "system_prompt": "Work."} for name in ("scribe", "counter")
    ]
    model = ScriptedModel.by_agent(
        scripts, key=lambda asked: asked.agent if asked.agent in scripts else "main", usage=(100, 20)
    )
    return create_deep_agent(model, subagents=subagents, interrupt_on={"write_file": True})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with serve(tmp_path_factory.mktemp("server"), graphs={"agent": _agent()}) as running:
        yield running


async def get(server: Server, path: str, **query: Any) -> Any:
    answer = await server.http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def asked(server: Server) -> tuple[str, str]:
    """A thread whose scribe waits to be allowed to write; and the interrupt."""
    thread = (await server.client.threads.create())["thread_id"]
    await server.client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": "Go"}]})
    (waiting,) = (await get(server, f"/threads/{thread}/interrupts"))["interrupts"]
    return thread, waiting["interrupt_id"]


async def test_tasks_are_listed_while_one_waits_and_after_it_has_gone_on(server: Server):
    thread, interrupt = await asked(server)
    listed = (await get(server, f"/threads/{thread}/subagents"))["subagents"]
    facts = {task["name"]: (task["status"], task["description"], task["has_messages"]) for task in listed}
    assert facts == {"scribe": ("interrupted", "Write it down", True), "counter": ("success", "Count to two", True)}
    await server.client.runs.wait(thread, "agent", command={"resume": {interrupt: {"decisions": [{"type": "approve"}]}}})
    listed = (await get(server, f"/threads/{thread}/subagents"))["subagents"]
    by_name = {task["name"]: task for task in listed}
    assert {name: task["status"] for name, task in by_name.items()} == {"scribe": "success", "counter": "success"}
    assert (by_name["scribe"]["model_calls"], by_name["scribe"]["input_tokens"]) == (2, 200)
    assert by_name["scribe"]["duration_ms"] > 0
    assert by_name["scribe"]["continues"] is None


async def test_a_transcript_is_read_in_pages_newest_first(server: Server):
    thread, interrupt = await asked(server)
    await server.client.runs.wait(thread, "agent", command={"resume": {interrupt: {"decisions": [{"type": "approve"}]}}})
    listed = (await get(server, f"/threads/{thread}/subagents"))["subagents"]
    task = next(task["task_id"] for task in listed if task["name"] == "scribe")
    path = f"/threads/{thread}/subagents/{task}/messages"
    first = await get(server, path, limit=3)
    assert [message["type"] for message in first["messages"]] == ["ai", "tool", "ai"]
    assert (first["name"], first["status"], first["total"]) == ("scribe", "success", 4)
    second = await get(server, path, limit=3, before=first["next"])
    assert [message["content"] for message in second["messages"]] == ["Write it down"]
    assert second["next"] is None


async def test_an_interrupted_subagents_messages_stay_out_of_the_threads(server: Server):
    thread, interrupt = await asked(server)
    before = (await get(server, f"/threads/{thread}/state"))["values"]["messages"]
    assert [message["type"] for message in before] == ["human", "ai", "tool"]
    await server.client.runs.wait(thread, "agent", command={"resume": {interrupt: {"decisions": [{"type": "approve"}]}}})
    after = (await get(server, f"/threads/{thread}/state"))["values"]["messages"]
    assert [message["type"] for message in after] == ["human", "ai", "tool", "tool", "ai"]
    assert [message["id"] for message in after[:2]] == [message["id"] for message in before[:2]]


async def test_the_list_comes_in_pages(server: Server):
    thread, _ = await asked(server)
    first = await get(server, f"/threads/{thread}/subagents", limit=1)
    second = await get(server, f"/threads/{thread}/subagents", limit=1, before=first["next"])
    assert len({task["task_id"] for page in (first, second) for task in page["subagents"]}) == 2
    assert second["next"] is None


async def test_a_thread_without_subagents_has_an_empty_list(server: Server):
    thread = (await server.client.threads.create())["thread_id"]
    assert await get(server, f"/threads/{thread}/subagents") == {"subagents": [], "next": None}


async def test_an_unknown_task_is_reported_with_the_way_to_the_known_ones(server: Server):
    thread, _ = await asked(server)
    refused = await server.http.get(f"/threads/{thread}/subagents/none/messages")
    assert refused.status_code == 404
    assert "GET /threads/{thread_id}/subagents" in refused.json()["detail"]


async def test_messages_that_retention_has_deleted_are_said_to_be_gone(server: Server):
    thread, interrupt = await asked(server)
    await server.client.runs.wait(thread, "agent", command={"resume": {interrupt: {"decisions": [{"type": "approve"}]}}})
    pruned = await server.http.post("/threads/prune", json={"thread_ids": [thread], "strategy": "keep_latest"})
    assert pruned.status_code == 200
    listed = (await get(server, f"/threads/{thread}/subagents"))["subagents"]
    assert [(task["status"], task["has_messages"], task["description"]) for task in listed] == [("success", False, None)] * 2
    gone = await server.http.get(f"/threads/{thread}/subagents/{listed[0]['task_id']}/messages")
    assert gone.status_code == 404
    assert "Retention has deleted them" in gone.json()["detail"]


async def test_postgres_gives_the_same(tmp_path: Path, postgres_url: str):
    from stepwell.database.postgres.persistence import PostgresPersistence

    async with serve(tmp_path, graphs={"agent": _agent()}, persistence=PostgresPersistence(postgres_url)) as on_postgres:
        await test_tasks_are_listed_while_one_waits_and_after_it_has_gone_on(on_postgres)
        await test_a_transcript_is_read_in_pages_newest_first(on_postgres)
        await test_the_list_comes_in_pages(on_postgres)
        await test_messages_that_retention_has_deleted_are_said_to_be_gone(on_postgres)


async def test_another_users_tasks_are_not_found(server: Server):
    thread, _ = await asked(server)
    (first, *_) = (await get(server, f"/threads/{thread}/subagents"))["subagents"]
    with pytest.raises(NotFoundError):
        await server.services.threads.subagents.list("somebody-else", thread, before=None, limit=10)
    with pytest.raises(NotFoundError):
        await server.services.threads.subagents.messages("somebody-else", thread, first["task_id"], before=None, limit=10)


async def test_the_terminal_reads_them_from_a_server(server: Server):
    thread, interrupt = await asked(server)
    await server.client.runs.wait(thread, "agent", command={"resume": {interrupt: {"decisions": [{"type": "approve"}]}}})
    line = ServerLine(server.client, server.url, "agent", lambda text: None, ["values"])
    session = RemoteSession(line, thread, carry_on="")
    tasks = {task.name: task for task in await session.subagents()}
    assert tasks["counter"].about == "success: Count to two"
    messages = await session.subagent_messages(tasks["scribe"].task_id)
    assert [message["type"] for message in messages] == ["human", "ai", "tool", "ai"]
    assert await RemoteSession(line, str(uuid4()), carry_on="").subagents() == []


def forget_steps(folder: Path) -> None:
    [database] = folder.rglob("*.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM steps WHERE kind = 'agent'")


@pytest.mark.parametrize(("reply", "status"), [(fail(ValueError("no pen")), "error"), (say("Written."), "success")])
async def test_a_task_whose_step_a_kill_prevented_shows_what_came_of_it(tmp_path: Path, reply: Any, status: str):
    model = ScriptedModel.by_agent(
        {"main": [call("task", description="Write", subagent_type="scribe"), say("Done.")], "scribe": [reply]}
    )
    scribe: SubAgent = {"name": "scribe", "description": "Writes.", "system_prompt": "Write."}
    async with serve(tmp_path, graphs={"agent": create_deep_agent(model, subagents=[scribe])}) as running:
        thread = (await running.client.threads.create())["thread_id"]
        await running.client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": "Go"}]})
        before = (await get(running, f"/threads/{thread}/subagents"))["subagents"]
        forget_steps(tmp_path)
        (task,) = (await get(running, f"/threads/{thread}/subagents"))["subagents"]
        assert [task["status"], *(each["status"] for each in before)] == [status, status]
        assert (await get(running, f"/threads/{thread}/subagents/{task['task_id']}/messages"))["messages"]
