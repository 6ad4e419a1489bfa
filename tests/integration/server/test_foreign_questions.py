"""A graph that is not ours may ask anything with an interrupt, also in words that we use ourselves, and takes any JSON for an answer."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
import pytest_asyncio
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from tests.integration.server.conftest import Server, serve
from typing_extensions import TypedDict

from stepwell import create_deep_agent
from stepwell.testing import ScriptedModel, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Asked(TypedDict, total=False):
    question: Any
    schema: Any
    answers: Annotated[list[Any], list.__add__]


def ask(state: Asked) -> Asked:
    return {"answers": [interrupt(state["question"], response_schema=state.get("schema"))]}


@tool
def pay(whom: str) -> str:
    """Pay somebody."""
    return f"paid {whom}"


def _script() -> ScriptedModel:
    return ScriptedModel([call("pay", whom="baker"), say("Done.")])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    asks = StateGraph(Asked).add_node("ask", ask).add_edge(START, "ask").compile()
    foreign = create_agent(_script(), [pay], middleware=[HumanInTheLoopMiddleware({"pay": True})])
    graphs = {"asks": asks, "langchain": foreign, "ours": create_deep_agent(_script(), [pay], interrupt_on={"pay": True})}
    async with serve(tmp_path_factory.mktemp("foreign"), graphs=graphs) as running:
        yield running


async def begin(server: Server, graph: str, given: Any) -> tuple[str, str]:
    """A thread that waits, and its question."""
    thread_id = str(uuid.uuid4())
    body = {"assistant_id": graph, "input": given, "if_not_exists": "create"}
    (await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)).raise_for_status()
    state = (await server.http.get(f"/threads/{thread_id}/state")).json()
    return thread_id, state["interrupts"][0]["id"]


DEVICE = {"type": "client_tool_execution", "tool_calls": [{"id": "1", "name": "scan", "args": {}}]}


@pytest.mark.parametrize("named", [False, True], ids=["bare", "by id"])
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ({"type": "source_review"}, "all"),
        ({"type": "source_review", "sources": [{"name": "a"}]}, {"keep": ["a"]}),
        ({"type": "plan_approval", "plan": {"objective": "x"}}, "yes"),
        ({"type": "search_retry"}, 1),
        ({"type": "clarification_request", "question": "How many?"}, 3),
        ({"type": "clarification_request", "question": "Which?", "options": ["a", "b"]}, "a"),
        ({"type": "payment_exhausted"}, {"paid": True}),
        (DEVICE, {"scanned": "by hand"}),
        ({"action_requests": [{"name": "pay"}]}, "go"),
        ({"action_requests": "not even a list"}, False),
        ({"type": ["not", "a", "text"]}, {"any": None}),
        ("how many?", 0),
        (None, []),
    ],
)
async def test_a_foreign_question_takes_any_answer(server: Server, question: Any, answer: Any, named: bool) -> None:
    thread_id, asked = await begin(server, "asks", {"question": question})
    body = {"assistant_id": "asks", "command": {"resume": {asked: answer} if named else answer}}
    told = await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert (told.status_code, told.json().get("answers")) == (200, [answer]), told.text


@pytest.mark.parametrize(
    "answer", [True, "yes", {"decisions": [{"type": "approve"}]}, {"admit": ["a"]}, {"tool_results": [{}]}]
)
@pytest.mark.parametrize(
    "question",
    [
        {"action_requests": [{}]},
        {"action_requests": ["pay"]},
        {"action_requests": [{"name": ["pay"]}]},
        {"action_requests": [{"name": "pay"}], "review_configs": 7},
        {"action_requests": [{"name": "pay"}], "review_configs": [{"action_name": "pay", "allowed_decisions": 7}]},
        {"type": "action_requests"},
        {"type": "source_review"},
        {"type": "source_review", "sources": [{"id": None}]},
        {"type": "source_review", "sources": [{"id": "a"}, {"id": "b"}]},
        {"type": "client_tool_execution", "tool_calls": [7, {"id": ["1"], "name": {}}]},
        {"type": "clarification_request", "options": [{"id": {}}], "allow_multiple": []},
    ],
)
async def test_a_malformed_question_under_our_mark_is_answered_or_refused_with_a_sentence(
    server: Server, question: Any, answer: Any
) -> None:
    """A mark is only a word in a schema: any graph can write it on any question."""
    schema = {"x-stepwell-answer": question.get("type", "action_requests")}
    thread_id, asked = await begin(server, "asks", {"question": question, "schema": schema})
    body = {"assistant_id": "asks", "command": {"resume": {asked: answer}}}
    told = await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert told.status_code in (200, 422), told.text
    if told.status_code == 422:
        assert "still open" in told.json()["detail"]


@pytest.mark.parametrize("mark", [None, 7, [], {"a": 1}, "", "unknown"])
async def test_a_malformed_mark_is_not_ours(server: Server, mark: Any) -> None:
    question = {"type": "plan_approval"}
    thread_id, asked = await begin(server, "asks", {"question": question, "schema": {"x-stepwell-answer": mark}})
    body = {"assistant_id": "asks", "command": {"resume": {asked: "any"}}}
    told = await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert (told.status_code, told.json().get("answers")) == (200, ["any"]), told.text


async def test_a_foreign_answer_keeps_a_field_that_our_devices_use(server: Server) -> None:
    thread_id, asked = await begin(server, "asks", {"question": {"type": "client_tool_execution"}})
    answer = {"claim_id": "7", "done": True}
    body = {"assistant_id": "asks", "command": {"resume": {asked: answer}}}
    told = await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert told.json()["answers"] == [answer]


async def test_langchains_own_approvals_take_what_langchain_takes(server: Server) -> None:
    """More fields beside the decisions, and decisions with more fields than ours."""
    thread_id, asked = await begin(server, "langchain", {"messages": [{"role": "user", "content": "Pay."}]})
    answer = {"decisions": [{"type": "reject", "message": ["no", "money"]}], "by": "me"}
    body = {"assistant_id": "langchain", "command": {"resume": {asked: answer}}}
    told = await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert (told.status_code, "__error__" in told.json()) == (200, False), told.text


async def test_the_same_approval_in_our_stack_is_checked(server: Server) -> None:
    thread_id, asked = await begin(server, "ours", {"messages": [{"role": "user", "content": "Pay."}]})
    for wrong in ("go", {"decisions": []}):
        body = {"assistant_id": "ours", "command": {"resume": {asked: wrong}}}
        told = await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
        assert (told.status_code, told.json()["type"]) == (422, "urn:stepwell:problem:answer-shape"), told.text
    body = {"assistant_id": "ours", "command": {"resume": {asked: {"decisions": [{"type": "approve"}]}}}}
    assert (await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)).status_code == 200
