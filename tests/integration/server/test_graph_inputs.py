"""What reaches a graph beside its input (config, context, ids), and what comes back when it asks: as on LangGraph's own server."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from langchain_core.runnables import RunnableConfig
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel
from tests.integration.server.conftest import Server, serve
from tests.integration.server.graphs import GRAPHS, Talk
from typing_extensions import TypedDict

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Tone:
    tone: str = "dry"
    volume: int = 1


@dataclass
class Needed:
    tone: str


class ToneModel(BaseModel, extra="forbid"):
    tone: str = "dry"


class ToneDict(TypedDict, total=False):
    tone: str


def tell(state: Talk, config: RunnableConfig, runtime: Runtime[Any]) -> Talk:
    """What the graph was given beside its input."""
    kept = ("tags", "recursion_limit", "max_concurrency")
    own = {name: config.get("metadata", {}).get(name) for name in ("of_config", "of_run")}
    configurable = {name: value for name, value in config["configurable"].items() if name in ("tone", "other")}
    told = {name: config.get(name) for name in kept}
    return {"data": {**told, "metadata": own, "configurable": configurable, "context": repr(runtime.context)}}


def ask_first(state: Talk) -> Talk:
    return {"log": [f"first {interrupt('First?')}"]}


def ask_second(state: Talk) -> Talk:
    return {"log": [f"second {interrupt('Second?')}"]}


@entrypoint()
async def function(given: dict[str, Any]) -> str:
    return f"told {interrupt('Which?')}"


def _graph(*nodes: Any, context_schema: Any = None) -> Any:
    builder = StateGraph(Talk, context_schema=context_schema)
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
        builder.add_edge(node.__name__, END)
    return builder.compile()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def serving(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    graphs = {
        "tells": _graph(tell),
        "dataclass": _graph(tell, context_schema=Tone),
        "needed": _graph(tell, context_schema=Needed),
        "model": _graph(tell, context_schema=ToneModel),
        "dict": _graph(tell, context_schema=ToneDict),
        "asks_twice": _graph(ask_first, ask_second),
        "function": function,
        "echo": GRAPHS["echo"],
    }
    async with serve(tmp_path_factory.mktemp("server"), graphs=graphs) as running:
        yield running


@pytest.mark.parametrize(
    ("graph", "given", "context"),
    [
        ("dataclass", {}, "Tone(tone='dry', volume=1)"),
        ("dataclass", {"context": {"tone": "wet"}}, "Tone(tone='wet', volume=1)"),
        ("dataclass", {"config": {"configurable": {"tone": "wet"}}}, "Tone(tone='wet', volume=1)"),
        ("dataclass", {"context": {"tone": "wet", "other": 1}}, "Tone(tone='wet', volume=1)"),
        ("dataclass", {"config": {"configurable": {"other": 1}}}, "Tone(tone='dry', volume=1)"),
        ("model", {}, "ToneModel(tone='dry')"),
        ("model", {"context": {"tone": "wet", "other": 1}}, "ToneModel(tone='wet')"),
        ("dict", {}, "None"),
        ("dict", {"config": {"configurable": {"tone": "wet", "other": 1}}}, "{'tone': 'wet'}"),
        ("tells", {}, "None"),
        ("tells", {"context": {"tone": "wet", "other": 1}}, "{'tone': 'wet', 'other': 1}"),
        ("tells", {"config": {"configurable": {"other": 1}}}, "{'other': 1}"),
    ],
)
async def test_context_and_configurable_reach_a_graph_as_one(
    serving: Server, graph: str, given: dict[str, Any], context: str
) -> None:
    told = (await serving.client.runs.wait(None, graph, input={"count": 1}, **given))["data"]
    assert told["context"] == context
    assert told["configurable"] == given.get("context", given.get("config", {}).get("configurable", {}))


async def test_a_context_without_what_the_graph_needs_ends_the_run(serving: Server) -> None:
    result = await serving.client.runs.wait(None, "needed", input={"count": 1}, raise_error=False)
    assert "'tone'" in result["__error__"]["message"]


async def test_an_assistant_brings_its_context_to_the_run(serving: Server) -> None:
    made = await serving.client.assistants.create("dataclass", context={"tone": "loud", "volume": 9})
    told = (await serving.client.runs.wait(None, made["assistant_id"], input={"count": 1}, context={"tone": "low"}))["data"]
    assert told["context"] == "Tone(tone='low', volume=9)"


async def test_the_whole_config_reaches_a_graph(serving: Server) -> None:
    config = {"tags": ["t"], "recursion_limit": 7, "max_concurrency": 3, "metadata": {"of_config": 1}, "run_name": "Named"}
    stream = serving.client.runs.stream(
        None, "tells", input={"count": 1}, config=config, metadata={"of_run": 2}, stream_mode=["values", "events"]
    )
    parts = [part async for part in stream]
    told = [part.data for part in parts if part.event == "values"][-1]["data"]
    assert (told["tags"], told["recursion_limit"], told["max_concurrency"]) == (["t"], 7, 3)
    assert told["metadata"] == {"of_config": 1, "of_run": 2}
    assert next(part.data["name"] for part in parts if part.event == "events") == "Named"


async def test_stream_events_name_the_run_that_clients_know(serving: Server) -> None:
    parts = [part async for part in serving.client.runs.stream(None, "tells", input={"count": 1}, stream_mode="events")]
    assert parts[1].data["event"] == "on_chain_start"
    assert parts[1].data["run_id"] == parts[0].data["run_id"]


@pytest.mark.parametrize(
    "config", [{"tags": 5}, {"tags": [5]}, {"recursion_limit": "x"}, {"max_concurrency": 0}, {"metadata": 5}, {"run_name": 7}]
)
async def test_a_config_that_no_run_could_use_is_refused_for_assistants_too(serving: Server, config: dict[str, Any]) -> None:
    for path, body in (("/assistants", {"graph_id": "tells"}), ("/runs", {"assistant_id": "tells"})):
        answer = await serving.http.post(path, json={**body, "config": config})
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith(f"body.config.{next(iter(config))}")


async def test_a_config_keeps_what_only_its_owner_understands(serving: Server) -> None:
    config = {"tags": ["t"], "configurable": {"deep": {"nothing": None}}, "own": {"key": [None]}}
    assert (await serving.client.assistants.create("tells", config=config))["config"] == config


async def test_who_waits_for_a_run_gets_all_that_it_asks(serving: Server) -> None:
    runs, thread_id = serving.client.runs, (await serving.client.threads.create())["thread_id"]
    result = await runs.wait(thread_id, "asks_twice", input={"count": 1})
    asked = {each["value"]: each["id"] for each in result["__interrupt__"]}
    assert set(asked) == {"First?", "Second?"}
    assert result["count"] == 1
    left = await runs.wait(thread_id, "asks_twice", command={"resume": {asked["First?"]: "yes"}})
    assert [each["value"] for each in left["__interrupt__"]] == ["Second?"]
    ended = await runs.wait(thread_id, "asks_twice", command={"resume": {asked["Second?"]: "no"}})
    assert sorted(ended["log"]) == ["first yes", "second no"]
    assert "__interrupt__" not in ended


async def test_a_function_that_asks_gives_its_question(serving: Server) -> None:
    runs, thread_id = serving.client.runs, (await serving.client.threads.create())["thread_id"]
    result = await runs.wait(thread_id, "function", input={})
    assert [each["value"] for each in result["__interrupt__"]] == ["Which?"]
    assert await runs.wait(thread_id, "function", command={"resume": "this"}) == "told this"


async def test_a_thread_that_is_made_for_a_run_has_its_metadata(serving: Server) -> None:
    thread_id = str(uuid.uuid4())
    for mark in ("first", "second"):
        await serving.client.runs.wait(thread_id, "echo", input={"count": 1}, if_not_exists="create", metadata={"mark": mark})
    assert (await serving.client.threads.get(thread_id))["metadata"]["mark"] == "first"
    assert [each["thread_id"] for each in await serving.client.threads.search(metadata={"mark": "first"})] == [thread_id]


async def test_threads_are_found_with_those_last_used_first(serving: Server) -> None:
    mark = str(uuid.uuid4())
    older, newer = [(await serving.client.threads.create(metadata={"mark": mark}))["thread_id"] for _ in range(2)]
    await serving.client.runs.wait(older, "echo", input={"count": 1})
    assert [each["thread_id"] for each in await serving.client.threads.search(metadata={"mark": mark})] == [older, newer]
