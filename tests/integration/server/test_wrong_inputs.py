"""An input that the graph cannot take is refused with a sentence, and leaves the thread and its open question as they were."""

from __future__ import annotations

import operator
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx
import pytest
import pytest_asyncio
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel
from tests.integration.server.conftest import Server, serve
from typing_extensions import TypedDict

from stepwell import create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


@tool
def pay(whom: str) -> str:
    """Pay somebody."""
    return f"paid {whom}"


class Words(TypedDict, total=False):
    words: Annotated[list[Any], operator.add]


class Checked(BaseModel):
    count: int = 0


def ask(state: Any) -> dict[str, Any]:
    return {"words": [interrupt("Which?")]}


def count(state: Checked) -> dict[str, Any]:
    return {"count": interrupt("How many?")}


def fail(state: Words) -> dict[str, Any]:
    if state["words"][-1] == "fail":
        raise ValueError("as it was told")
    return ask(state)


failing = StateGraph(Words).add_node("fail", fail).add_edge(START, "fail").compile()
asking = StateGraph(Words).add_node("ask", ask).add_edge(START, "ask").compile()
checked = StateGraph(Checked).add_node("count", count).add_edge(START, "count").compile()
one_value = (
    StateGraph(Annotated[list[Any], operator.add]).add_node("one", lambda state: ["one"]).add_edge(START, "one").compile()
)  # type: ignore[type-var]


@entrypoint()
async def function(given: Any) -> Any:
    return {"given": given}


@asynccontextmanager
async def opened(config: dict[str, Any]) -> AsyncIterator[Any]:
    """A graph that is made for each run: nobody can look at it before."""
    yield asking


def _play(asked: Asked) -> Any:
    return say("Done.") if asked.messages[-1].type == "tool" else call("pay", whom="baker")


AGENT = create_deep_agent(ScriptedModel.answering(_play), [pay], interrupt_on={"pay": True})
GRAPHS = {
    "agent": AGENT,
    "asking": asking,
    "checked": checked,
    "one_value": one_value,
    "function": function,
    "opened": opened,
    "failing": failing,
}
MESSAGE = {"messages": [{"role": "user", "content": "Pay."}]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with serve(tmp_path_factory.mktemp("inputs"), graphs=GRAPHS) as running:
        yield running


async def wait(http: httpx.AsyncClient, graph: str, thread_id: str, **body: Any) -> httpx.Response:
    body = {"assistant_id": graph, "if_not_exists": "create", **body}
    return await http.post(f"/threads/{thread_id}/runs/wait", json=body)


async def standing(http: httpx.AsyncClient, thread_id: str) -> tuple[Any, ...]:
    """What a client can see of a thread that must not change."""
    thread = (await http.get(f"/threads/{thread_id}")).json()
    state = (await http.get(f"/threads/{thread_id}/state")).json()
    open_ids = [each["id"] for each in state["interrupts"]]
    return thread["status"], thread["interrupts"], thread.get("error"), state["values"], state["checkpoint"], open_ids


APPROVE = {"decisions": [{"type": "approve"}]}
STARTS = {
    "agent": (MESSAGE, APPROVE),
    "asking": ({"words": []}, "water"),
    "checked": ({"count": 1}, 2),
    "opened": ({"words": []}, "water"),
}


@pytest.mark.parametrize("graph", ["agent", "asking", "checked"])
@pytest.mark.parametrize("wrong", ["hi", 7, True, ["hi"], {"message": "hi"}, {"Messages": [], "text": "hi"}])
async def test_a_wrong_input_is_refused_and_the_question_stays_open(server: Server, graph: str, wrong: Any) -> None:
    thread_id, (right, answer) = str(uuid.uuid4()), STARTS[graph]
    (await wait(server.http, graph, thread_id, input=right)).raise_for_status()
    before = await standing(server.http, thread_id)
    for path in ("runs/wait", "runs/stream", "runs"):
        refused = await server.http.post(f"/threads/{thread_id}/{path}", json={"assistant_id": graph, "input": wrong})
        assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json"), refused.text
        field = {"agent": "messages", "asking": "words", "checked": "count"}[graph]
        assert f"'{graph}'" in refused.json()["detail"]
        assert field in refused.json()["detail"], "the sentence names what the graph takes"
    assert await standing(server.http, thread_id) == before
    assert len((await server.http.get(f"/threads/{thread_id}/runs")).json()) == 1
    (asked,) = before[-1]
    told = await wait(server.http, graph, thread_id, command={"resume": {asked: answer}})
    assert (told.status_code, "__error__" in told.json()) == (200, False), told.text


@pytest.mark.parametrize(
    ("graph", "wrong"),
    [
        ("opened", "hi"),
        ("opened", {"message": "hi"}),
        ("opened", {"words": 3}),
        ("asking", {"words": 3}),
        ("agent", {"messages": 3}),
        ("agent", {"messages": [{"role": "nobody"}]}),
        ("checked", {"count": "many"}),
    ],
)
async def test_a_run_that_fails_on_its_input_leaves_the_question_open(server: Server, graph: str, wrong: Any) -> None:
    """What only the graph itself can tell: the run fails, and nothing else changes."""
    thread_id, (right, answer) = str(uuid.uuid4()), STARTS[graph]
    (await wait(server.http, graph, thread_id, input=right)).raise_for_status()
    before = await standing(server.http, thread_id)
    failed = await wait(server.http, graph, thread_id, input=wrong)
    assert "__error__" in failed.json(), failed.text
    assert await standing(server.http, thread_id) == before
    runs = (await server.http.get(f"/threads/{thread_id}/runs")).json()
    assert sorted(run["status"] for run in runs) == ["error", "success"]
    (asked,) = before[-1]
    told = await wait(server.http, graph, thread_id, command={"resume": {asked: answer}})
    assert (told.status_code, "__error__" in told.json()) == (200, False), told.text


@pytest.mark.parametrize(
    ("graph", "given", "gives"),
    [
        ("function", "hi", {"given": "hi"}),
        ("function", {"message": "hi"}, {"given": {"message": "hi"}}),
        ("one_value", ["zero"], ["zero", "one"]),
    ],
)
async def test_a_graph_that_takes_anything_is_given_anything(server: Server, graph: str, given: Any, gives: Any) -> None:
    told = await wait(server.http, graph, str(uuid.uuid4()), input=given)
    assert (told.status_code, told.json()) == (200, gives), told.text


@pytest.mark.parametrize("given", [{}, {"words": [], "message": "hi"}])
async def test_unknown_fields_beside_known_ones_and_no_fields_are_taken(server: Server, given: Any) -> None:
    """As LangGraph does."""
    thread_id = str(uuid.uuid4())
    told = await wait(server.http, "asking", thread_id, input=given)
    assert (told.status_code, "__error__" in told.json()) == (200, False), told.text


async def test_a_stateless_run_with_unknown_fields_only_is_refused(server: Server) -> None:
    told = await server.http.post("/runs/wait", json={"assistant_id": "agent", "input": {"message": "hi"}})
    assert (told.status_code, "messages" in told.json()["detail"]) == (422, True), told.text


async def test_a_message_whose_first_step_fails_is_kept(server: Server) -> None:
    """The input was fine, so the thread has gone on to it."""
    thread_id = str(uuid.uuid4())
    (await wait(server.http, "failing", thread_id, input={"words": ["ask"]})).raise_for_status()
    assert "__error__" in (await wait(server.http, "failing", thread_id, input={"words": ["fail"]})).json()
    status, _, _, values, _, open_ids = await standing(server.http, thread_id)
    assert (status, values, open_ids) == ("error", {"words": ["ask", "fail"]}, [])


async def test_the_error_of_the_sdk_says_what_is_wrong(server: Server) -> None:
    with pytest.raises(Exception, match=r"takes an object with .*messages"):
        await server.client.runs.wait(None, "agent", input={"message": "hi"})
