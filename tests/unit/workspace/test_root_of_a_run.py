"""W2: from the request's root to the tool that asks for it: per request, sync and async, in subagents, with nothing shared."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import (
    ConfigToStateMiddleware,
    ConfigurationError,
    GCSRuntimeMiddleware,
    ObjectBackend,
    create_deep_agent,
    get_gcs_root_path,
    set_gcs_root_path,
)
from stepwell.backends.objects import memory_bucket
from stepwell.errors import AccessError, InvalidRequestError
from stepwell.testing import ScriptedModel, call, each_run, reply, say

ASK = {"messages": [("user", "go")]}


def at(root: Any, thread: str | None = None) -> dict[str, Any]:
    return {"configurable": {"gcs_root_path": root, "thread_id": thread or str(root)}}


@tool
def whose() -> str:
    """Say whose files these are."""
    return get_gcs_root_path()


@tool
async def awhose() -> str:
    """Say whose files these are, from async code."""
    await asyncio.sleep(0)
    return get_gcs_root_path()


def agent(tools: list[Any], **options: Any) -> Any:
    model = ScriptedModel(each_run([call(tools[0].name), say("done")]))
    return create_agent(model, tools, middleware=[ConfigToStateMiddleware(**options), GCSRuntimeMiddleware()])


def result_of(final: dict[str, Any]) -> str:
    return next(message.content for message in final["messages"] if message.type == "tool")


def test_a_tool_gets_the_root_of_its_request_in_its_normal_form():
    assert result_of(agent([whose]).invoke(ASK, at("company/workspace"))) == "/company/workspace/"


@pytest.mark.parametrize("which", [whose, awhose], ids=["sync tool", "async tool"])
async def test_the_async_forms_do_the_same(which: Any):
    """W2: both forms are written; with only the sync one, `ainvoke` would skip the check in silence."""
    final = await agent([which]).ainvoke(ASK, at("company/workspace"))
    assert result_of(final) == "/company/workspace/"
    assert final["gcs_root_path"] == "/company/workspace/"
    with pytest.raises(InvalidRequestError):
        await agent([which]).ainvoke(ASK, {})


@pytest.mark.parametrize("config", [{}, {"configurable": {}}, at(""), at("/"), at(None), at("..")], ids=str)
def test_a_missing_root_is_an_error_before_a_model_is_asked(config: dict[str, Any]):
    model = ScriptedModel([])
    lone = create_agent(model, [whose], middleware=[ConfigToStateMiddleware()])
    with pytest.raises(InvalidRequestError, match="workspace root") as refused:
        lone.invoke(ASK, config)
    assert isinstance(refused.value, ValueError), "W2: what Python callers catch"


def test_a_root_in_the_input_is_not_the_requests():
    """W9: state comes from the client too; only the request's config says whose files they are."""
    with pytest.raises(InvalidRequestError, match="missing"):
        agent([whose]).invoke({**ASK, "gcs_root_path": "/other/"}, {})
    with pytest.raises(InvalidRequestError, match="another workspace"):
        agent([whose]).invoke({**ASK, "gcs_root_path": "/other/"}, at("/mine/"))


def test_a_default_is_for_places_with_one_tenant():
    assert result_of(agent([whose], default="/local/files/").invoke(ASK, {})) == "/local/files/"


def test_nothing_stays_behind_after_a_call():
    agent([whose]).invoke(ASK, at("company/workspace"))
    with pytest.raises(ConfigurationError, match="set_gcs_root_path"):
        get_gcs_root_path()


def test_code_outside_of_an_agent_may_set_a_root():
    from contextvars import copy_context

    def use() -> str:
        set_gcs_root_path("t1/w1")
        return get_gcs_root_path()

    assert copy_context().run(use) == "/t1/w1/"


async def test_requests_at_the_same_time_share_nothing():
    """W2, W9: fifty requests in one process, each with its own root, through one graph, a subagent and the file tools."""
    bucket = memory_bucket()
    for number in range(50):
        await ObjectBackend(bucket, f"/t{number}/").awrite("/mine.md", f"I am {number}.")
    clerk = {
        "name": "clerk",
        "description": "reads",
        "system_prompt": "You read.",
        "middleware": [GCSRuntimeMiddleware()],
    }
    scripts = {
        "main": each_run([call("task", description="read it", subagent_type="clerk"), say("done")]),
        "clerk": each_run([call("read_file", file_path="/mine.md"), reply(lambda asked: asked.messages[-1].content)]),
    }
    graph = create_deep_agent(
        ScriptedModel.by_agent(scripts),
        backend=ObjectBackend(bucket),
        subagents=[clerk],
        middleware=[ConfigToStateMiddleware()],
    )
    finals = await asyncio.gather(*(graph.ainvoke(ASK, at(f"/t{number}/")) for number in range(50)))
    assert [result_of(final) for final in finals] == [f"     1\tI am {number}." for number in range(50)]


def test_a_subagent_needs_no_copy_in_state():
    """W2: our subagents receive the config, so the runtime middleware alone is enough there (ADR 0018)."""
    clerk = {
        "name": "clerk",
        "description": "asks",
        "system_prompt": "You ask.",
        "tools": [whose],
        "middleware": [GCSRuntimeMiddleware()],
    }
    scripts = {
        "main": [call("task", description="ask", subagent_type="clerk"), say("done")],
        "clerk": [call("whose"), reply(lambda asked: asked.messages[-1].content)],
    }
    graph = create_deep_agent(ScriptedModel.by_agent(scripts), subagents=[clerk])
    assert result_of(graph.invoke(ASK, at("/t1/w1/"))) == "/t1/w1/"


def test_a_thread_belongs_to_one_workspace():
    """W9: what was read for one tenant never stands in a conversation about another."""
    model = ScriptedModel(each_run([call("whose"), say("done")]))
    graph = create_agent(
        model, [whose], middleware=[ConfigToStateMiddleware(), GCSRuntimeMiddleware()], checkpointer=InMemorySaver()
    )
    graph.invoke(ASK, at("/t1/", "thread"))
    with pytest.raises(InvalidRequestError, match="another workspace") as caught:
        graph.invoke(ASK, at("/t2/", "thread"))
    assert "t1" not in str(caught.value)


@pytest.mark.parametrize("middleware", [ConfigToStateMiddleware, GCSRuntimeMiddleware])
def test_a_request_can_only_narrow_what_the_caller_may_use(middleware: Any):
    """W9: the roots come from who the caller is; `/t1/` does not open `/t10/`."""

    def allowed(config: Any) -> list[str]:
        return config["configurable"]["langgraph_auth_user"]["roots"]

    model = ScriptedModel(each_run([say("done")]))
    graph = create_agent(model, [whose], middleware=[middleware(allowed=allowed)])

    def ask(root: str) -> Any:
        config = at(root)
        config["configurable"]["langgraph_auth_user"] = {"roots": ["/t1/", "/shared/w1"]}
        return graph.invoke(ASK, config)

    for root in ("/t1/", "/t1/w1/", "/shared/w1/"):
        ask(root)
    for root in ("/t10/", "/t2/", "/shared/", "/shared/w10/"):
        with pytest.raises(InvalidRequestError, match="not open to you") as caught:
            ask(root)
        assert root not in str(caught.value)


@pytest.mark.parametrize("pinned", [None, "/t1/", {}, {"root": None}, {"root": ""}], ids=str)
def test_a_run_whose_server_opened_no_root_has_none(pinned: Any):
    """W9: whatever else the request names, and whoever is allowed to use it."""
    config = at("/t1/")
    config["configurable"]["langgraph_auth_workspace"] = pinned
    with pytest.raises(AccessError, match="no workspace"):
        agent([whose]).invoke(ASK, config)
