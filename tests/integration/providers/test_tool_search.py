"""What a provider gets if tools are deferred: its own search with marked tools, or ours with unmarked ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from benchmarks.many_tools import many_tools
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from tests.support.providers import Call, FakeProvider, Reply
from tests.support.providers.anthropic import ANTHROPIC
from tests.support.providers.openai import OPENAI, OPENAI_RESPONSES
from tests.support.providers.server import KEY

from stepwell import ToolSearchMiddleware, create_deep_agent
from stepwell.testing import ScriptedModel, call, say

HELLO: Any = {"messages": [("user", "hello")]}
THREAD: Any = {"configurable": {"thread_id": "1"}}
NAME = "github_get_issue"
CALL = Call(NAME, {"issue_id": "7"})


@pytest.fixture
def anthropic() -> Iterator[tuple[FakeProvider, ChatAnthropic]]:
    with FakeProvider(ANTHROPIC) as provider:
        yield provider, ChatAnthropic(model_name="claude-sonnet-4-6", api_key=KEY, base_url=provider.url)


def named(request: Any) -> dict[str, Any]:
    """The tools of a request, by name; OpenAI's search has none."""
    tools = request["tools"] if isinstance(request, dict) else request.body["tools"]
    return {(tool.get("function") or tool).get("name") or tool["type"]: tool for tool in tools}


def results(final: Any) -> list[str]:
    return [message.text for message in final["messages"] if message.type == "tool"]


def test_anthropic_searches_itself(anthropic: Any) -> None:
    provider, model = anthropic
    provider.plan(Reply(searched=[NAME], calls=[CALL]), Reply("done"))
    agent = create_deep_agent(model, many_tools(30), middleware=[ToolSearchMiddleware(native=True)], subagents=[])
    assert results(agent.invoke(HELLO)) == [f"{NAME} did [('issue_id', '7')]"]
    first, second = (named(request) for request in provider.requests)
    assert first["tool_search_tool_bm25"] == {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    assert "tool_search" not in first
    assert [name for name, tool in first.items() if tool.get("defer_loading")] == [tool.name for tool in many_tools(30)]
    assert "defer_loading" not in first["read_file"]
    assert second == first, "what was found is in the messages, so the tools stay as they were"


def test_openai_searches_itself() -> None:
    with FakeProvider(OPENAI_RESPONSES) as provider:
        model = ChatOpenAI(model="gpt-5.4", api_key=KEY, base_url=f"{provider.url}/v1")
        provider.plan(Reply(searched=[NAME], calls=[CALL]), Reply("done"))
        agent = create_deep_agent(model, many_tools(30), middleware=[ToolSearchMiddleware(native=True)])
        assert results(agent.invoke(HELLO)) == [f"{NAME} did [('issue_id', '7')]"]
        first, second = (named(request) for request in provider.requests)
    assert first["tool_search"] == {"type": "tool_search"}
    assert first[NAME]["defer_loading"] is True
    assert "defer_loading" not in first["read_file"]
    assert second == first


def test_a_model_whose_provider_has_no_search_gets_ours_and_unmarked_tools(anthropic: Any) -> None:
    provider, model = anthropic  # at an address of its own, so it is not known to search
    provider.plan(Reply(calls=[Call("tool_search", {"query": f"select:{NAME}"})]), Reply(calls=[CALL]), Reply("done"))
    assert results(create_deep_agent(model, many_tools(30)).invoke(HELLO))[-1] == f"{NAME} did [('issue_id', '7')]"
    first, second, _ = (named(request) for request in provider.requests)
    assert "tool_search" in first
    assert NAME not in first
    assert list(second) == [*first, NAME]
    assert "defer_loading" not in second[NAME]


def test_our_search_over_chat_completions() -> None:
    with FakeProvider(OPENAI) as provider:
        model = ChatOpenAI(model="gpt-5.4", api_key=KEY, base_url=f"{provider.url}/v1")
        provider.plan(Reply(calls=[Call("tool_search", {"query": NAME})]), Reply("done"))
        create_deep_agent(model, many_tools(30)).invoke(HELLO)
        first, second = (named(request) for request in provider.requests)
    assert list(second) == [*first, NAME]
    assert "defer_loading" not in second[NAME]


def test_what_a_provider_found_stays_loaded_for_another_model(anthropic: Any) -> None:
    provider, model = anthropic
    saver = InMemorySaver()
    provider.plan(Reply(searched=[NAME], calls=[CALL]), Reply("done"))
    native = [ToolSearchMiddleware(native=True)]
    create_deep_agent(model, many_tools(30), middleware=native, checkpointer=saver).invoke(HELLO, THREAD)
    other = ScriptedModel([call(NAME, issue_id="8"), say("done")])
    final = create_deep_agent(other, many_tools(30), checkpointer=saver).invoke(HELLO, THREAD)
    assert results(final)[-1] == f"{NAME} did [('issue_id', '8')]"
    assert other.asked[0].tool_names[-1] == NAME


def test_what_a_provider_found_still_needs_approval(anthropic: Any) -> None:
    provider, model = anthropic
    provider.plan(Reply(searched=[NAME], calls=[CALL]), Reply("done"))
    native = [ToolSearchMiddleware(native=True)]
    agent = create_deep_agent(model, many_tools(30), middleware=native, checkpointer=InMemorySaver(), interrupt_on={NAME: True})
    paused = agent.invoke(HELLO, THREAD)
    assert results(paused) == []
    assert paused["__interrupt__"][0].value["action_requests"][0]["name"] == NAME
