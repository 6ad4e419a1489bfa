"""Answers over HTTP: a wrong one is refused and nothing is taken, a bare one is bound to the question it was meant for."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from tests.integration.runs.graphs import asking, asking_twice, paying, typed
from tests.integration.server.conftest import Server, serve

from stepwell.server.settings import ServerSettings

GRAPHS = {"asking": asking, "asking_twice": asking_twice, "paying": paying, "typed": typed}
APPROVE = {"decisions": [{"type": "approve"}]}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with serve(tmp_path_factory.mktemp("answers"), graphs=GRAPHS) as running:
        yield running


async def begin(http: httpx.AsyncClient, graph: str) -> tuple[str, str]:
    """A thread that waits, and its question."""
    thread_id = str(uuid.uuid4())
    body = {"assistant_id": graph, "input": {"words": []}, "if_not_exists": "create"}
    (await http.post(f"/threads/{thread_id}/runs/wait", json=body)).raise_for_status()
    return thread_id, (await questions(http, thread_id))[0]


async def questions(http: httpx.AsyncClient, thread_id: str) -> list[str]:
    state = (await http.get(f"/threads/{thread_id}/state")).json()
    return [interrupt["id"] for interrupt in state["interrupts"]]


async def answer(http: httpx.AsyncClient, graph: str, thread_id: str, resume: Any, **more: Any) -> httpx.Response:
    body = {"assistant_id": graph, "command": {"resume": resume}, **more}
    return await http.post(f"/threads/{thread_id}/runs/wait", json=body)


@pytest.mark.parametrize(
    ("graph", "wrong", "says"),
    [
        ("paying", True, "an object with a list of 'decisions'"),
        ("paying", "approve", "an object with a list of 'decisions'"),
        ("paying", {"decisions": []}, "number of decisions is 0"),
        ("paying", {"decisions": [{"type": "respond", "message": "x"}]}, "Allowed are: approve, edit, reject"),
        ("typed", {"amount": "five"}, "at 'amount'"),
        ("typed", 5, "does not fit the question's schema"),
    ],
)
async def test_a_wrong_answer_is_a_problem_and_the_question_stays_open(
    server: Server, graph: str, wrong: Any, says: str
) -> None:
    thread_id, question = await begin(server.http, graph)
    for resume in (wrong, {question: wrong}):
        refused = await answer(server.http, graph, thread_id, resume)
        assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
        problem = refused.json()
        assert (problem["type"], problem["interrupt_ids"]) == ("urn:stepwell:problem:answer-shape", [question])
        assert says in problem["detail"]
        assert question in problem["detail"]
    assert await questions(server.http, thread_id) == [question]
    runs = (await server.http.get(f"/threads/{thread_id}/runs")).json()
    assert len(runs) == 1, "no run was made for a refused answer"
    right = {"paying": APPROVE, "typed": {"amount": 5}}[graph]
    assert (await answer(server.http, graph, thread_id, {question: right})).status_code == 200


async def test_an_answer_to_an_unknown_question_is_refused_and_the_open_one_stays_open(server: Server) -> None:
    thread_id, question = await begin(server.http, "paying")
    for resume in ({"0" * 32: APPROVE}, {question: APPROVE, "0" * 32: APPROVE}):
        refused = await answer(server.http, "paying", thread_id, resume)
        assert (refused.status_code, refused.json()["interrupt_ids"]) == (409, [question])
        assert f"No question '{'0' * 32}' on this thread. Open questions: {question}." in refused.json()["detail"]
    assert await questions(server.http, thread_id) == [question]
    assert (await answer(server.http, "paying", thread_id, {question: APPROVE})).status_code == 200


async def test_a_second_click_after_the_next_question_pays_nobody_else(server: Server) -> None:
    """As pages send it: bare, with the checkpoint that they show."""
    thread_id, _ = await begin(server.http, "paying")
    shown = (await server.http.get(f"/threads/{thread_id}/state")).json()["checkpoint"]
    click = {"checkpoint": {key: shown[key] for key in ("checkpoint_id", "checkpoint_ns")}}
    assert (await answer(server.http, "paying", thread_id, APPROVE, **click)).status_code == 200
    next_question = await questions(server.http, thread_id)
    again = await answer(server.http, "paying", thread_id, APPROVE, **click)
    assert (again.status_code, again.json()["interrupt_ids"]) == (409, next_question)
    state = (await server.http.get(f"/threads/{thread_id}/state")).json()
    assert state["values"]["words"] == ["baker"]


async def test_a_script_answers_two_questions_of_one_node_at_once(server: Server) -> None:
    """Bare, with the plain SDK, one right after the other, whether it waits, follows the stream, or reads the state."""
    runs = server.client.runs

    async def stream(thread_id: str) -> None:
        async for _ in runs.stream(thread_id, "asking_twice", command={"resume": "yes"}):
            pass

    async def read_state(thread_id: str) -> None:
        started = await runs.create(thread_id, "asking_twice", command={"resume": "yes"})
        await server.services.persistence.queue.finished(started["run_id"], 60)
        await server.client.threads.get_state(thread_id)

    async def wait(thread_id: str) -> None:
        await runs.wait(thread_id, "asking_twice", command={"resume": "yes"})

    for hear_of_it in (wait, stream, read_state):
        thread_id, _ = await begin(server.http, "asking_twice")
        await hear_of_it(thread_id)
        ended: Any = await runs.wait(thread_id, "asking_twice", command={"resume": "yes"})
        assert ended["words"] == ["yes", "yes"], hear_of_it.__name__


async def test_a_repetition_does_not_answer_a_question_that_nobody_was_shown(server: Server) -> None:
    """Sent again because the first response was lost: by then the node asks the next question."""
    thread_id, _ = await begin(server.http, "asking_twice")
    body = {"assistant_id": "asking_twice", "command": {"resume": "yes"}}
    started = (await server.http.post(f"/threads/{thread_id}/runs", json=body)).json()
    assert await server.services.persistence.queue.finished(started["run_id"], 60) == "finished"
    again = await answer(server.http, "asking_twice", thread_id, "yes")
    assert (again.status_code, again.json()["type"]) == (409, "urn:stepwell:problem:resume")
    (waiting,) = again.json()["interrupt_ids"]
    assert await questions(server.http, thread_id) == [waiting]
    assert (await answer(server.http, "asking_twice", thread_id, "no")).json()["words"] == ["yes", "no"], "now it was shown"


async def test_bare_answers_can_be_switched_off(tmp_path: Path) -> None:
    settings = ServerSettings.load({"STEPWELL_BARE_ANSWERS": "refuse"})
    async with serve(tmp_path, settings, graphs=GRAPHS) as server:
        thread_id, question = await begin(server.http, "asking")
        refused = await answer(server.http, "asking", thread_id, "water")
        assert (refused.status_code, refused.json()["interrupt_ids"]) == (409, [question])
        assert (await answer(server.http, "asking", thread_id, {question: "water"})).json()["words"] == ["hello", "water"]


async def start(server: Server, thread_id: str, graph: str, given: Any, *, follow: bool = True) -> dict[str, Any]:
    body = {"id": 1, "method": "run.start", "params": {"assistant_id": graph, "input": given}}
    told: dict[str, Any] = (await server.http.post(f"/threads/{thread_id}/commands", json=body)).json()
    if follow and told["type"] == "success":
        await server.http.get(f"/threads/{thread_id}/runs/{told['result']['run_id']}/join")
    return told


@pytest.mark.parametrize("named", [False, True], ids=["bare", "by id"])
async def test_run_start_takes_what_the_graph_has_no_place_for_as_the_answer(server: Server, named: bool) -> None:
    """So `RemoteGraph` sends `Command(resume=...)` over thread streams."""
    thread_id, question = await begin(server.http, "paying")
    assert (await start(server, thread_id, "paying", {question: APPROVE} if named else APPROVE))["type"] == "success"
    state = (await server.http.get(f"/threads/{thread_id}/state")).json()
    assert state["values"]["words"] == ["baker"]


async def test_run_start_refuses_an_answer_that_may_be_meant_for_another_question(server: Server) -> None:
    thread_id, _ = await begin(server.http, "asking_twice")
    told = await start(server, thread_id, "asking_twice", "yes", follow=False)
    assert await server.services.persistence.queue.finished(told["result"]["run_id"], 60) == "finished"
    told = await start(server, thread_id, "asking_twice", "yes")
    assert (told["type"], told["error"]) == ("error", "no_such_interrupt")
    assert (await questions(server.http, thread_id))[0] in told["message"]


async def test_run_start_refuses_an_answer_of_the_wrong_shape(server: Server) -> None:
    thread_id, question = await begin(server.http, "paying")
    told = await start(server, thread_id, "paying", "yes")
    assert (told["type"], told["error"]) == ("error", "invalid_argument")
    assert "decisions" in told["message"]
    assert await questions(server.http, thread_id) == [question]


async def test_run_start_with_an_input_is_still_a_new_message(server: Server) -> None:
    thread_id, _ = await begin(server.http, "asking")
    assert (await start(server, thread_id, "asking", {"words": ["new"]}))["type"] == "success"
    state = (await server.http.get(f"/threads/{thread_id}/state")).json()
    assert state["values"]["words"] == ["hello", "new", "hello"]


async def test_a_remote_graph_answers_over_a_thread_stream(server: Server) -> None:
    thread_id, _ = await begin(server.http, "asking")
    remote = RemoteGraph("asking", client=server.client)
    config: Any = {"configurable": {"thread_id": thread_id}}
    async with await remote.astream_events(Command(resume="yes"), config, version="v3") as run:
        assert await run.output() == {"words": ["hello", "yes"]}
