"""Thread streams on the wire: what is sent for which subscription, coming back, answers, refusals, and whose threads they are."""

from __future__ import annotations

import asyncio
import json
import operator
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

import httpx
import pytest
import pytest_asyncio
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from tests.integration.server.auth.test_auth_server import Asking, asking
from tests.integration.server.conftest import Server, serve

from stepwell.server.protocol.following import find_beginning
from stepwell.server.protocol.subscription import Subscription
from stepwell.testing import ScriptedModel, raw, slow

__all__ = ["asking"]  # a fixture: pytest finds it by its name here

ALL = ["values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"]
ENDS = ("completed", "failed", "interrupted")
JSON = {"content-type": "application/json"}

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Talk(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], operator.add]


def _graph(*edges: tuple[str, str], **nodes: Any) -> Any:
    builder = StateGraph(Talk)
    for name, node in nodes.items():
        builder.add_node(name, node)
    for before, after in edges:
        builder.add_edge(before, after)
    return builder.compile()


async def talk(state: Talk) -> Talk:
    """Twenty words, and a call of a tool that nobody makes."""
    words = " ".join(f"w{n}" for n in range(20))
    message = AIMessage(words, id=str(uuid.uuid4()), tool_calls=[{"name": "look", "args": {"at": "x" * 40}, "id": "c1"}])
    return {"messages": [await ScriptedModel([slow(raw(message), seconds_per_chunk=0.001)]).ainvoke("x")]}


async def both(state: Talk) -> Talk:
    """Two answers at the same time, from one node."""
    said = [slow(raw(AIMessage(f"{who} one two three", id=str(uuid.uuid4()))), seconds_per_chunk=0.003) for who in "ab"]
    return {"messages": list(await asyncio.gather(*(ScriptedModel([each]).ainvoke("x") for each in said)))}


def whole(state: Talk) -> Talk:
    return {"messages": [AIMessage("said at once", id="m1")]}


async def at_once(state: Talk) -> Talk:
    """The answer of a model that does not stream."""
    model = FakeMessagesListChatModel(responses=[AIMessage("said at once", id="m1")], disable_streaming=True)
    return {"messages": [await model.ainvoke("x")]}


def name_it(state: Talk) -> Talk:
    write = get_stream_writer()
    write({"name": "progress", "payload": {"done": 1}})
    write("plain")
    return {"log": ["named"]}


def ask(state: Talk) -> Talk:
    return {"log": [f"left {interrupt('left?')}"]}


def ask_too(state: Talk) -> Talk:
    return {"log": [f"right {interrupt('right?')}"]}


def fall(state: Talk) -> Talk:
    raise ValueError("it fell")


INNER = _graph((START, "talk"), talk=talk)
OUTER = _graph((START, "inner"), inner=INNER)
GRAPHS = {
    "nested": _graph((START, "name_it"), ("name_it", "outer"), ("outer", "talk"), name_it=name_it, outer=OUTER, talk=talk),
    "both": _graph((START, "both"), both=both),
    "whole": _graph((START, "whole"), whole=whole),
    "at_once": _graph((START, "at_once"), at_once=at_once),
    "asks": _graph((START, "ask"), (START, "ask_too"), ask=ask, ask_too=ask_too),
    "falls": _graph((START, "fall"), fall=fall),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def talking(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with serve(tmp_path_factory.mktemp("talking"), graphs=GRAPHS) as running:
        yield running


async def send(http: httpx.AsyncClient, thread_id: str, method: str, **params: Any) -> dict[str, Any]:
    response = await http.post(f"/threads/{thread_id}/commands", json={"id": 7, "method": method, "params": params})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    assert answer["id"] == 7
    return answer


async def start(http: httpx.AsyncClient, graph: str, thread_id: str | None = None) -> str:
    thread_id = thread_id or str(uuid.uuid4())
    answer = await send(http, thread_id, "run.start", assistant_id=graph, input={"log": []})
    assert answer["type"] == "success", answer
    return thread_id


async def events(http: httpx.AsyncClient, thread_id: str, **body: Any) -> AsyncIterator[dict[str, Any]]:
    async with http.stream("POST", f"/threads/{thread_id}/stream/events", json={"channels": ALL, **body}) as response:
        assert response.status_code == 200, await response.aread()
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


async def told(http: httpx.AsyncClient, thread_id: str, *, runs: int = 1, **body: Any) -> list[dict[str, Any]]:
    """Everything up to the end of so many runs. The subscription must bring the lifecycle of the root."""
    found = []
    async with asyncio.timeout(60), aclosing(events(http, thread_id, **body)) as stream:  # type: ignore[type-var]
        async for event in stream:
            found.append(event)
            runs -= is_end(event)
            if runs == 0:
                break
    return found


def is_end(event: dict[str, Any]) -> bool:
    params = event["params"]
    return event["method"] == "lifecycle" and params["namespace"] == [] and params["data"]["event"] in ENDS


def data_of(found: list[dict[str, Any]], method: str) -> list[Any]:
    return [event["params"]["data"] for event in found if event["method"] == method]


async def test_a_thread_is_made_by_its_first_run_and_the_answer_says_where_it_begins(talking: Server) -> None:
    thread_id = str(uuid.uuid4())
    missing = await talking.http.post(f"/threads/{thread_id}/stream/events", json={"channels": ["values"]})
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")
    first = await send(talking.http, thread_id, "run.start", assistant_id="whole", input={})
    assert first["meta"] == {"applied_through_seq": 0}
    last = (await told(talking.http, thread_id))[-1]["seq"]
    second = await send(talking.http, thread_id, "run.start", assistant_id="whole", input={})
    assert second["meta"] == {"applied_through_seq": last}
    assert (await told(talking.http, thread_id, since=last))[0]["params"]["data"]["run_id"] == second["result"]["run_id"]


async def test_coming_back_at_any_place_gives_no_gap_and_no_second_copy(talking: Server) -> None:
    thread_id = await start(talking.http, "nested")
    everything = await told(talking.http, thread_id, since=0)
    assert len(everything) > 60
    assert len({event["event_id"] for event in everything}) == len(everything)
    assert [event["seq"] for event in everything] == sorted(event["seq"] for event in everything)
    plain = [_without_time(event) for event in everything]
    for place, event in enumerate(everything[:-1]):
        again = await told(talking.http, thread_id, since=event["seq"])
        assert [_without_time(each) for each in again] == plain[place + 1 :]


def _without_time(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "params": {**event["params"], "timestamp": None}}


async def test_channels_namespaces_and_depth_choose(talking: Server) -> None:
    thread_id = await start(talking.http, "nested")
    everything = await told(talking.http, thread_id)
    where = {tuple(event["params"]["namespace"]) for event in everything}
    outer = next(path[0] for path in where if len(path) == 1)
    assert max(map(len, where)) == 2

    async def chosen(**body: Any) -> set[tuple[str, ...]]:
        found = await told(talking.http, thread_id, **body)
        return {tuple(event["params"]["namespace"]) for event in found if event["method"] == "messages"}

    wanted = ["messages", "lifecycle"]
    assert {len(path) for path in await chosen(channels=wanted)} == {0, 2}
    assert await chosen(channels=wanted, namespaces=[[]], depth=0) == {()}
    assert {len(path) for path in await chosen(channels=wanted, namespaces=[[]], depth=1)} == {0}
    assert {len(path) for path in await chosen(channels=wanted, namespaces=[[]], depth=2)} == {0, 2}
    # The root's lifecycle is not in a subgraph's namespace: read until the subgraph's own end.
    for prefix in (["outer"], [outer], ["outer", "inner"]):
        found = [
            event
            async for event in _until_ended(talking.http, thread_id, channels=wanted, namespaces=[prefix])
            if event["method"] == "messages"
        ]
        assert {event["params"]["namespace"][0] for event in found} == {outer}
    named = await told(talking.http, thread_id, channels=["custom:progress", "lifecycle"])
    assert data_of(named, "custom") == [{"name": "progress", "payload": {"done": 1}}]
    assert data_of(everything, "custom") == [{"name": "progress", "payload": {"done": 1}}, {"payload": "plain"}]


async def _until_ended(http: httpx.AsyncClient, thread_id: str, **body: Any) -> AsyncIterator[dict[str, Any]]:
    async with asyncio.timeout(60), aclosing(events(http, thread_id, **body)) as stream:  # type: ignore[type-var]
        async for event in stream:
            yield event
            if event["method"] == "lifecycle" and event["params"]["data"]["event"] == "completed":
                return


async def test_a_message_is_told_in_blocks_that_add_up(talking: Server) -> None:
    thread_id = await start(talking.http, "nested")
    found = data_of(await told(talking.http, thread_id, namespaces=[[]], depth=0), "messages")
    assert (found[0]["event"], found[0]["metadata"]["langgraph_node"], found[-1]["event"]) == (
        "message-start",
        "talk",
        "message-finish",
    )
    text = "".join(each["delta"]["text"] for each in found if each.get("delta", {}).get("type") == "text-delta")
    args = "".join(each["delta"]["args"] for each in found if each.get("delta", {}).get("type") == "tool-call-delta")
    finished = [each["content"] for each in found if each["event"] == "content-block-finish"]
    assert text == finished[0]["text"] == " ".join(f"w{n}" for n in range(20))
    assert json.loads(args) == finished[1]["args"] == {"at": "x" * 40}
    assert (finished[1]["type"], finished[1]["id"], finished[1]["name"]) == ("tool_call", "c1", "look")


async def test_messages_of_the_same_moment_are_told_apart(talking: Server) -> None:
    found = data_of(await told(talking.http, await start(talking.http, "both")), "messages")
    texts: dict[str, str] = {}
    for each in found:
        texts[each["message_id"]] = texts.get(each["message_id"], "") + each.get("delta", {}).get("text", "")
    assert sorted(texts.values()) == ["a one two three", "b one two three"]
    order = [each["message_id"] for each in found]
    assert order != sorted(order, key=order.index), "they were written at the same time"


async def test_a_message_that_a_node_merely_returns_is_in_the_values_only(talking: Server) -> None:
    events = await told(talking.http, await start(talking.http, "whole"))
    assert data_of(events, "messages") == []
    assert data_of(events, "values")[-1]["messages"][0]["content"] == "said at once"


async def test_a_models_message_that_comes_whole_has_its_blocks_too(talking: Server) -> None:
    found = data_of(await told(talking.http, await start(talking.http, "at_once")), "messages")
    assert [each["event"] for each in found] == [
        "message-start",
        "content-block-start",
        "content-block-delta",
        "content-block-finish",
        "message-finish",
    ]


async def test_two_questions_are_answered_together_or_one_by_one(talking: Server) -> None:
    for together in (True, False):
        thread_id = await start(talking.http, "asks")
        asked = {
            each["payload"]: each["interrupt_id"] for each in data_of(await told(talking.http, thread_id), "input.requested")
        }
        assert set(asked) == {"left?", "right?"}
        answers = [{"namespace": [], "interrupt_id": asked[key], "response": 1} for key in ("left?", "right?")]
        if together:
            assert (await send(talking.http, thread_id, "input.respond", responses=answers))["type"] == "success"
        else:
            for answer in answers:
                place = (await send(talking.http, thread_id, "input.respond", **answer))["meta"]["applied_through_seq"]
                await told(talking.http, thread_id, since=place)
        for _ in range(200):
            state = await send(talking.http, thread_id, "state.get", namespace=[], keys=["log"])
            if len(state["result"]["values"]["log"]) == 2:
                break
            await asyncio.sleep(0.02)
        assert sorted(state["result"]["values"]["log"]) == ["left 1", "right 1"]


async def test_a_watcher_who_comes_while_a_run_ends_with_a_question_is_told_of_it(talking: Server) -> None:
    """SDKs watch from the moment they are opened. Here the request saw the run at work, and its newest event was a question."""
    thread_id = await start(talking.http, "asks")
    await told(talking.http, thread_id)
    persistence = talking.services.persistence
    questions = [event.seq for event in await persistence.events.read(thread_id) if event.event == "protocol/input"]
    assert len(questions) == 2

    async def newest_then(thread_id: str) -> int:
        return max(questions)

    events = SimpleNamespace(newest=newest_then, read=persistence.events.read, follow_thread=persistence.events.follow_thread)
    then: Any = SimpleNamespace(records=persistence.records, events=events)
    seen = replace(await persistence.records.get_thread(None, thread_id), status="busy")
    watcher = Subscription(frozenset({"lifecycle", "input"}))
    assert await find_beginning(then, seen, watcher, talking.services.clock.now()) < min(questions)


async def test_twenty_answers_at_once_are_one(talking: Server) -> None:
    thread_id = await start(talking.http, "asks")
    asked = data_of(await told(talking.http, thread_id), "input.requested")
    left = next(each["interrupt_id"] for each in asked if each["payload"] == "left?")
    sent = [send(talking.http, thread_id, "input.respond", interrupt_id=left, response=n) for n in range(20)]
    answers = await asyncio.gather(*sent)
    assert [answer["type"] for answer in answers].count("success") == 1
    assert {answer.get("error") for answer in answers} == {None, "no_such_interrupt"}


async def test_a_run_that_fails_says_why_and_the_next_is_told_alone(talking: Server) -> None:
    thread_id = await start(talking.http, "falls")
    failed = (await told(talking.http, thread_id))[-1]["params"]["data"]
    assert (failed["event"], failed["error"]) == ("failed", "it fell")
    await start(talking.http, "whole", thread_id)
    again = await told(talking.http, thread_id)
    assert [each["event"] for each in data_of(again, "lifecycle")] == ["running", "completed"]
    assert [each["event"] for each in data_of(await told(talking.http, thread_id, since=0, runs=2), "lifecycle")] == [
        *("running", "failed"),
        *("running", "completed"),
    ]


async def test_a_run_branches_off_where_its_config_says(talking: Server) -> None:
    thread_id = await start(talking.http, "whole")
    await told(talking.http, thread_id)
    checkpoints = (await send(talking.http, thread_id, "state.listCheckpoints"))["result"]["checkpoints"]
    earlier = checkpoints[-1]["id"]
    config = {"configurable": {"checkpoint_id": earlier, "thread_id": "not this one"}}
    started = await send(talking.http, thread_id, "run.start", assistant_id="whole", input={"log": ["again"]}, config=config)
    await told(talking.http, thread_id)
    run = await talking.client.runs.get(thread_id, started["result"]["run_id"])
    assert (run["status"], run["thread_id"], run["kwargs"]["checkpoint"]) == ("success", thread_id, {"checkpoint_id": earlier})
    parents = {
        (state["parent_checkpoint"] or {}).get("checkpoint_id") for state in await talking.client.threads.get_history(thread_id)
    }
    assert earlier in parents


async def test_a_run_of_the_other_api_is_seen_too(talking: Server) -> None:
    thread_id = (await talking.client.threads.create())["thread_id"]
    await talking.client.runs.create(thread_id, "whole", input={}, stream_mode=["values", "messages-tuple"])
    found = await told(talking.http, thread_id, since=0)
    assert {event["method"] for event in found} == {"lifecycle", "values"}


@pytest.mark.parametrize(
    ("method", "params", "code", "sentence"),
    [
        ("run.start", {}, "invalid_argument", "params.assistant_id"),
        ("run.start", {"assistant_id": "nobody"}, "invalid_argument", "nobody"),
        ("run.start", {"assistant_id": "whole", "config": 3}, "invalid_argument", "params.config"),
        ("input.respond", {}, "invalid_argument", "interrupt_id"),
        ("input.respond", {"interrupt_id": "nonsense", "response": 1}, "no_such_interrupt", "nonsense"),
        ("input.respond", {"interrupt_id": "0" * 32, "response": 1}, "no_such_interrupt", ""),
        ("state.fork", {"checkpoint_id": 1}, "invalid_argument", "params.checkpoint_id"),
        ("agent.getTree", {}, "not_supported", "/assistants/"),
        ("subscription.subscribe", {"channels": ["values"]}, "not_supported", "stream/events"),
        ("run.dance", {}, "unknown_command", "run.start"),
    ],
)
async def test_a_command_that_is_refused_is_told_why(
    talking: Server, method: str, params: dict[str, Any], code: str, sentence: str
) -> None:
    thread_id = await start(talking.http, "whole")
    await told(talking.http, thread_id)
    answer = await send(talking.http, thread_id, method, **params)
    assert (answer["type"], answer["error"]) == ("error", code), answer
    assert sentence in answer["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("commands", b"[1]"),
        ("commands", b'{"method": "run.start"}'),
        ("commands", b'{"id": 1}'),
        ("commands", b'{"id": "one", "method": "run.start"}'),
        ("commands", b'{"id": -1, "method": "run.start", "params": []}'),
        ("stream/events", b"{}"),
        ("stream/events", b'{"channels": []}'),
        ("stream/events", b'{"channels": ["news"]}'),
        ("stream/events", b'{"channels": ["values"], "since": -1}'),
        ("stream/events", b'{"channels": ["values"], "since": 99999999999999999999}'),
        ("stream/events", b'{"channels": ["values"], "depth": "deep"}'),
        ("stream/events", b'{"channels": ["values"], "namespaces": ["a"]}'),
    ],
)
async def test_what_is_no_command_and_no_subscription_is_a_problem(talking: Server, path: str, body: bytes) -> None:
    thread_id = await start(talking.http, "whole")
    refused = await talking.http.post(f"/threads/{thread_id}/{path}", content=body, headers=JSON)
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json"), refused.text


@pytest.mark.asyncio(loop_scope="function")
async def test_another_tenants_thread_is_not_there(asking: Asking) -> None:
    """R8: commands and streams see the caller's own threads only."""
    thread_id = (await asking.anna.threads.create())["thread_id"]
    bert = asking.bert.http.client
    command = {"id": 1, "method": "run.start", "params": {"assistant_id": "echo", "input": {}}}
    for method in ("run.start", "input.respond", "state.get", "state.listCheckpoints", "state.fork"):
        params = {"assistant_id": "echo", "interrupt_id": "0" * 32, "response": 1, "checkpoint_id": "c"}
        sent = await bert.post(f"/threads/{thread_id}/commands", json={**command, "method": method, "params": params})
        assert sent.status_code == 404, (method, sent.text)
    assert (await bert.post(f"/threads/{thread_id}/stream/events", json={"channels": ["values"]})).status_code == 404
    nobody = await asking.server.http.post(f"/threads/{thread_id}/commands", json=command)
    assert nobody.status_code == 401


@pytest.mark.asyncio(loop_scope="function")
async def test_streams_of_a_user_are_limited(asking: Asking) -> None:
    """Two at a time are allowed on this server: the third is refused until one has gone."""
    thread_id = (await asking.anna.threads.create())["thread_id"]
    anna = asking.anna.http.client

    def stream() -> Any:
        return anna.stream("POST", f"/threads/{thread_id}/stream/events", json={"channels": ["values"]})

    async with stream() as one, stream() as two:
        assert (one.status_code, two.status_code) == (200, 200)
        async with stream() as three:
            assert three.status_code == 429
