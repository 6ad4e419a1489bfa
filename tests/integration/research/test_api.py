"""`/api/research` over HTTP (mission R7, R11, R12, R14), over a small graph with the state and the questions of the real one."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.research.stand_in import stand_in
from tests.integration.research.talking import approve, ask, read, refused, serving, shape
from tests.integration.server.auth.test_auth_server import add_key

RESEARCH = {"research": stand_in()}


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(tmp_path, RESEARCH) as client:
        yield client


BEFORE = [
    ("start", "_start", "started"),
    ("research", "thinker", "thinking"),
    ("research", "auditor", "awaiting_approval"),
    ("research", "hitl_gate", "awaiting_approval"),
    ("hitl_waiting", "hitl_gate", "awaiting_approval"),
]
AFTER = [
    ("start", "_start", "started"),
    ("research", "hitl_gate", "executing"),
    ("research", "tool_executor", "synthesizing"),
    ("research", "source_review", None),
    ("research", "synthesizer", "complete"),
]


async def test_a_question_is_planned_approved_and_answered(http: httpx.AsyncClient) -> None:
    """Mission R11: events, nodes and statuses."""
    asked = await ask(http, retrievedContext="notes", contextUrls=["https://a.example/x"])
    assert shape(asked) == BEFORE
    waiting = asked[-1]
    assert waiting.state["plan"]["objective"] == "Why wells?"
    assert waiting.state["auditResult"]["policyViolations"] == []
    assert waiting.state["estimate"]["requests"] == 1
    assert waiting.state["rules"] == {"P1": "Be kind."}
    went_on = await approve(http, waiting, decision="approve", interruptId=waiting.state["interruptId"])
    assert shape(went_on) == AFTER
    assert went_on[0].state["plan"] == waiting.state["plan"], "the start carries what is known by then"
    assert [each["node"] for each in went_on[0].state["reasoning"]] == ["thinker"]
    assert went_on[-1].state["finalReport"] == "Why wells? | notes | https://a.example/x"


@pytest.mark.parametrize("answer", [{"approved": True}, {"decision": "approve"}])
async def test_an_answer_needs_no_interrupt_id(http: httpx.AsyncClient, answer: dict[str, Any]) -> None:
    waiting = (await ask(http))[-1]
    assert shape(await approve(http, waiting, **answer)) == AFTER


async def test_an_answer_may_come_as_soon_as_the_question_is_seen(http: httpx.AsyncClient) -> None:
    """The run that asks has not ended yet then."""
    async with http.stream("POST", "/api/research", json={"query": "Why?"}) as response:
        text = ""
        async for piece in response.aiter_text():
            text += piece
            if "hitl_waiting" in text and text.endswith("\n\n"):
                break
    went_on = await approve(http, read(text)[-1], decision="approve")
    assert went_on[-1].state["status"] == "complete"


async def test_a_question_and_its_answer_are_taken_once_for_each_key(http: httpx.AsyncClient) -> None:
    async def send(path: str, key: dict[str, str], body: dict[str, Any]) -> httpx.Response:
        return await http.post(path, json=body, headers=key)

    async def check(path: str, body: dict[str, Any], other: dict[str, Any]) -> str:
        key = {"Idempotency-Key": str(uuid.uuid4())}
        first, again = await send(path, key, body), await send(path, key, body)
        assert (first.status_code, first.content, first.headers["location"]) == (200, again.content, again.headers["location"])
        refused = await send(path, key, other)
        assert (refused.status_code, "another request" in refused.json()["detail"]) == (422, True)
        return str(read(first.text)[-1].state["threadId"])

    thread_id = await check("/api/research", {"query": "Why wells?"}, {"query": "Why cisterns?"})
    reject = {"threadId": thread_id, "decision": "reject", "reason": "too wide"}
    await check("/api/research/approve", reject, {"threadId": thread_id, "decision": "approve"})
    assert len((await http.get(f"/threads/{thread_id}/runs")).json()) == 2, "a question, and one answer to its plan"


async def test_a_plan_can_be_edited(http: httpx.AsyncClient) -> None:
    """Mission R7."""
    waiting = (await ask(http))[-1]
    plan = {**waiting.state["plan"], "objective": "Why cisterns?"}
    assert (await approve(http, waiting, decision="edit", plan=plan))[-1].state["finalReport"].startswith("Why cisterns?")


async def test_a_rejected_plan_is_made_anew_or_given_up(http: httpx.AsyncClient) -> None:
    """Mission R7."""
    waiting = (await ask(http))[-1]
    again = await approve(http, waiting, decision="reject", reason="too wide")
    assert again[1].state["rejectionReason"] == "too wide"
    assert [each.node for each in again[1:]] == ["hitl_gate", "thinker", "auditor", "hitl_gate", "hitl_gate"]
    assert again[-1].state["interruptId"] != waiting.state["interruptId"]
    given_up = await approve(http, again[-1], decision="reject", stop=True)
    assert shape(given_up)[-1] == ("error", "_error", "failed")
    assert given_up[-1].state["errorMessage"] == "The plan was rejected."


async def test_sources_are_reviewed_one_by_one(http: httpx.AsyncClient) -> None:
    waiting = (await ask(http, reviewSources=True))[-1]
    review = (await approve(http, waiting, decision="approve"))[-1]
    assert (review.name, review.node, review.state["interruptType"]) == ("hitl_waiting", "source_review", "source_review")
    assert [source["id"] for source in review.state["sources"]] == ["s1", "s2"]
    body = {"threadId": waiting.state["threadId"], "decision": "approve"}
    assert "source_review" in await refused(http, 409, "/api/research/approve", body)
    assert (await approve(http, review, admit=["s1"], deny=["s2"]))[-1].state["finalReport"].endswith("| s2")


@pytest.mark.parametrize("named", [True, False])
async def test_the_same_answer_again_rejoins_and_another_is_refused(http: httpx.AsyncClient, named: bool) -> None:
    waiting = (await ask(http))[-1]
    which = {"interruptId": waiting.state["interruptId"]} if named else {}
    first = await approve(http, waiting, decision="approve", **which)
    assert await approve(http, waiting, approved=True, **which) == first
    body = {"threadId": waiting.state["threadId"], "decision": "reject", **which}
    assert "another answer" in await refused(http, 409, "/api/research/approve", body)


async def test_nothing_to_approve_is_a_conflict(http: httpx.AsyncClient) -> None:
    failed = (await ask(http, "refuse"))[0]
    body = {"threadId": failed.state["threadId"], "decision": "approve"}
    assert "no question is open" in await refused(http, 409, "/api/research/approve", body)
    empty = (await http.post("/threads", json={})).json()["thread_id"]
    assert "has no open interrupt" in await refused(http, 409, "/api/research/approve", {**body, "threadId": empty})
    assert "No thread" in await refused(http, 404, "/api/research/approve", {**body, "threadId": str(uuid.uuid4())})


async def test_a_failure_is_told_with_its_sentence(http: httpx.AsyncClient) -> None:
    raised = await ask(http, "break")
    assert shape(raised) == [("start", "_start", "started"), ("error", "_error", "failed")]
    assert raised[-1].state["errorMessage"] == "the thinker fell over"
    refusing = await ask(http, "refuse")
    assert shape(refusing)[1:] == [("research", "thinker", "failed"), ("error", "_error", "failed")]
    assert refusing[-1].state["errorMessage"] == "No plan was found."


async def test_the_run_goes_on_without_its_client_and_is_told_again(http: httpx.AsyncClient) -> None:
    waiting = (await ask(http, "slow"))[-1]
    thread_id = waiting.state["threadId"]
    async with http.stream("POST", "/api/research/approve", json={"threadId": thread_id, "decision": "approve"}) as response:
        assert response.headers["location"] == f"/api/research/{thread_id}/stream"
        await anext(response.aiter_raw())
    whole = read((await http.get(f"/api/research/{thread_id}/stream")).text)
    assert shape(whole) == BEFORE + AFTER


async def test_a_client_that_comes_back_misses_nothing_and_sees_nothing_twice(http: httpx.AsyncClient) -> None:
    waiting = (await ask(http))[-1]
    await approve(http, waiting, decision="approve")
    place = f"/api/research/{waiting.state['threadId']}/stream"
    whole = read((await http.get(place)).text)
    for seen in (number for number, each in enumerate(whole, 1) if each.id is not None):
        rest = await http.get(place, headers={"Last-Event-ID": str(whole[seen - 1].id)})
        assert read(rest.text) == whole[seen:]
    # The two messages of one event come back together: only the second bears its number.
    assert [each.id is None for each in whole] == [each == BEFORE[3] for each in shape(whole)]


async def test_a_new_question_stops_the_one_under_way(http: httpx.AsyncClient) -> None:
    """Mission R12."""
    waiting = (await ask(http, "very slow"))[-1]
    thread_id = waiting.state["threadId"]
    stopped = asyncio.create_task(approve(http, waiting, decision="approve"))
    async with asyncio.timeout(60):
        while (await http.get(f"/threads/{thread_id}")).json()["status"] != "busy":  # noqa: ASYNC110 - another process would poll too
            await asyncio.sleep(0.02)
    assert shape(await ask(http, "Why else?", threadId=thread_id)) == BEFORE
    assert "stopped" in (await stopped)[-1].state["errorMessage"]
    told = read((await http.get(f"/api/research/{thread_id}/stream")).text)
    assert told[-1].state["plan"]["objective"] == "Why else?"


async def test_a_second_question_does_not_inherit_the_first_ones_knowledge(http: httpx.AsyncClient) -> None:
    waiting = (await ask(http, retrievedContext="secret notes", contextUrls=["https://a.example/"]))[-1]
    await ask(http, "Why else?", threadId=waiting.state["threadId"])
    report = (await approve(http, waiting, decision="approve"))[-1].state["finalReport"]
    assert report == "Why else? | "


async def test_an_answer_is_taken_after_a_restart(tmp_path: Path) -> None:
    """Mission R7, R14: SQLite keeps what waits, and what was said."""
    async with serving(tmp_path, RESEARCH) as http:
        asked = await ask(http)
    async with serving(tmp_path, RESEARCH) as http:
        told = read((await http.get(f"/api/research/{asked[-1].state['threadId']}/stream")).text)
        assert told == asked
        assert shape(await approve(http, asked[-1], decision="approve")) == AFTER


async def test_a_run_that_a_restart_cut_off_is_followed_to_its_end(tmp_path: Path) -> None:
    async with serving(tmp_path, RESEARCH) as http:
        waiting = (await ask(http, "slow"))[-1]
        body = {"threadId": waiting.state["threadId"], "decision": "approve"}
        async with http.stream("POST", "/api/research/approve", json=body) as response:
            text = ""
            async for piece in response.aiter_text():
                text += piece
                if "executing" in text and text.endswith("\n\n"):
                    break
        seen = read(text)
    async with serving(tmp_path, RESEARCH) as http:
        place = f"/api/research/{waiting.state['threadId']}/stream"
        rest = read((await http.get(place, headers={"Last-Event-ID": str(seen[-1].id)})).text)
    assert rest[0].name == "start"
    assert rest[0].state["humanApproved"] is True
    assert shape(rest)[1:] == AFTER[2:]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "query"),
        ({"query": "  "}, "is empty"),
        ({"query": "x" * 4001}, "the limit is 4000"),
        ({"query": 3}, "query"),
        ({"query": "Why?", "retrievedContext": "x" * 200_001}, "retrievedContext"),
        ({"query": "Why?", "contextUrls": ["https://a.example/"] * 51}, "contextUrls"),
        ({"query": "Why?", "contextUrls": ["https://a.example/" + "x" * 2048]}, "contextUrls.0"),
        ({"query": "Why?", "contextUrls": ["file:///etc/hosts"]}, "not the address of a web page"),
        ({"query": "Why?", "threadId": "mine"}, "UUID"),
        ({"query": "Why?", "maxPlanRevisions": 0}, "maxPlanRevisions"),
    ],
)
async def test_a_question_that_cannot_be_asked_is_refused(http: httpx.AsyncClient, body: Any, word: str) -> None:
    assert word in await refused(http, 422, "/api/research", body)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "The answer is empty"),
        ({"decision": "perhaps"}, "decision"),
        ({"decision": "edit", "plan": {"objective": "x", "steps": []}}, "plan.steps"),
        ({"decision": "approve", "interruptId": "x"}, "interruptId"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_refused(http: httpx.AsyncClient, body: Any, word: str) -> None:
    waiting = (await ask(http))[-1]
    assert word in await refused(http, 422, "/api/research/approve", {"threadId": waiting.state["threadId"], **body})
    assert shape(await approve(http, waiting, decision="approve")) == AFTER


async def test_without_the_graph_the_routes_are_not_there(tmp_path: Path) -> None:
    async with serving(tmp_path, {"other": stand_in()}) as http:
        assert "does not serve it" in await refused(http, 404, "/api/research", {"query": "Why?"})
        body = {"threadId": str(uuid.uuid4()), "decision": "approve"}
        assert "does not serve it" in await refused(http, 404, "/api/research/approve", body)
        response = await http.get(f"/api/research/{uuid.uuid4()}/stream")
        assert (response.status_code, response.headers["content-type"]) == (404, "application/problem+json")


async def test_a_thread_of_another_graph_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, {**RESEARCH, "other": stand_in()}) as http:
        thread_id = (await http.post("/threads", json={})).json()["thread_id"]
        order = {"assistant_id": "other", "input": {"user_query": "refuse"}}
        await http.post(f"/threads/{thread_id}/runs/wait", json=order)
        assert "'other'" in await refused(http, 422, "/api/research", {"query": "Why?", "threadId": thread_id})
        assert (await http.get(f"/api/research/{thread_id}/stream")).status_code == 404


async def test_a_research_begun_by_another_client_can_be_followed_and_answered(http: httpx.AsyncClient) -> None:
    thread_id = (await http.post("/threads", json={})).json()["thread_id"]
    order = {"assistant_id": "research", "input": {"user_query": "Why?"}, "stream_mode": ["values", "updates"]}
    await http.post(f"/threads/{thread_id}/runs/wait", json=order)
    told = read((await http.get(f"/api/research/{thread_id}/stream")).text)
    assert shape(told) == BEFORE
    assert shape(await approve(http, told[-1], decision="approve")) == AFTER


async def test_openapi_documents_the_routes(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    for path, method in (
        ("/api/research", "post"),
        ("/api/research/approve", "post"),
        ("/api/research/{threadId}/stream", "get"),
    ):
        operation = document["paths"][path][method]
        assert "text/event-stream" in operation["responses"]["200"]["content"]
        assert {"401", "403", "404", "422", "429", "503"} <= set(operation["responses"])
    assert "409" in document["paths"]["/api/research/approve"]["post"]["responses"]
    fields = document["components"]["schemas"]["ResearchQuestion"]["properties"]
    named = {"query", "retrievedContext", "contextUrls", "threadId", "maxPlanRevisions", "reviewSources", "snippets"}
    assert named | {"onlyDocuments", "outline"} == set(fields)
    [place] = [
        each for each in document["paths"]["/api/research/{threadId}/stream"]["get"]["parameters"] if each["in"] == "path"
    ]
    assert place["schema"]["format"] == "uuid"


async def test_nobody_sees_or_answers_anothers_research(tmp_path: Path) -> None:
    anna, bert = [(await add_key(tmp_path, user)).text for user in ("anna", "bert")]
    async with serving(tmp_path, RESEARCH, always_ask=True) as http:
        assert (await http.post("/api/research", json={"query": "Why?"})).status_code == 401
        http.headers["x-api-key"] = anna
        waiting = (await ask(http))[-1]
        thread_id = waiting.state["threadId"]
        http.headers["x-api-key"] = bert
        body = {"threadId": thread_id, "decision": "approve", "interruptId": waiting.state["interruptId"]}
        await refused(http, 404, "/api/research/approve", body)
        await refused(http, 404, "/api/research", {"query": "Why?", "threadId": thread_id})
        assert (await http.get(f"/api/research/{thread_id}/stream")).status_code == 404
        http.headers["x-api-key"] = anna
        assert shape(await approve(http, waiting, decision="approve")) == AFTER
