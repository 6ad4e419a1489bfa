"""A lost database, a lost lease, a pause and a cancellation are never what a tool or a subagent answers, however they are wrapped."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.exceptions import ModelConnectionError
from langchain_core.tools import StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt, NodeCancelledError
from langgraph.store.base import BaseStore
from langgraph.types import Command, interrupt
from mcp.types import Tool

from stepwell import RobustCallsMiddleware, StoreBackend, create_deep_agent
from stepwell.errors import LeaseLostError, ModelAnswerError, StorageUnavailableError
from stepwell.research.audit.evidence import Claim, Quote
from stepwell.research.audit.verdicts import verdict
from stepwell.testing import ScriptedModel, call, say
from stepwell.tools.mcp_calls import tool_of

USER = {"messages": [("user", "go")]}
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
DEPTHS = pytest.mark.parametrize("depth", [0, 1, 2], ids=["main agent", "subagent", "subagent of a subagent"])

LOST = {
    "storage": lambda: StorageUnavailableError("The database is away.", away=True),
    "lease": lambda: LeaseLostError("Another worker drives the thread."),
}
CANCELLED = {"future": concurrent.futures.CancelledError, "node": lambda: NodeCancelledError("tools")}


def in_cause(error: Exception) -> Exception:
    try:
        raise ToolException("it failed") from error
    except ToolException as wrapped:
        return wrapped


def in_context(error: Exception) -> Exception:
    try:
        try:
            raise error
        except Exception:
            raise ValueError("it failed")  # noqa: B904 - what careless tools do
    except ValueError as wrapped:
        return wrapped


def hidden(error: Exception) -> Exception:
    try:
        try:
            raise error
        except Exception:
            raise ValueError("it failed") from None
    except ValueError as wrapped:
        return wrapped


def in_group(error: Exception) -> Exception:
    return ExceptionGroup("side by side", [ValueError("another"), ExceptionGroup("inner", [error])])


WRAPPED: dict[str, Callable[[Exception], Exception]] = {
    "bare": lambda error: error,
    "cause": in_cause,
    "context": in_context,
    "from None": hidden,
    "group": in_group,
    "group in a cause": lambda error: in_cause(in_group(error)),
}


def failing_agent(raise_it: Callable[[], Exception], depth: int, **more: Any):
    """An agent, or one whose subagents hand the work on, with a tool that fails."""

    @tool
    def act() -> str:
        """Act."""
        raise raise_it()

    agent = create_deep_agent(ScriptedModel([call("act"), say("The tool failed, so I go on.")]), [act])
    for _ in range(depth):
        inner = {"name": "helper", "description": "helps", "runnable": agent}
        model = ScriptedModel([call("task", description="act", subagent_type="helper"), say("It failed, so I go on.")])
        agent = create_deep_agent(model, subagents=[inner])
    return agent


async def run(agent: Any, is_async: bool, given: Any = USER, config: Any = None) -> Any:
    return await agent.ainvoke(given, config) if is_async else await asyncio.to_thread(agent.invoke, given, config)


@COLOURS
@DEPTHS
@pytest.mark.parametrize("lost", LOST)
async def test_a_lost_database_or_lease_is_not_a_tools_result(is_async: bool, depth: int, lost: str):
    error = LOST[lost]()
    with pytest.raises(type(error)) as raised:
        await run(failing_agent(lambda: error, depth), is_async)
    assert raised.value is error


@COLOURS
@pytest.mark.parametrize("wrapped", WRAPPED)
async def test_a_lost_database_is_found_in_whatever_it_is_wrapped_in(is_async: bool, wrapped: str):
    error = LOST["storage"]()
    with pytest.raises(StorageUnavailableError) as raised:
        await run(failing_agent(lambda: WRAPPED[wrapped](error), 1), is_async)
    assert raised.value is error


@COLOURS
@DEPTHS
@pytest.mark.parametrize("kind", CANCELLED)
async def test_a_cancellation_is_not_a_tools_result(is_async: bool, depth: int, kind: str):
    # On the way out of a thread asyncio puts its own class in the place of a future's, and LangGraph its own in the place of that.
    with pytest.raises((concurrent.futures.CancelledError, asyncio.CancelledError, NodeCancelledError)):
        await run(failing_agent(CANCELLED[kind], depth), is_async)


async def test_a_time_out_is_a_tools_result_although_python_makes_it_of_a_cancellation():
    @tool
    async def act() -> str:
        """Act."""
        async with asyncio.timeout_at(0):
            await asyncio.Event().wait()
        return "never"

    agent = create_deep_agent(ScriptedModel([call("act"), say("done")]), [act])
    final = await agent.ainvoke(USER)
    assert "TimeoutError" in final["messages"][2].text


@COLOURS
@pytest.mark.parametrize("depth", [0, 1], ids=["main agent", "subagent"])
@pytest.mark.parametrize("flag", [True, "It failed.", lambda error: "It failed."], ids=["true", "text", "function"])
async def test_a_tool_that_handles_its_own_errors_cannot_hide_a_lost_database(is_async: bool, depth: int, flag: Any):
    def act() -> str:
        raise in_cause(LOST["storage"]())

    made = StructuredTool.from_function(act, name="act", description="Act.", handle_tool_error=flag)
    agent = create_deep_agent(ScriptedModel([call("act"), say("done")]), [made])
    for _ in range(depth):
        inner = {"name": "helper", "description": "helps", "runnable": agent}
        agent = create_deep_agent(
            ScriptedModel([call("task", description="act", subagent_type="helper"), say("done")]), subagents=[inner]
        )
    with pytest.raises(StorageUnavailableError):
        await run(agent, is_async)


@COLOURS
@pytest.mark.parametrize(
    ("flag", "said"),
    [(True, "out of ink"), ("Ask later.", "Ask later."), (lambda error: f"told: {error}", "told: out of ink")],
    ids=["true", "text", "function"],
)
async def test_a_tool_still_handles_its_other_errors_itself(is_async: bool, flag: Any, said: str):
    def act() -> str:
        raise ToolException("out of ink")

    made = StructuredTool.from_function(act, name="act", description="Act.", handle_tool_error=flag)
    final = await run(create_deep_agent(ScriptedModel([call("act"), say("done")]), [made]), is_async)
    assert final["messages"][2].text == said


@COLOURS
@DEPTHS
@pytest.mark.parametrize("wrapped", ["group", "cause", "context"])
async def test_a_pause_inside_a_wrapped_error_still_pauses(is_async: bool, depth: int, wrapped: str):
    @tool
    def act() -> str:
        """Act."""
        try:
            return f"acted: {interrupt('May I?')}"
        except GraphInterrupt as pause:
            error = WRAPPED[wrapped](pause)
        raise error

    agent = create_deep_agent(ScriptedModel([call("act"), say("done")]), [act])
    for _ in range(depth):
        inner = {"name": "helper", "description": "helps", "runnable": agent}
        model = ScriptedModel([call("task", description="act", subagent_type="helper"), say("done")])
        agent = create_deep_agent(model, subagents=[inner])
    agent.checkpointer = InMemorySaver()
    config = {"configurable": {"thread_id": "t"}}
    paused = await run(agent, is_async, USER, config)
    assert [pending.value for pending in paused["__interrupt__"]] == ["May I?"]
    final = await run(agent, is_async, Command(resume="yes"), config)
    assert final["messages"][-1].text == "done"
    assert all("failed" not in message.text for message in final["messages"])


class LosingStore(BaseStore):
    """A store of a server whose database is away."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def batch(self, ops: Any) -> Any:
        raise self._error

    async def abatch(self, ops: Any) -> Any:
        raise self._error


@COLOURS
@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize(
    "asked",
    [
        call("ls", path="/"),
        call("read_file", file_path="/a"),
        call("write_file", file_path="/a", content="x"),
        call("grep", pattern="x"),
    ],
    ids=["ls", "read", "write", "grep"],
)
async def test_a_store_without_its_database_gives_no_result(is_async: bool, lost: str, asked: Any):
    error = LOST[lost]()
    agent = create_deep_agent(ScriptedModel([asked, say("done")]), backend=StoreBackend(), store=LosingStore(in_cause(error)))
    with pytest.raises(type(error)):
        await run(agent, is_async)


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("wrapped", WRAPPED)
async def test_a_lost_model_call_is_not_repeated_for_a_lost_database(lost: str, wrapped: str):
    """An SDK takes whatever its transport raises for a fault of the connection."""
    error, asked = LOST[lost](), 0

    def answer(_: Any) -> Any:
        nonlocal asked
        asked += 1
        raise ModelConnectionError("no connection") from WRAPPED[wrapped](error)

    agent = create_deep_agent(
        ScriptedModel.answering(answer), middleware=[RobustCallsMiddleware(max_retries=3, first_wait_s=0)]
    )
    with pytest.raises(type(error)):
        await agent.ainvoke(USER)
    assert asked == 1


class LosingJudge:
    def __init__(self, error: Exception) -> None:
        self._error = error

    async def judge(self, claim_text: str, quotes: Any) -> Any:
        raise self._error


@pytest.mark.parametrize("lost", LOST)
async def test_a_sentence_is_not_judged_by_a_lost_database(lost: str):
    quote = Quote("q1", "s1", 0, 27, "Water boils at 100 degrees.")
    claim = Claim("c1", "Water boils at 100 degrees.", ("q1",))
    for error in (LOST[lost](), ModelAnswerError("no answer")):
        if isinstance(error, ModelAnswerError):
            error.__cause__ = LOST[lost]()
        with pytest.raises(type(LOST[lost]())):
            await verdict(claim, {"q1": quote}, LosingJudge(error))


class LosingSession:
    """A session of an MCP server that asks back in the middle of a call, and whoever answers has no database."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def call_tool(self, *args: Any, **more: Any) -> Any:
        raise self._error


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("wrapped", WRAPPED)
async def test_a_tool_of_an_mcp_server_does_not_answer_with_a_lost_database(lost: str, wrapped: str):
    error = LOST[lost]()
    session: Any = LosingSession(WRAPPED[wrapped](error))
    described = Tool(name="act", inputSchema={"type": "object", "properties": {}})
    made = tool_of("server", described, session=session, prefix=False, call_timeout_s=60, may_ask=False)
    agent = create_deep_agent(ScriptedModel([call("act"), say("done")]), [made])
    with pytest.raises(type(error)):
        await agent.ainvoke(USER)
