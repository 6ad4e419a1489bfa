"""Middleware of the caller's that is written for sync code only, or for async code only."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from stepwell import create_deep_agent
from stepwell.errors import MiddlewareError
from stepwell.testing import ScriptedModel, call, calls, say

GO = {"messages": [("user", "go")]}


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


class AroundTools(AgentMiddleware):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        result = handler(request)
        self.seen.append(result.text)
        return result


class AroundModels(AgentMiddleware):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self.calls += 1
        return handler(request)


def results_of(final: dict[str, Any]) -> list[str]:
    return [message.text for message in final["messages"] if isinstance(message, ToolMessage)]


def the_script() -> ScriptedModel:
    return ScriptedModel([call("add", a=1, b=2), say("Three.")])


def test_sync_middleware_stands_around_tools_in_sync_code():
    around = AroundTools()
    final = create_deep_agent(the_script(), [add], middleware=[around]).invoke(GO)
    assert results_of(final) == around.seen == ["3"]


async def test_sync_middleware_stands_around_tools_in_async_code():
    """A server is async; middleware that was only tried with `invoke` must work there too."""
    around = AroundTools()
    final = await create_deep_agent(the_script(), [add], middleware=[around]).ainvoke(GO)
    assert results_of(final) == around.seen == ["3"]


async def test_sync_middleware_stands_around_models_in_async_code():
    around = AroundModels()
    final = await create_deep_agent(the_script(), [add], middleware=[around]).ainvoke(GO)
    assert (final["messages"][-1].text, around.calls) == ("Three.", 2)


async def test_sync_middleware_of_a_subagent_works_in_async_code():
    around = AroundTools()
    worker: Any = {"name": "worker", "description": "adds", "system_prompt": "Add.", "middleware": [around]}
    script = {
        "boss": [call("task", description="add", subagent_type="worker"), say("Done.")],
        "worker": [call("add", a=1, b=2), say("Three.")],
    }
    agent = create_deep_agent(ScriptedModel.by_agent(script), [add], subagents=[worker], name="boss")
    final = await agent.ainvoke(GO)
    assert (results_of(final), around.seen) == (["Three."], ["3"])


async def test_the_event_loop_is_free_while_sync_middleware_waits():
    """Two calls side by side: the first waits in its sync half for what the second does."""
    other_ran = threading.Event()

    class Waiting(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            if request.tool_call["args"]["a"] == 1:
                assert other_ran.wait(60)
            result = handler(request)
            other_ran.set()
            return result

    model = ScriptedModel([calls(call("add", a=1, b=2), call("add", a=3, b=4)), say("Done.")])
    final = await create_deep_agent(model, [add], middleware=[Waiting()]).ainvoke(GO)
    assert results_of(final) == ["3", "7"]


async def test_a_tool_inside_sync_middleware_sees_the_context_and_can_pause():
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")

    @tool
    async def ask() -> str:
        """Ask."""
        return f"{who.get()}: {interrupt('Sure?')}"

    class Naming(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            who.set("alice")
            return handler(request)

    agent = create_deep_agent(
        ScriptedModel([call("ask"), say("Done.")]), [ask], middleware=[Naming()], checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    paused = await agent.ainvoke(GO, thread)
    assert paused["__interrupt__"][0].value == "Sure?"
    assert results_of(await agent.ainvoke(Command(resume="yes"), thread)) == ["alice: yes"]


async def test_a_run_that_is_cancelled_cancels_the_tool_inside_sync_middleware():
    began, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def wait_for_ever() -> str:
        """Wait."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    agent = create_deep_agent(ScriptedModel([call("wait_for_ever")]), [wait_for_ever], middleware=[AroundTools()])
    run = asyncio.create_task(agent.ainvoke(GO))
    await asyncio.wait_for(began.wait(), 60)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await asyncio.wait_for(ended.wait(), 60)


def test_async_middleware_in_sync_code_fails_the_run_with_a_sentence():
    class OnlyAsync(AgentMiddleware):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

    agent = create_deep_agent(the_script(), [add], middleware=[OnlyAsync()])
    with pytest.raises(MiddlewareError, match=r"OnlyAsync.*awrap_tool_call.*ainvoke"):
        agent.invoke(GO)


async def test_async_middleware_works_in_async_code():
    class OnlyAsync(AgentMiddleware):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            await handler(request)
            return AIMessage("Mine.")

    final = await create_deep_agent(ScriptedModel([say("Yours.")]), middleware=[OnlyAsync()]).ainvoke(GO)
    assert final["messages"][-1].text == "Mine."


class Broken(AgentMiddleware):
    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return len(handler)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_programming_error_in_middleware_fails_the_run(is_async: bool):
    agent = create_deep_agent(the_script(), [add], middleware=[Broken()])
    with pytest.raises(MiddlewareError, match=r"Broken\.wrap_tool_call.*'add'.*TypeError"):
        await agent.ainvoke(GO) if is_async else agent.invoke(GO)


async def test_a_programming_error_in_a_subagents_middleware_fails_the_run():
    worker: Any = {"name": "worker", "description": "adds", "system_prompt": "Add.", "middleware": [Broken()]}
    script = {
        "boss": [call("task", description="add", subagent_type="worker"), say("Done.")],
        "worker": [call("add", a=1, b=2), say("Three.")],
    }
    agent = create_deep_agent(ScriptedModel.by_agent(script), [add], subagents=[worker], name="boss")
    with pytest.raises(MiddlewareError, match="Broken"):
        await agent.ainvoke(GO)


@pytest.mark.parametrize("around", [AroundTools, AroundModels])
async def test_a_half_that_a_subagent_of_the_callers_own_lacks_fails_the_run(around: type[AgentMiddleware]):
    worker = create_agent(the_script(), [add], middleware=[around()])
    boss = ScriptedModel([call("task", description="add", subagent_type="worker"), say("Done.")])
    agent = create_deep_agent(boss, subagents=[{"name": "worker", "description": "adds", "runnable": worker}])
    with pytest.raises(MiddlewareError, match=r"'worker'.*Asynchronous implementation of awrap_"):
        await agent.ainvoke(GO)


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_same_error_in_a_tool_is_its_result(is_async: bool):
    @tool
    def broken() -> int:
        """Fails."""
        return len(1)  # type: ignore[arg-type]

    agent = create_deep_agent(ScriptedModel([call("broken"), say("Oh.")]), [broken], middleware=[AroundTools()])
    final = await agent.ainvoke(GO) if is_async else agent.invoke(GO)
    assert "TypeError" in results_of(final)[0]


async def test_an_error_that_middleware_raises_to_refuse_a_call_is_its_result():
    class Guard(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            raise PermissionError("not on Sundays")

    final = await create_deep_agent(the_script(), [add], middleware=[Guard()]).ainvoke(GO)
    assert "not on Sundays" in results_of(final)[0]
