"""Deferred MCP tools and their questions on the server: over the SDK, with a server that is killed while it waits, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import UnprocessableEntityError
from tests.integration.served.process import Server, serve
from tests.support.mcp_process import mcp_over_http

ASKING = str(Path(__file__).with_name("mcp_asking_server.py"))
GRAPH = """
from langgraph.graph.state import CompiledStateGraph
from stepwell import create_deep_agent
from stepwell.testing import ScriptedModel, call, say
from stepwell.tools.mcp import load_mcp_tools

def play(asked):
    if asked.human == "tools?":
        return say(" ".join(asked.tool_names))
    done = [message for message in asked.messages if message.type == "tool"]
    steps = [call("tool_search", query="book a flight"), call("book", city="Rome", log=LOG), say("done")]
    return steps[len(done)]

async def graph() -> CompiledStateGraph:
    tools = await load_mcp_tools({"travel": {"url": URL}}, defer=True)
    return create_deep_agent(ScriptedModel.answering(play), tools)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "log").touch()
    (tmp_path / "langgraph.json").write_text('{"graphs": {"agent": "./agent.py:graph"}, "dependencies": ["."]}')
    database = ["--database-url", request.getfixturevalue("postgres_url")] if request.param == "postgres" else []
    with mcp_over_http(ASKING) as url:
        (tmp_path / "agent.py").write_text(f"URL, LOG = {url!r}, {str(tmp_path / 'log')!r}\n{GRAPH}")
        with serve(tmp_path, *database, graphs=tmp_path / "langgraph.json", NO_PROXY="127.0.0.1") as server:
            yield server


async def test_a_loaded_tool_asks_and_the_answer_outlives_the_server(server: Server, tmp_path: Path) -> None:
    async with get_client(url=server.url) as client:
        thread = (await client.threads.create())["thread_id"]
        asked: Any = await client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": "fly"}]})
    (question,) = asked["__interrupt__"]
    assert (question["value"]["type"], question["value"]["server"]) == ("mcp_elicitation", "travel")

    server.kill()
    server.start()
    async with get_client(url=server.url) as client:
        wrong = {"resume": {question["id"]: {"action": "accept", "content": {"seats": "many"}}}}
        with pytest.raises(UnprocessableEntityError) as refused:
            await client.runs.create(thread, "agent", command=wrong)
        assert "at 'content.seats' does not fit" in str(refused.value.body)
        given = {"action": "accept", "content": {"seats": 2}, "question_id": question["value"]["question_id"]}
        final: Any = await client.runs.wait(thread, "agent", command={"resume": {question["id"]: given}})
        results = [each["content"] for each in final["messages"] if each["type"] == "tool"]
        assert results[-1].startswith("booked 2 at the window")
        assert written(tmp_path / "log") == "booked Rome\n"

        again: Any = await client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": "tools?"}]})
    offered = again["messages"][-1]["content"].split()
    assert "book" in offered[offered.index("tool_search") + 1 :], "what the thread has loaded stays loaded"
    assert "open_page" not in offered


def written(log: Path) -> str:
    return log.read_text()
