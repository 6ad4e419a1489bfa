"""T5: what the user's device is asked to do, over HTTP: claims, answers that come late, twice, from elsewhere or in the wrong shape."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from tests.integration.server.conftest import Server, serve

from stepwell import ClarifyWithHumanMiddleware, ClientToolsMiddleware, create_deep_agent
from stepwell.server.settings import ServerSettings
from stepwell.testing import Asked, ScriptedModel, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


def work(asked: Asked) -> Any:
    """Ask, write or read, as the message says; then tell what came of it."""
    if asked.messages[-1].type == "tool":
        return say(asked.messages[-1].text)
    if asked.human == "ask":
        return call("ask_choices", question="Which?", options=["a", "b"])
    if asked.human == "write":
        return call("write_file", file_path="/project/a.md", content="a")
    return call("read_file", file_path="/project/a.md")


GRAPHS = {
    "project": create_deep_agent(
        ScriptedModel.answering(work),
        middleware=[ClarifyWithHumanMiddleware(), ClientToolsMiddleware(mount="/project/", deadline_s=30)],
    )
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with serve(tmp_path_factory.mktemp("device"), graphs=GRAPHS) as running:
        yield running


class Thread:
    """A thread that waits for a device, as a page sees it."""

    def __init__(self, http: httpx.AsyncClient, thread_id: str, waiting: dict[str, Any]) -> None:
        self._http, self.thread_id, self.waiting = http, thread_id, waiting
        self.question = waiting["interrupt_id"]
        self.place = f"/threads/{thread_id}/interrupts/{self.question}/claim"

    def results(self, text: str = "hello", **more: Any) -> dict[str, Any]:
        made = self.waiting["payload"]["tool_calls"][0]["id"]
        return {"tool_results": [{"tool_call_id": made, "content": {"text": text}}], **more}

    async def claim(self, device_id: str = "left", **more: Any) -> httpx.Response:
        return await self._http.post(self.place, json={"device_id": device_id, "ttl_s": 60, **more})

    async def answer(self, answer: Any, question: str | None = None) -> httpx.Response:
        body = {"assistant_id": "project", "command": {"resume": {question or self.question: answer}}}
        return await self._http.post(f"/threads/{self.thread_id}/runs/wait", json=body)

    async def listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self._http.get(f"/threads/{self.thread_id}/interrupts")).json()["interrupts"]
        return found


async def begin(http: httpx.AsyncClient, message: str = "read") -> Thread:
    thread_id = str(uuid.uuid4())
    given = {"messages": [{"role": "user", "content": message}], "current_project_id": "thesis"}
    body = {"assistant_id": "project", "input": given, "if_not_exists": "create"}
    (await http.post(f"/threads/{thread_id}/runs/wait", json=body)).raise_for_status()
    (waiting,) = (await http.get(f"/threads/{thread_id}/interrupts")).json()["interrupts"]
    return Thread(http, thread_id, waiting)


async def test_the_listing_says_what_is_waited_for_and_until_when(server: Server) -> None:
    thread = await begin(server.http)
    waiting = thread.waiting
    assert (waiting["type"], waiting["payload"]["project_id"], waiting["claim"]) == ("client_tool_execution", "thesis", None)
    asked_at, late_at = (datetime.fromisoformat(waiting[name]) for name in ("created_at", "deadline_at"))
    assert late_at - asked_at == timedelta(seconds=30)
    assert "total_lines" in str(waiting["response_schema"])


async def test_one_of_two_tabs_gets_the_claim(server: Server) -> None:
    """T5."""
    thread = await begin(server.http)
    told = await asyncio.gather(*(thread.claim(name) for name in ("left", "right")))
    assert sorted(each.status_code for each in told) == [200, 409]
    held, refused = sorted((each.json() for each in told), key=lambda body: "status" in body)
    assert refused["type"] == "urn:stepwell:problem:interrupt-claimed"
    assert refused["claim"]["expires_at"] == held["expires_at"]
    (waiting,) = await thread.listed()
    everywhere = (await server.http.get("/interrupts", params={"limit": 1000})).json()["interrupts"]
    assert waiting["claim"] == refused["claim"]
    assert waiting["claim"] in [each["claim"] for each in everywhere]
    assert held["claim_id"] not in str(everywhere), "nobody else is told the id"
    for sent in (thread.results(), thread.results(claim_id="guessed")):
        assert (await thread.answer(sent)).status_code == 409
    done = await thread.answer(thread.results("from the left", claim_id=held["claim_id"]))
    assert done.status_code == 200
    assert "from the left" in done.json()["messages"][-1]["content"]
    assert await thread.listed() == []


async def test_a_claim_is_renewed_given_back_and_taken_over(server: Server) -> None:
    thread = await begin(server.http)
    held = (await thread.claim()).json()
    longer = (await thread.claim(claim_id=held["claim_id"], ttl_s=600)).json()
    assert longer["claim_id"] == held["claim_id"]
    assert datetime.fromisoformat(longer["expires_at"]) > datetime.now(UTC) + timedelta(seconds=500)
    other = {"json": {"claim_id": "another"}}
    assert (await server.http.request("DELETE", thread.place, **other)).status_code == 409
    own = {"json": {"claim_id": held["claim_id"]}}
    assert (await server.http.request("DELETE", thread.place, **own)).status_code == 204
    assert (await thread.claim("right")).status_code == 200
    lost = await thread.claim("left", claim_id=held["claim_id"])
    assert (lost.status_code, lost.json()["type"]) == (409, "urn:stepwell:problem:interrupt-claimed")


async def test_what_is_answered_is_not_carried_out_again(server: Server) -> None:
    """An answer that comes twice gives the same run; another one is refused; a claim afterwards is 410."""
    thread = await begin(server.http)
    first = await thread.answer(thread.results())
    again = await thread.answer(thread.results(claim_id="of a tab that took over"))
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert (await thread.answer(thread.results("something else"))).status_code == 409
    late = await thread.claim("right")
    assert (late.status_code, late.json()["type"]) == (410, "urn:stepwell:problem:interrupt-gone")
    runs = (await server.http.get(f"/threads/{thread.thread_id}/runs")).json()
    assert len(runs) == 2


async def test_two_tabs_that_answer_at_once_without_a_claim_have_one_effect(server: Server) -> None:
    thread = await begin(server.http)
    told = await asyncio.gather(*(thread.answer(thread.results(text)) for text in ("left", "right", "left")))
    assert sorted({each.status_code for each in told}) == [200, 409]
    final = (await server.http.get(f"/threads/{thread.thread_id}/state")).json()["values"]["messages"]
    assert sum(message["type"] == "tool" for message in final) == 1


WRONG = [
    None,
    "text",
    {"tool_results": []},
    {"tool_results": [{"tool_call_id": "other", "content": {"text": ""}}]},
    {"tool_results": [{"tool_call_id": "?", "content": {"lines": []}}]},
    {"tool_results": [{"tool_call_id": "?", "content": {"text": "x" * 300_000}}]},
    {"tool_results": [{"tool_call_id": "?", "error": {"code": "bored"}}]},
]


async def test_a_wrong_shape_is_refused_and_the_question_stays_answerable(server: Server) -> None:
    """T5: checked before the answer is taken; 50 MB do not even get in."""
    thread = await begin(server.http)
    made = thread.waiting["payload"]["tool_calls"][0]["id"]
    for wrong in WRONG:
        if isinstance(wrong, dict) and wrong["tool_results"] and wrong["tool_results"][0]["tool_call_id"] == "?":
            wrong = {"tool_results": [{**wrong["tool_results"][0], "tool_call_id": made}]}
        told = await thread.answer(wrong)
        assert (told.status_code, told.json()["type"]) == (422, "urn:stepwell:problem:answer-shape"), wrong
    assert (await thread.answer(thread.results("x" * 50_000_000))).status_code == 413
    assert len(await thread.listed()) == 1
    assert (await thread.answer(thread.results())).status_code == 200


async def test_an_answer_for_another_thread_is_refused(server: Server) -> None:
    one, other = await begin(server.http), await begin(server.http)
    assert (await one.answer(other.results(), other.question)).status_code == 409
    elsewhere = f"/threads/{one.thread_id}/interrupts/{other.question}/claim"
    assert (await server.http.post(elsewhere, json={"device_id": "left"})).status_code == 404
    assert [len(await thread.listed()) for thread in (one, other)] == [1, 1]


async def test_a_question_to_a_person_is_not_claimed(server: Server) -> None:
    """T3: and a wrong answer to it is refused."""
    thread = await begin(server.http, "ask")
    refused = await thread.claim()
    assert (refused.status_code, "answered by a person" in refused.json()["detail"]) == (422, True)
    for wrong in ({"selected": ["c"]}, {"selected": ["a", "b"]}, {"selected": []}, {"response": "a"}):
        told = await thread.answer(wrong)
        assert (told.status_code, "Send 'selected' with one of: a, b" in told.json()["detail"]) == (422, True), wrong
    done = await thread.answer({"selected": ["b"]})
    assert done.json()["messages"][-1]["content"] == "The user chose: b."


@pytest.mark.parametrize(
    "body", [{}, {"device_id": ""}, {"device_id": "a", "ttl_s": 601}, {"device_id": "a", "ttl_s": 0}, {"device_id": "x" * 201}]
)
async def test_a_claim_that_cannot_be_is_refused(server: Server, body: dict[str, Any]) -> None:
    place = f"/threads/{uuid.uuid4()}/interrupts/{'a' * 32}/claim"
    assert (await server.http.post(place, json=body)).status_code == 422


async def test_a_device_that_refuses_tells_the_agent_why(server: Server) -> None:
    thread = await begin(server.http, "write")
    assert thread.waiting["payload"]["requires_approval"] is True
    made = thread.waiting["payload"]["tool_calls"][0]
    assert made["args"] == {"title": "a.md", "content": "a", "file_type": "note", "path": "/a.md"}
    refused = {"tool_call_id": made["id"], "error": {"code": "rejected", "message": "not this one"}}
    done = await thread.answer({"tool_results": [refused]})
    assert "not this one" in done.json()["messages"][-1]["content"]


async def test_claims_survive_a_restart_and_late_answers_are_taken(tmp_path: Path) -> None:
    """No clock of the server answers for a device: after its deadline, and after a restart, the question is still open."""
    clock = Shifted()
    async with serve(tmp_path, graphs=GRAPHS, clock=clock) as server:
        thread = await begin(server.http)
        held = (await thread.claim(ttl_s=600)).json()
    clock.ahead = timedelta(seconds=300)
    async with serve(tmp_path, graphs=GRAPHS, clock=clock) as server:
        again = Thread(server.http, thread.thread_id, thread.waiting)
        (waiting,) = await again.listed()
        assert waiting["claim"]["device_id"] == "left"
        assert datetime.fromisoformat(waiting["deadline_at"]) < clock.now(), "it is late"
        assert (await again.answer(again.results())).status_code == 409
        clock.ahead = timedelta(seconds=700)
        assert (await again.listed())[0]["claim"] is None
        assert (await again.answer(again.results("late", claim_id=held["claim_id"]))).status_code == 200


class Shifted:
    """The machine's clock, moved ahead."""

    ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


async def test_another_user_finds_neither_the_interrupt_nor_its_claim(tmp_path: Path) -> None:
    async with serve(tmp_path, graphs=GRAPHS) as open_to_all:
        keys = [(await open_to_all.http.post("/api/keys", json={"user": name})).json()["key"] for name in ("anna", "bert")]
    async with serve(tmp_path, ServerSettings(always_ask=True), graphs=GRAPHS) as server:
        anna, bert = (httpx.AsyncClient(base_url=server.url, headers={"x-api-key": key}, timeout=60) for key in keys)
        async with anna, bert:
            thread = await begin(anna)
            held = (await thread.claim()).json()
            theirs = Thread(bert, thread.thread_id, thread.waiting)
            released = await bert.request("DELETE", thread.place, json={"claim_id": held["claim_id"]})
            answered = await theirs.answer(theirs.results(claim_id=held["claim_id"]))
            assert {(await theirs.claim()).status_code, released.status_code, answered.status_code} == {404}
            assert (await thread.listed())[0]["claim"]["device_id"] == "left"


async def test_the_schemas_of_all_operations_are_published(server: Server) -> None:
    schemas = (await server.http.get("/openapi.json")).json()["components"]["schemas"]
    named = {
        "FileRows",
        "FileText",
        "SearchHits",
        "LineMatches",
        "WrittenFile",
        "PatchedFile",
        "DeviceError",
        "ClientToolResults",
    }
    assert named <= set(schemas)
    assert schemas["FileText"]["properties"]["text"]["maxLength"] == 262_144
