"""LangChain's own middleware in a deep agent: what docs/how-to/write-middleware.md says of each, sync and async."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    FilesystemFileSearchMiddleware,
    HumanInTheLoopMiddleware,
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from stepwell import SummarizationMiddleware as OurSummaries
from stepwell import create_deep_agent
from stepwell.errors import LeaseLostError
from stepwell.testing import ScriptedModel, call, calls, fail, say

THREAD = {"configurable": {"thread_id": "t"}}
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"sum {a + b}"


async def run(agent, text: Any = "go", config: Any = None, *, is_async: bool) -> dict[str, Any]:
    given = text if isinstance(text, Command) else {"messages": text if isinstance(text, list) else [("user", text)]}
    if is_async:
        return await agent.ainvoke(given, config)
    return await asyncio.to_thread(agent.invoke, given, config)


def texts(state) -> list[str]:
    return [message.text for message in state["messages"]]


def results(state) -> list[str]:
    return [message.text for message in state["messages"] if message.type == "tool"]


def talk(rounds: int) -> list[Any]:
    pairs = [(HumanMessage(f"q{n} " + "word " * 50, id=f"h{n}"), AIMessage(f"a{n}", id=f"a{n}")) for n in range(rounds)]
    return [message for pair in pairs for message in pair]


# pii


@COLOURS
async def test_pii_is_redacted_in_input_results_and_answers_and_in_the_thread(is_async):
    def look_up() -> str:
        """Look up an address."""
        return "ann@example.org"

    rules = PIIMiddleware("email", apply_to_output=True, apply_to_tool_results=True)
    model = ScriptedModel([call("look_up"), say("It is bob@example.org.")])
    agent = create_deep_agent(model, [look_up], middleware=[rules, PIIMiddleware("ip")], checkpointer=InMemorySaver())
    state = await run(agent, "I am eve@example.org at 10.0.0.1", THREAD, is_async=is_async)
    assert "example.org" not in " ".join(texts(state))
    assert "10.0.0.1" not in texts(state)[0]
    assert not model.last_asked.mentions("example.org")


@COLOURS
async def test_pii_with_a_summary_and_approvals(is_async):
    rules = PIIMiddleware("email")
    model = ScriptedModel.answering(
        lambda asked: (
            say("SUMMARY") if "<conversation>" in asked.human else say("Done.") if asked.results else call("add", a=1, b=2)
        )
    )
    agent = create_deep_agent(
        model,
        [add],
        middleware=[rules, OurSummaries(model, trigger_tokens=300, keep_messages=2)],
        interrupt_on={"add": True},
        checkpointer=InMemorySaver(),
    )
    paused = await run(agent, [*talk(8), HumanMessage("I am eve@example.org", id="last")], THREAD, is_async=is_async)
    assert paused["__interrupt__"]
    state = await run(agent, APPROVE, THREAD, is_async=is_async)
    assert results(state) == ["sum 3"]
    assert model.last_asked.mentions("SUMMARY")
    assert not any(asked.mentions("example.org") for asked in model.asked)


# context editing


@COLOURS
async def test_context_editing_changes_the_view_and_not_the_thread(is_async):
    editing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=50, keep=1)])
    model = ScriptedModel([call("add", a=1, b=1), call("add", a=2, b=2), call("add", a=3, b=3), say("Done.")])
    agent = create_deep_agent(model, [add], middleware=[editing])
    state = await run(agent, "word " * 200, is_async=is_async)
    assert results(state) == ["sum 2", "sum 4", "sum 6"]
    seen = [message.text for message in model.last_asked.messages if message.type == "tool"]
    assert seen == ["[cleared]", "[cleared]", "sum 6"]


# tool selection


@COLOURS
async def test_tool_selection_offers_what_it_chose(is_async):
    chosen = AIMessage("", tool_calls=[{"name": "ToolSelectionResponse", "args": {"tools": ["add"]}, "id": "1"}])
    selector = ScriptedModel.answering(lambda asked: chosen)
    model = ScriptedModel([call("add", a=1, b=2), say("Done.")])
    selection = LLMToolSelectorMiddleware(model=selector, max_tools=1, always_include=["write_todos"])
    agent = create_deep_agent(model, [add], middleware=[selection])
    state = await run(agent, is_async=is_async)
    assert results(state) == ["sum 3"]
    assert set(model.last_asked.tool_names) == {"add", "write_todos"}


# limits


@COLOURS
async def test_model_call_limit_ends_the_run(is_async):
    model = ScriptedModel.answering(lambda asked: call("add", a=asked.number, b=1))
    agent = create_deep_agent(model, [add], middleware=[ModelCallLimitMiddleware(run_limit=2)])
    state = await run(agent, is_async=is_async)
    assert len(model.asked) == 2
    assert "limit" in texts(state)[-1]


@COLOURS
async def test_tool_call_limit_answers_the_calls_beyond_it(is_async):
    model = ScriptedModel([call("add", a=1, b=1), calls(call("add", a=2, b=2), call("ls", path="/")), say("Done.")])
    limit = ToolCallLimitMiddleware(tool_name="add", run_limit=1)
    state = await run(create_deep_agent(model, [add], middleware=[limit]), is_async=is_async)
    assert results(state)[0] == "sum 2"
    assert sum("limit" in each for each in results(state)) == 1
    assert texts(state)[-1] == "Done."


@COLOURS
async def test_tool_call_limit_with_approvals(is_async):
    model = ScriptedModel([calls(call("add", a=1, b=1), call("add", a=2, b=2)), say("Done.")])
    limit = ToolCallLimitMiddleware(tool_name="add", run_limit=1)
    agent = create_deep_agent(model, [add], middleware=[limit], interrupt_on={"add": True}, checkpointer=InMemorySaver())
    await run(agent, "go", THREAD, is_async=is_async)
    both = Command(resume={"decisions": [{"type": "approve"}, {"type": "approve"}]})
    state = await run(agent, both, THREAD, is_async=is_async)
    assert sorted("limit" in each for each in results(state)) == [False, True]
    assert texts(state)[-1] == "Done."


# failures


@COLOURS
async def test_model_fallback_and_retry(is_async):
    broken = ScriptedModel.answering(lambda asked: fail(ConnectionError("away")))
    other = ScriptedModel([say("From the other model.")])
    state = await run(create_deep_agent(broken, middleware=[ModelFallbackMiddleware(other)]), is_async=is_async)
    assert texts(state)[-1] == "From the other model."
    flaky = ScriptedModel([fail(ConnectionError("away")), say("At last.")])
    retry = ModelRetryMiddleware(initial_delay=0, jitter=False)
    state = await run(create_deep_agent(flaky, middleware=[retry]), is_async=is_async)
    assert texts(state)[-1] == "At last."


def flaky_tool(error: Exception, times: int):
    made: list[int] = []

    def fetch() -> str:
        """Fetch."""
        made.append(1)
        if len(made) <= times:
            raise error
        return "fetched"

    return fetch, made


@COLOURS
async def test_tool_retry(is_async):
    fetch, made = flaky_tool(ConnectionError("away"), 2)
    retry = ToolRetryMiddleware(initial_delay=0, jitter=False)
    model = ScriptedModel([call("fetch"), say("Done.")])
    state = await run(create_deep_agent(model, [fetch], middleware=[retry]), is_async=is_async)
    assert results(state) == ["fetched"]
    assert len(made) == 3


@COLOURS
async def test_tool_error_decides_what_the_model_reads(is_async):
    fetch, _ = flaky_tool(ValueError("inner words"), 9)
    errors = ToolErrorMiddleware(lambda error, request: "The archive is closed today.")
    model = ScriptedModel([call("fetch"), say("Done.")])
    state = await run(create_deep_agent(model, [fetch], middleware=[errors]), is_async=is_async)
    assert results(state) == ["The archive is closed today."]


def rejecting(error: Exception, request: Any) -> str:
    return "rejected"


@COLOURS
@pytest.mark.parametrize(
    "middleware",
    [
        lambda: ToolRetryMiddleware(initial_delay=0, jitter=False),
        lambda: ToolErrorMiddleware(rejecting),
    ],
    ids=["retry", "error"],
)
async def test_a_pause_in_a_tool_is_no_failure(is_async, middleware):
    asked = []

    def pay() -> str:
        """Pay."""
        asked.append(1)
        return f"paid: {interrupt('May I?')}"

    model = ScriptedModel([call("pay"), say("Done.")])
    agent = create_deep_agent(model, [pay], middleware=[middleware()], checkpointer=InMemorySaver())
    paused = await run(agent, "go", THREAD, is_async=is_async)
    assert paused["__interrupt__"][0].value == "May I?"
    assert len(asked) == 1
    state = await run(agent, Command(resume="yes"), THREAD, is_async=is_async)
    assert results(state) == ["paid: yes"]


@COLOURS
@pytest.mark.parametrize(
    "middleware",
    [
        lambda: ToolRetryMiddleware(initial_delay=0, jitter=False),
        lambda: ToolErrorMiddleware(rejecting),
    ],
    ids=["retry", "error"],
)
async def test_a_lost_lease_is_no_failure_of_a_tool(is_async, middleware):
    fetch, made = flaky_tool(LeaseLostError("gone"), 9)
    agent = create_deep_agent(ScriptedModel([call("fetch"), say("Done.")]), [fetch], middleware=[middleware()])
    with pytest.raises(LeaseLostError):
        await run(agent, is_async=is_async)
    assert len(made) == 1


# others


@COLOURS
async def test_tool_emulator_plays_the_named_tools(is_async):
    emulator = ScriptedModel.answering(lambda asked: say("emulated"))
    model = ScriptedModel([calls(call("add", a=1, b=2), call("ls", path="/")), say("Done.")])
    agent = create_deep_agent(model, [add], middleware=[LLMToolEmulator(tools=["add"], model=emulator)])
    state = await run(agent, is_async=is_async)
    assert results(state)[0] == "emulated"
    assert "emulated" not in results(state)[1]


@COLOURS
async def test_file_search_looks_on_the_host(is_async, tmp_path: Path):
    (tmp_path / "a.py").write_text("needle = 1\n")
    search = FilesystemFileSearchMiddleware(root_path=str(tmp_path), use_ripgrep=False)
    model = ScriptedModel([calls(call("glob_search", pattern="*.py"), call("grep_search", pattern="needle")), say("Done.")])
    state = await run(create_deep_agent(model, middleware=[search]), is_async=is_async)
    assert all("a.py" in each for each in results(state))


@COLOURS
async def test_langchain_s_summaries_replace_ours_and_the_messages(is_async):
    summaries = SummarizationMiddleware(
        ScriptedModel.answering(lambda asked: say("SUMMARY")), trigger=("messages", 8), keep=("messages", 3)
    )
    model = ScriptedModel.answering(lambda asked: say("Ok."))
    agent = create_deep_agent(model, middleware=[summaries], checkpointer=InMemorySaver())
    state = await run(agent, [*talk(8), HumanMessage("And now?", id="last")], THREAD, is_async=is_async)
    assert "SUMMARY" in texts(state)[0]
    assert len(state["messages"]) == 5
    again = await run(agent, "More", THREAD, is_async=is_async)
    assert len(again["messages"]) == 7
    assert texts(again)[-1] == "Ok."


@COLOURS
async def test_langchain_s_todo_list_replaces_ours(is_async):
    todo = TodoListMiddleware(system_prompt="Plan a little.")
    model = ScriptedModel([call("write_todos", todos=[{"content": "x", "status": "pending"}]), say("Done.")])
    state = await run(create_deep_agent(model, middleware=[todo]), is_async=is_async)
    assert state["todos"] == [{"content": "x", "status": "pending"}]
    model.last_asked.assert_mentions("Plan a little.")
    assert model.last_asked.tool_names.count("write_todos") == 1


@COLOURS
async def test_langchain_s_approvals_replace_ours(is_async):
    approvals = HumanInTheLoopMiddleware(interrupt_on={"add": True})
    model = ScriptedModel([call("add", a=1, b=2), say("Done.")])
    agent = create_deep_agent(model, [add], middleware=[approvals], checkpointer=InMemorySaver())
    assert (await run(agent, "go", THREAD, is_async=is_async))["__interrupt__"]
    assert results(await run(agent, APPROVE, THREAD, is_async=is_async)) == ["sum 3"]


@COLOURS
async def test_subagents_get_it_where_it_is_named_and_general_purpose_always(is_async):
    """LangChain's middleware says nothing about subagents, so a named one has only what its own list says."""
    limit = ModelCallLimitMiddleware(run_limit=1)
    helper = {"name": "helper", "description": "helps", "system_prompt": "Help.", "tools": [add], "middleware": [limit]}
    plain = {"name": "plain", "description": "helps", "system_prompt": "Help.", "tools": [add]}
    work = [call("add", a=1, b=2), say("Finished.")]
    model = ScriptedModel.by_agent(
        {
            "main": [
                calls(*(call("task", description="x", subagent_type=name) for name in ("helper", "plain", "general-purpose"))),
                say("Done."),
            ],
            "helper": work[:1],
            "plain": work,
            "general-purpose": work,
        }
    )
    rules = ToolCallLimitMiddleware(tool_name="add", run_limit=0, exit_behavior="continue")
    agent = create_deep_agent(model, [add], subagents=[helper, plain], middleware=[rules])
    state = await run(agent, is_async=is_async)
    limited, finished, general = results(state)
    assert "limit" in limited
    assert finished == general == "Finished."
    seen = {asked.agent: [each.text for each in asked.results] for asked in model.asked if asked.results}
    assert seen["plain"] == ["sum 3"]
    assert "limit" in seen["general-purpose"][0]
