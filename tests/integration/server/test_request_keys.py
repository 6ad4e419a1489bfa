"""`Idempotency-Key`: a request that is sent again starts nothing new, and gives what the first one gave."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from tests.integration.runs.graphs import asking, asking_twice, two
from tests.integration.server.conftest import Server, serve

from stepwell import create_deep_agent
from stepwell.clock import Clock, SystemClock
from stepwell.testing import ScriptedModel, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENT = create_deep_agent(ScriptedModel.answering(lambda _: say("hello")), name="agent")
GRAPHS = {"two": two, "asking": asking, "asking_twice": asking_twice, "agent": AGENT}
INPUT = {"words": ["say"]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with serve(tmp_path_factory.mktemp("keys"), graphs=GRAPHS) as running:
        yield running


def keyed(key: str | None = None) -> dict[str, str]:
    return {"Idempotency-Key": key or str(uuid.uuid4())}


async def runs_of(http: httpx.AsyncClient, thread_id: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await http.get(f"/threads/{thread_id}/runs")).json()
    return listed


async def new_thread(http: httpx.AsyncClient) -> str:
    return str((await http.post("/threads", json={})).json()["thread_id"])


def place(response: httpx.Response) -> str:
    return response.headers["content-location"]


@pytest.mark.parametrize("way", ["runs", "runs/wait", "runs/stream"])
async def test_a_run_is_started_once(server: Server, way: str) -> None:
    thread_id, headers = await new_thread(server.http), keyed()
    body = {"assistant_id": "two", "input": INPUT}
    first = await server.http.post(f"/threads/{thread_id}/{way}", json=body, headers=headers)
    second = await server.http.post(f"/threads/{thread_id}/{way}", json=body, headers=headers)
    assert (first.status_code, second.status_code, place(first)) == (200, 200, place(second))
    if way != "runs":
        assert first.content == second.content, "values and streams are told again"
    assert len(await runs_of(server.http, thread_id)) == 1
    await server.http.get(f"{place(first)}/join")
    state = (await server.http.get(f"/threads/{thread_id}/state")).json()
    assert state["values"]["words"] == ["say", "hello", "world"], "the message is there once"


async def test_requests_at_the_same_moment_are_one(server: Server) -> None:
    thread_id, headers = await new_thread(server.http), keyed()
    body = {"assistant_id": "two", "input": INPUT}
    told = await asyncio.gather(
        *(server.http.post(f"/threads/{thread_id}/runs", json=body, headers=headers) for _ in range(10))
    )
    assert len({each.json()["run_id"] for each in told}) == 1
    assert len(await runs_of(server.http, thread_id)) == 1


@pytest.mark.parametrize("way", ["/runs", "/runs/wait", "/runs/stream"])
async def test_a_stateless_run_is_started_once(server: Server, way: str) -> None:
    body, headers = {"assistant_id": "two", "input": INPUT}, keyed()
    told = [await server.http.post(way, json=body, headers=headers) for _ in range(2)]
    assert place(told[0]) == place(told[1])


async def test_a_batch_is_started_once(server: Server) -> None:
    thread_id, headers = await new_thread(server.http), keyed()
    body = [{"assistant_id": "two", "input": INPUT, "thread_id": thread_id} for _ in range(3)]
    told = [(await server.http.post("/runs/batch", json=body, headers=headers)).json() for _ in range(2)]
    ids = [[run["run_id"] for run in each] for each in told]
    assert (ids[0] == ids[1], len(set(ids[0]))) == (True, 3)
    assert len(await runs_of(server.http, thread_id)) == 3


async def test_a_thread_and_a_copy_are_made_once(server: Server) -> None:
    headers, copying = keyed(), keyed()
    made = [(await server.http.post("/threads", json={"metadata": {"a": 1}}, headers=headers)).json() for _ in range(2)]
    assert made[0] == made[1]
    copies = [await server.http.post(f"/threads/{made[0]['thread_id']}/copy", headers=copying) for _ in range(2)]
    assert copies[0].json()["thread_id"] == copies[1].json()["thread_id"] != made[0]["thread_id"]


async def test_a_bare_answer_that_is_sent_again_does_not_reach_the_next_question(server: Server) -> None:
    thread_id, headers = str(uuid.uuid4()), keyed()
    begin = {"assistant_id": "asking_twice", "input": {"words": []}, "if_not_exists": "create"}
    (await server.http.post(f"/threads/{thread_id}/runs/wait", json=begin)).raise_for_status()
    body = {"assistant_id": "asking_twice", "command": {"resume": "yes"}}
    told = [await server.http.post(f"/threads/{thread_id}/runs/wait", json=body, headers=headers) for _ in range(2)]
    assert (told[0].status_code, told[0].content) == (told[1].status_code, told[1].content)
    assert [each["value"] for each in told[1].json()["__interrupt__"]] == ["second?"]
    assert len(await runs_of(server.http, thread_id)) == 2


async def test_a_command_to_a_thread_is_carried_out_once(server: Server) -> None:
    thread_id, headers = await new_thread(server.http), keyed()
    body = {"id": 7, "method": "run.start", "params": {"assistant_id": "two", "input": INPUT}}
    told = [(await server.http.post(f"/threads/{thread_id}/commands", json=body, headers=headers)).json() for _ in range(2)]
    assert told[0]["result"] == told[1]["result"]
    assert len(await runs_of(server.http, thread_id)) == 1


async def test_the_agent_of_a_workspace_is_asked_once(server: Server) -> None:
    headers, body = keyed(), {"assistant_id": "agent", "messages": [{"role": "user", "content": "hi"}]}
    told = [await server.http.post("/api/agent", json=body, headers=headers) for _ in range(2)]
    assert (told[0].status_code, told[0].content, place(told[0])) == (200, told[1].content, place(told[1]))
    assert len(await runs_of(server.http, place(told[0]).split("/")[2])) == 1
    other = {**body, "messages": [{"role": "user", "content": "bye"}]}
    refused = await server.http.post("/api/agent", json=other, headers=headers)
    assert (refused.status_code, "another request" in refused.json()["detail"]) == (422, True)


async def test_a_key_is_refused_with_another_request(server: Server) -> None:
    thread_id, headers = await new_thread(server.http), keyed()
    body = {"assistant_id": "two", "input": INPUT}
    assert (await server.http.post(f"/threads/{thread_id}/runs", json=body, headers=headers)).status_code == 200
    others = [
        (f"/threads/{thread_id}/runs", {**body, "input": {"words": ["other"]}}),
        (f"/threads/{await new_thread(server.http)}/runs", body),
        (f"/threads/{thread_id}/runs/wait", body),
        ("/threads", {}),
    ]
    for path, other in others:
        refused = await server.http.post(path, json=other, headers=headers)
        problem = refused.json()
        assert (refused.status_code, problem["type"]) == (422, "urn:stepwell:problem:idempotency-key"), path
        assert "another request" in problem["detail"]
    assert len(await runs_of(server.http, thread_id)) == 1


async def test_a_refused_request_can_be_mended_under_the_same_key(server: Server) -> None:
    """It has started nothing, so its key is still free."""
    thread_id, headers = await new_thread(server.http), keyed()
    wrong = {"assistant_id": "two", "input": "hi"}
    assert (await server.http.post(f"/threads/{thread_id}/runs", json=wrong, headers=headers)).status_code == 422
    right = {"assistant_id": "two", "input": INPUT}
    assert (await server.http.post(f"/threads/{thread_id}/runs", json=right, headers=headers)).status_code == 200


@pytest.mark.parametrize("key", ["x" * 256, "caf\u00e9"])
async def test_a_key_that_cannot_be_one_is_refused(server: Server, key: str) -> None:
    headers = {"Idempotency-Key": key.encode("latin-1")}
    refused = await server.http.post("/threads", json={}, headers=headers)  # type: ignore[arg-type]
    assert (refused.status_code, "Idempotency-Key" in refused.json()["detail"]) == (422, True)


async def test_a_key_is_known_for_a_day_and_forgotten_after_two(tmp_path: Path) -> None:
    clock = Late()
    async with serve(tmp_path, graphs=GRAPHS, clock=clock) as server:
        thread_id, headers = await new_thread(server.http), keyed()
        body = {"assistant_id": "two", "input": INPUT}
        first = await server.http.post(f"/threads/{thread_id}/runs/wait", json=body, headers=headers)
        for hours, again in ((24, True), (25, False)):
            clock.hours += hours
            await server.services.persistence.maintenance.sweep()
            told = await server.http.post(f"/threads/{thread_id}/runs/wait", json=body, headers=headers)
            assert (place(told) == place(first)) is again


class Late(Clock):
    """A clock that can be set ahead."""

    hours = 0

    def now(self) -> Any:
        return SystemClock().now() + timedelta(hours=self.hours)


async def test_a_run_that_was_deleted_since_is_not_started_again(server: Server) -> None:
    thread_id, headers = await new_thread(server.http), keyed()
    body = {"assistant_id": "two", "input": INPUT}
    path = f"/threads/{thread_id}/runs/wait"
    first = await server.http.post(path, json=body, headers=headers)
    assert (await server.http.delete(place(first))).status_code == 204
    gone = await server.http.post(path, json=body, headers=headers)
    assert (gone.status_code, "deleted since" in gone.json()["detail"]) == (404, True)
