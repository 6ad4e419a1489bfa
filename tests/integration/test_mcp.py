"""MCP tools against a real server process, over its standard streams and over HTTP on loopback."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from tests.support.mcp_process import mcp_over_http

from stepwell import create_deep_agent
from stepwell.errors import ConfigurationError, ToolNameConflictError
from stepwell.testing import ScriptedModel, call, say
from stepwell.tools.catalog import is_deferred
from stepwell.tools.effects import effect_of
from stepwell.tools.mcp import load_mcp_tools, load_mcp_tools_sync, mcp_session

SERVER = str(Path(__file__).with_name("mcp_server.py"))
STDIO = {"command": sys.executable, "args": [SERVER, "stdio"]}


@pytest.fixture(scope="module")
def http_server() -> Iterator[dict[str, str]]:
    """The same server, listening on a free port of loopback."""
    with mcp_over_http(SERVER) as url:
        yield {"url": url}


class Player(GenericFakeChatModel):
    """Plays its messages; tools may be bound."""

    def bind_tools(self, tools, **settings):
        return self


def agent_calling(name: str, args: dict, tools: list):
    """An agent whose model calls one tool and then is done."""
    call = AIMessage("", tool_calls=[{"name": name, "args": args, "id": "1", "type": "tool_call"}])
    return create_agent(Player(messages=iter([call, AIMessage("done")])), tools)


def tool_message(state: dict) -> ToolMessage:
    return next(message for message in state["messages"] if isinstance(message, ToolMessage))


def named(tools: list[BaseTool], name: str) -> BaseTool:
    return next(tool for tool in tools if tool.name == name)


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


QUESTION = {"messages": [("user", "go")]}


def test_sync_agent_uses_mcp_tools_beside_functions_over_stdio():
    """D14: MCP tools beside plain functions, from `agent.invoke`."""
    tools = [double, *load_mcp_tools_sync({"math": STDIO})]
    added = tool_message(agent_calling("add", {"a": 2, "b": 3}, tools).invoke(QUESTION))
    doubled = tool_message(agent_calling("double", {"number": 4}, tools).invoke(QUESTION))
    assert (added.content, added.status) == ("5", "success")
    assert doubled.content == "8"


async def test_async_agent_uses_mcp_tools_beside_functions_over_http(http_server):
    """D14: MCP tools beside plain functions, from `agent.ainvoke`."""
    tools = [double, *await load_mcp_tools({"math": http_server})]
    added = tool_message(await agent_calling("add", {"a": 2, "b": 3}, tools).ainvoke(QUESTION))
    doubled = tool_message(await agent_calling("double", {"number": 4}, tools).ainvoke(QUESTION))
    assert (added.content, added.status) == ("5", "success")
    assert doubled.content == "8"


def test_sync_agent_uses_mcp_tools_over_http(http_server):
    tools = load_mcp_tools_sync({"math": http_server})
    assert tool_message(agent_calling("add", {"a": 20, "b": 3}, tools).invoke(QUESTION)).content == "23"


async def test_a_sync_call_works_while_this_thread_runs_an_event_loop(http_server):
    tools = await load_mcp_tools({"math": http_server})
    assert named(tools, "add").invoke({"a": 1, "b": 1}) == "2"


async def test_a_failing_tool_becomes_an_error_message(http_server):
    tools = await load_mcp_tools({"math": http_server})
    message = tool_message(await agent_calling("fail", {"reason": "no luck today"}, tools).ainvoke(QUESTION))
    assert message.status == "error"
    assert "no luck today" in message.content


async def test_arguments_the_server_refuses_become_an_error_message(http_server):
    tools = await load_mcp_tools({"math": http_server})
    message = tool_message(await agent_calling("add", {"a": "two"}, tools).ainvoke(QUESTION))
    assert message.status == "error"
    assert "validation error" in message.content


async def test_a_slow_tool_is_stopped_by_its_time_out(http_server):
    tools = await load_mcp_tools({"math": http_server}, call_timeout_s=0.3)
    message = tool_message(await agent_calling("slow", {"seconds": 3}, tools).ainvoke(QUESTION))
    assert message.status == "error"
    assert "'slow' of the MCP server 'math' did not answer within 0.3 s" in message.content


async def test_a_server_that_dies_in_a_call_becomes_an_error_message():
    tools = await load_mcp_tools({"math": STDIO})
    message = tool_message(await agent_calling("die", {}, tools).ainvoke(QUESTION))
    assert message.status == "error"
    assert "'die' of the MCP server 'math' gave no answer" in message.content


async def test_effects_follow_the_annotations(http_server):
    tools = await load_mcp_tools({"math": http_server})
    effects = {tool.name: effect_of(tool) for tool in tools}
    assert {name: effects[name] for name in ("add", "erase", "append", "remember")} == {
        "add": "read",
        "erase": "once",
        "append": "once",
        "remember": "idempotent",
    }


async def test_names_are_made_safe_and_still_reach_their_tool(http_server):
    tools = await load_mcp_tools({"math": http_server})
    assert await named(tools, "memory_recall").ainvoke({}) == "nothing"


async def test_arguments_of_every_name_reach_the_server(http_server):
    tools = await load_mcp_tools({"math": http_server})
    arguments = {"config": "one", "runtime": "two", "callbacks": "three"}
    asynchronous = tool_message(await agent_calling("echo", arguments, tools).ainvoke(QUESTION))
    assert asynchronous.content == "one two three"
    assert named(tools, "echo").invoke(arguments) == "one two three"


async def test_one_name_on_two_servers_is_refused_with_both_named(http_server):
    with pytest.raises(ToolNameConflictError, match="'add': one from the MCP server 'first', one from the MCP server 'second'"):
        await load_mcp_tools({"first": http_server, "second": http_server})


async def test_a_prefix_keeps_two_servers_apart(http_server):
    tools = await load_mcp_tools({"first": http_server, "second": http_server}, prefix=True)
    assert len({tool.name for tool in tools}) == len(tools)
    assert await named(tools, "first_add").ainvoke({"a": 1, "b": 2}) == "3"


async def test_more_than_twenty_tools_are_deferred(http_server):
    two, three = ({f"s{number}": http_server for number in range(count)} for count in (2, 3))
    assert not any(map(is_deferred, await load_mcp_tools(two, prefix=True)))
    assert all(map(is_deferred, await load_mcp_tools(three, prefix=True)))
    assert not any(map(is_deferred, await load_mcp_tools(three, prefix=True, defer=False)))
    assert all(map(is_deferred, await load_mcp_tools({"math": http_server}, defer=True)))
    async with mcp_session({"math": http_server}, defer=True) as tools:
        assert all(map(is_deferred, tools))
        assert effect_of(named(tools, "erase")) == "once"
    with pytest.raises(ConfigurationError, match="defer is 'yes'"):
        await load_mcp_tools({"math": http_server}, defer="yes")


async def test_a_deferred_tool_of_a_server_is_searched_and_called(http_server):
    model = ScriptedModel([call("tool_search", query="add numbers"), call("add", a=2, b=3), say("done")])
    agent = create_deep_agent(model, await load_mcp_tools({"math": http_server}, defer=True))
    final = await agent.ainvoke(QUESTION)
    assert final["messages"][-2].text == "5"
    assert "add" not in model.asked[0].tool_names


async def test_a_session_lives_through_its_block():
    async with mcp_session({"math": STDIO}) as tools:
        await named(tools, "remember").ainvoke({"text": "one"})
        await named(tools, "remember").ainvoke({"text": "two"})
        assert await named(tools, "memory_recall").ainvoke({}) == "one, two"


async def test_without_a_session_each_call_starts_afresh():
    tools = await load_mcp_tools({"math": STDIO})
    await named(tools, "remember").ainvoke({"text": "one"})
    assert await named(tools, "memory_recall").ainvoke({}) == "nothing"


async def test_a_session_refuses_sync_calls_instead_of_hanging(http_server):
    async with mcp_session({"math": http_server}) as tools:
        with pytest.raises(ConfigurationError, match="ainvoke"):
            named(tools, "add").invoke({"a": 1, "b": 2})


async def test_an_exception_leaves_a_session_as_it_was_raised(http_server):
    with pytest.raises(LookupError, match="mine"):
        async with mcp_session({"math": http_server}):
            raise LookupError("mine")


def missing(tmp_path: Path) -> dict[str, object]:
    return {"command": str(tmp_path / "no-such-program"), "args": []}


async def test_a_server_that_cannot_be_started_is_named(tmp_path):
    with pytest.raises(
        ConfigurationError, match="'tools' could not be started or reached: its command was not found"
    ) as caught:
        await load_mcp_tools({"tools": missing(tmp_path)})
    assert str(tmp_path) not in str(caught.value)


async def test_a_session_whose_second_server_fails_says_so(tmp_path, http_server):
    with pytest.raises(ConfigurationError, match="'second' could not be started"):
        async with mcp_session({"first": http_server, "second": missing(tmp_path)}):
            pytest.fail("the block must not be entered")


async def test_a_server_that_ends_at_once_is_named():
    with pytest.raises(ConfigurationError, match="'tools' could not be started or reached: it ended without answering"):
        await load_mcp_tools({"tools": {"command": sys.executable, "args": ["-c", "pass"]}})


async def test_a_server_that_never_answers_is_given_up():
    silent = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
    with pytest.raises(ConfigurationError, match="'tools' could not be started or reached: it did not answer in time"):
        await load_mcp_tools({"tools": silent}, start_timeout_s=0.5)


async def test_every_server_that_is_not_there_is_named():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: a call is refused
        address = {"url": f"http://127.0.0.1:{unused.getsockname()[1]}/mcp?token=hidden"}
        with pytest.raises(ConfigurationError, match=r"'far' could not .* it could not be reached.*'farther'") as caught:
            await load_mcp_tools({"far": address, "farther": address})
    assert "hidden" not in str(caught.value)


async def test_an_http_refusal_is_told_by_its_status(http_server):
    foreign = {**http_server, "headers": {"Host": "elsewhere.example"}}  # refused by the server: not its own name
    with pytest.raises(ConfigurationError, match=r"'math' .* it answered with HTTP status 421"):
        await load_mcp_tools({"math": foreign})
