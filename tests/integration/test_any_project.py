"""A project like the public templates, served as it was cloned: no `.env`, its package in `src`, a factory that looks at the
store, and graphs that cannot be built beside those that can."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from tests.integration.served.process import Server, serve

STATE = """
from typing import Annotated, TypedDict
from langgraph.graph.message import add_messages

class State(TypedDict):
    messages: Annotated[list, add_messages]
"""
GRAPH = """
from langgraph.graph import END, START, StateGraph
from template_agent.state import State
{before}
def answer(state: State) -> dict:
    return {{"messages": [("ai", "{answer}")]}}

graph = StateGraph(State).add_node(answer).add_edge(START, "answer").add_edge("answer", END).compile()
"""
REMEMBERING = """
import contextlib
from langgraph_sdk.runtime import ServerRuntime
import template_agent.graph as plain

@contextlib.asynccontextmanager
async def make(runtime: ServerRuntime):
    await runtime.store.aput(("prompts",), runtime.access_context, {"text": "Be brief."})
    assert await runtime.store.aget(("prompts",), runtime.access_context) is not None
    yield plain.graph

def make_blocking(runtime: ServerRuntime):
    runtime.store.search(("prompts",))
    return plain.graph

async def make_for_user(runtime: ServerRuntime):
    assert runtime.ensure_user().identity
    return plain.graph
"""
GRAPHS = {
    "agent": "./src/template_agent/graph.py:graph",
    "remembers": {"path": "./src/template_agent/remembering.py:make", "description": "Looks at the store"},
    "remembers_blocking": "template_agent.remembering:make_blocking",
    "for_user": "template_agent.remembering:make_for_user",
    "tools": "./tools_agent.py:graph",
    "wants_package": "./wants_package.py:graph",
    "gone": "./gone.py:graph",
    "written_in_js": "./agent.ts:graph",
}
BROKEN = {
    "wants_package": "The graph 'wants_package' cannot be loaded: importing 'wants_package.py' failed with ModuleNotFoundError: "
    "'langchain_no_such_provider' is not installed.",
    "gone": "The graph 'gone' names the file 'gone.py', which does not exist.",
    "written_in_js": "The graph 'written_in_js' is written in JavaScript or TypeScript",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of a project that nobody has installed or set up."""
    package = tmp_path / "project" / "src" / "template_agent"
    package.mkdir(parents=True)
    folder = tmp_path / "project"
    for file, text in {
        folder / "pyproject.toml": '[project]\nname = "template-agent"\nversion = "0.0.1"\n',
        package / "__init__.py": "",
        package / "state.py": STATE,
        package / "graph.py": GRAPH.format(before="", answer="Hello from the template"),
        package / "remembering.py": REMEMBERING,
        folder / "helpers" / "sums.py": "ANSWER = 42\n",
        folder / "tools_agent.py": GRAPH.format(before="from sums import ANSWER", answer="It is 42"),
        folder / "wants_package.py": "from langchain_no_such_provider import Chat\n",
        folder / "langgraph.json": json.dumps({"dependencies": [".", "helpers", "./gone"], "graphs": GRAPHS, "env": ".env"}),
    }.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture
def server(project: Path, tmp_path: Path) -> Iterator[Server]:
    with serve(tmp_path, graphs=project / "langgraph.json") as running:
        yield running


def ask(server: Server, graph: str) -> Any:
    with get_sync_client(url=server.url, api_key=None) as client:
        thread = client.threads.create()
        answered = client.runs.wait(thread["thread_id"], graph, input={"messages": [("user", "hi")]})
        assert client.threads.get_state(thread["thread_id"])["values"] == answered
        assert client.assistants.get_schemas(graph)["graph_id"] == graph
        return answered["messages"][-1]["content"]


def test_a_project_is_served_as_it_was_cloned(server: Server, project: Path) -> None:
    screen = server.output
    assert "graphs    agent, remembers, remembers_blocking, for_user, tools\n" in screen
    assert "note      'env' in 'langgraph.json' names the file '.env', which does not exist." in screen
    assert "note      'dependencies' in 'langgraph.json' names the folder 'gone', which does not exist." in screen
    assert [ask(server, name) for name in ("agent", "remembers", "remembers_blocking", "for_user")] == [
        "Hello from the template"
    ] * 4
    assert ask(server, "tools") == "It is 42"
    assert str(project) not in screen.partition("data ")[0], "no path of the host in what is said of the project"


def test_a_graph_that_cannot_be_built_says_why_to_whoever_asks_and_is_tried_again(server: Server, project: Path) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as http:
        listed = {each["graph_id"] for each in http.post("/assistants/search", json={}).json()}
        assert listed == set(GRAPHS)
        thread = f"/threads/{http.post('/threads', json={}).json()['thread_id']}"
        for name, reason in BROKEN.items():
            assert f"not built {reason}" in server.output
            asked = {"assistant_id": name, "input": {}}
            assistant = http.post("/assistants/search", json={"graph_id": name}).json()[0]["assistant_id"]
            for answer in (
                http.post(f"{thread}/runs", json=asked),
                http.post("/runs/wait", json=asked),
                http.get(f"/assistants/{assistant}/schemas"),
                http.get(f"/assistants/{name}/graph"),
            ):
                assert (answer.status_code, answer.json()["type"]) == (503, "urn:stepwell:problem:graph-unavailable"), (
                    answer.text
                )
                assert answer.json()["detail"].startswith(reason)
        assert http.get(f"{thread}/runs").json() == [], "nothing was admitted that cannot be run"
    (project / "gone.py").write_text(GRAPH.format(before="", answer="Here I am"))
    (project / "wants_package.py").write_text(GRAPH.format(before="", answer="Done without"))
    assert (ask(server, "gone"), ask(server, "wants_package")) == ("Here I am", "Done without")
