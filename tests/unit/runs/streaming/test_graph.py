"""Which events a graph's drive brings, by mode: the names and forms of LangGraph's server, compared with it when written."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import MessagesState as HelloState
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from stepwell.agent import create_deep_agent
from stepwell.database.types import RunRequest
from stepwell.errors import InvalidRequestError
from stepwell.runs.streaming.graph import stream_graph
from stepwell.runs.streaming.modes import STREAM_MODES
from stepwell.testing import ScriptedModel, call, calls, fail, say

from .stream_world import HELLO, THREAD, Seen, State, chain, chat, fan, stream, two_nodes, watch


def ask(question: str) -> Any:
    async def node(_: Any) -> Any:
        return {"log": [interrupt({"q": question})]}

    return node


async def test_values_and_updates_come_in_langgraphs_order() -> None:
    seen = await watch(two_nodes(), "values updates")
    assert seen.events == [
        ("values", {"n": 0, "log": []}),
        ("updates", {"one": {"n": 1, "log": ["one"]}}),
        ("values", {"n": 1, "log": ["one"]}),
        ("updates", {"two": {"n": 2, "log": ["two"]}}),
        ("values", {"n": 2, "log": ["one", "two"]}),
    ]


async def test_values_reach_the_engine_though_the_caller_wants_none() -> None:
    seen = await watch(two_nodes(), "custom")
    assert seen.events == []
    assert seen.values[-1] == {"n": 2, "log": ["one", "two"]}


async def test_a_question_stands_in_values_and_updates_and_not_in_the_engines_values() -> None:
    seen = await watch(chain(("ask", ask("why?"))), "values updates")
    (asked,) = seen.interrupts
    shown = [{"value": {"q": "why?"}, "id": asked.interrupt_id, "response_schema": None}]
    assert ("updates", {"__interrupt__": shown}) in seen.events
    assert seen.events[-1] == ("values", {"n": 0, "log": [], "__interrupt__": shown})
    assert seen.values[-1] == {"n": 0, "log": []}
    assert (asked.value, asked.namespace, len(asked.task_id)) == ({"q": "why?"}, "", 36)


@pytest.mark.parametrize("subgraphs", [False, True])
async def test_no_event_shows_a_question_before_it_is_told(subgraphs: bool) -> None:
    """Else a client could answer a question that nobody has noted yet."""
    known: set[str] = set()
    graph = fan(a=ask("A"), b=chain(("q", ask("B"))).compile())
    async for progress in stream(graph, "values updates tasks debug", stream_subgraphs=subgraphs):
        known |= {each.interrupt_id for each in progress.interrupts}
        shown = "".join(event.data.decode() for event in progress.events)
        assert all(found in known for found in re.findall(r'"id":"([0-9a-f]{32})"', shown))
    assert len(known) == 2


async def test_an_answer_goes_on_where_the_question_was() -> None:
    saver, graph = InMemorySaver(), chain(("ask", ask("why?")))
    (asked,) = (await watch(graph, "values", saver=saver)).interrupts
    seen = await watch(graph, "values", saver=saver, input=Command(resume={asked.interrupt_id: "because"}))
    assert seen.values[-1]["log"] == ["because"]
    assert seen.interrupts == []


async def test_a_question_is_told_while_its_sibling_still_runs() -> None:
    answered = asyncio.Event()

    async def slow(_: Any) -> Any:
        await answered.wait()
        return {"log": ["slow"]}

    seen = Seen()
    async for progress in stream(fan(quick=ask("A"), slow=slow), "values"):
        seen.add(progress)
        if progress.interrupts:
            answered.set()
    assert [each.value for each in seen.interrupts] == [{"q": "A"}]


async def test_a_subgraphs_question_is_told_at_once_when_subgraphs_are_streamed() -> None:
    answered = asyncio.Event()

    async def slow(_: Any) -> Any:
        await answered.wait()

    graph = chain(("inner", fan(quick=ask("A"), slow=slow).compile()))
    seen = Seen()
    async for progress in stream(graph, "updates", stream_subgraphs=True):
        seen.add(progress)
        if progress.interrupts:
            answered.set()
    (asked,) = seen.interrupts
    assert asked.namespace.startswith("inner:")
    assert asked.task_id not in asked.namespace


async def test_questions_of_parallel_subgraphs_come_once_each_with_their_tasks() -> None:
    graph = fan(a=chain(("q", ask("A"))).compile(), b=chain(("q", ask("B"))).compile())
    for subgraphs in (False, True):
        seen = await watch(graph, "values", stream_subgraphs=subgraphs)
        assert sorted(each.value["q"] for each in seen.interrupts) == ["A", "B"]
        assert len({each.task_id for each in seen.interrupts}) == 2
        assert {each.namespace.partition(":")[0] for each in seen.interrupts} == ({"a", "b"} if subgraphs else {""})


async def test_a_question_that_is_still_open_after_an_answer_is_told_again() -> None:
    """So that whoever drives knows at the end of each run all that the thread waits for."""
    saver, graph = InMemorySaver(), fan(a=ask("A"), b=ask("B"))
    first = (await watch(graph, "values", saver=saver)).interrupts
    answered = next(each for each in first if each.value == {"q": "A"})
    second = (await watch(graph, "values", saver=saver, input=Command(resume={answered.interrupt_id: 1}))).interrupts
    assert second == [each for each in first if each.value == {"q": "B"}]


async def test_a_question_with_a_form_brings_the_forms_schema() -> None:
    async def node(_: Any) -> Any:
        return {"log": [interrupt("how many?", response_schema=int)]}

    (asked,) = (await watch(chain(("ask", node)), "values")).interrupts
    assert asked.response_schema == {"type": "integer"}


@pytest.mark.parametrize("where", [{"interrupt_before": ("two",)}, {"interrupt_after": ("one",)}, {"interrupt_after": "*"}])
async def test_a_stop_that_the_caller_asked_for_is_an_empty_list_of_questions(where: dict[str, Any]) -> None:
    seen = await watch(two_nodes(), "updates", **where)
    assert seen.events == [("updates", {"one": {"n": 1, "log": ["one"]}}), ("updates", {"__interrupt__": []})]
    assert seen.interrupts == []


async def test_events_of_subgraphs_carry_their_namespace_and_only_come_when_asked_for() -> None:
    graph = chain(("outer", chain(("inner", two_nodes().compile())).compile()))
    assert set((await watch(graph, "values updates tasks")).names) == {"values", "updates", "tasks"}
    names = (await watch(graph, "updates", stream_subgraphs=True)).names
    assert [[part.partition(":")[0] for part in name.split("|")] for name in names] == [
        ["updates", "outer", "inner"],
        ["updates", "outer", "inner"],
        ["updates", "outer"],
        ["updates"],
    ]


async def test_custom_is_whatever_a_node_writes() -> None:
    async def write(_: Any) -> Any:
        writer = get_stream_writer()
        writer({"p": 1})
        writer("text")
        writer("a\ud800")

    seen = await watch(chain(("write", write)), "custom")
    assert seen.events == [("custom", {"p": 1}), ("custom", "text"), ("custom", "a\ufffd")]


async def test_tasks_start_and_end() -> None:
    (_, start), (_, end) = (await watch(chain(("one", lambda _: {"n": 1})), "tasks")).events
    assert (start["name"], start["input"], start["triggers"]) == ("one", {"n": 0, "log": []}, ["branch:to:one"])
    assert end == {"id": start["id"], "name": "one", "error": None, "result": {"n": 1}, "interrupts": []}


async def test_an_error_passes_through_after_the_task_has_told_it() -> None:
    def bad(_: Any) -> Any:
        raise ValueError("no such thing")

    seen = Seen()
    with pytest.raises(ValueError, match="no such thing"):
        await watch(chain(("bad", bad)), "tasks", into=seen)
    assert seen.events[-1][1]["error"] == {"error": "ValueError", "message": "no such thing"}


async def test_checkpoints_name_their_place_and_nothing_else_of_the_configuration() -> None:
    graph = chain(("inner", two_nodes().compile()))
    seen = await watch(graph, "checkpoints", stream_subgraphs=True, configurable={"user": "u", "__lease": object()})
    place = {"thread_id", "checkpoint_ns", "checkpoint_id"}
    for name, data in seen.events:
        assert set(data["config"]["configurable"]) == (place if name == "checkpoints" else place | {"checkpoint_map"})
        assert data["config"]["configurable"]["thread_id"] == THREAD
    assert [data["next"] for name, data in seen.events if name == "checkpoints"] == [["__start__"], ["inner"], []]
    state = seen.events[1][1]["tasks"][0]["state"]
    assert set(state["configurable"]) == {"thread_id", "checkpoint_ns"}


async def test_debug_wraps_checkpoints_and_tasks_and_says_where_they_are() -> None:
    seen = await watch(chain(("inner", chain(("one", lambda _: {"n": 1})).compile())), "debug")
    kinds = [data["type"] for _, data in seen.events]
    assert kinds == ["checkpoint", "checkpoint", "task", "task_result", "checkpoint"]
    first, second = seen.events[0][1]["payload"], seen.events[1][1]["payload"]
    assert first["parent_checkpoint"] is None
    assert second["parent_checkpoint"] == first["checkpoint"] == first["config"]["configurable"]
    assert second["tasks"][0]["checkpoint"]["checkpoint_ns"].startswith("inner:")
    assert "state" not in second["tasks"][0]


async def test_callback_events_come_between_the_other_modes() -> None:
    seen = await watch(chat(), "events values messages-tuple", input=HELLO, metadata={"graph_id": "g"})
    kinds = [data["event"] if name == "events" else name for name, data in seen.events]
    assert kinds[:4] == ["on_chain_start", "values", "on_chain_start", "on_chat_model_start"]
    assert kinds.count("on_chat_model_stream") == kinds.count("messages") - 1 == 3
    assert kinds[-1] == "on_chain_end"
    assert "tasks" not in kinds
    assert seen.values[-1]["messages"][-1].content == "42"


async def test_tools_tell_their_calls_in_the_sdks_form() -> None:
    @tool
    async def double(n: int) -> int:
        """Twice n."""
        return 2 * n

    @tool
    async def fail(n: int) -> int:
        """Never works."""
        raise ValueError("broken")

    call = {"type": "ai", "content": "", "tool_calls": [{"name": "double", "args": {"n": 2}, "id": "c1"}]}
    bad = {"type": "ai", "content": "", "tool_calls": [{"name": "fail", "args": {"n": 2}, "id": "c2"}]}
    graph = chain(("tools", ToolNode([double, fail], handle_tool_errors=True)), schema=HelloState)
    good = await watch(graph, "tools", input={"messages": [call]})
    assert good.events[0] == ("tools", {"event": "on_tool_start", "toolCallId": "c1", "name": "double", "input": {"n": 2}})
    assert good.events[1][1]["event"] == "on_tool_end"
    assert good.events[1][1]["output"]["content"] == "4"
    wrong = await watch(graph, "tools", input={"messages": [bad]})
    assert wrong.events[1] == ("tools", {"event": "on_tool_error", "toolCallId": "c2", "name": "fail", "error": "broken"})


async def test_lifecycle_tells_each_subgraphs_start_and_end_and_brings_no_other_event_of_it() -> None:
    graph = fan(a=two_nodes().compile(), b=chain(("q", ask("B"))).compile())
    seen = await watch(graph, "lifecycle updates")
    told = {(data["event"], data["namespace"][0].partition(":")[0]) for name, data in seen.events if name == "lifecycle"}
    assert told == {("started", "a"), ("completed", "a"), ("started", "b"), ("interrupted", "b")}
    started = next(data for _, data in seen.events if data.get("event") == "started")
    assert started["namespace"] == [f"{started['graph_name']}:{started['trigger_call_id']}"]
    assert set(seen.names) == {"lifecycle", "updates"}


async def test_a_subagent_whose_call_gave_an_error_has_failed() -> None:
    def delegate(to: str) -> Any:
        return call("task", description="do it", subagent_type=to)

    broken = fail(ValueError("broken at https://x.example/?api_key=hush"))
    script = {"main": [calls(delegate("works"), delegate("fails")), say("ok")], "works": [say("done")], "fails": [broken]}
    subagents = [{"name": name, "description": "helps", "system_prompt": "Help."} for name in ("works", "fails")]
    agent: Any = create_deep_agent(ScriptedModel.by_agent(script), subagents=subagents)
    seen = await watch(chain(("agent", agent), schema=HelloState), "lifecycle", input=HELLO)
    told = [data for name, data in seen.events if name == "lifecycle"]
    started = {tuple(each["namespace"]): each["graph_name"] for each in told if each["event"] == "started"}
    ended = {started[tuple(each["namespace"])]: each for each in told if each["event"] != "started"}
    told_of = {"agent": "completed", "works": "completed", "fails": "failed"}
    assert {name: each["event"] for name, each in ended.items()} == told_of
    assert "the subagent fails failed: ValueError: broken" in ended["fails"]["error"]
    assert "hush" not in ended["fails"]["error"]


async def test_context_and_durability_reach_the_graph() -> None:
    async def node(_: State, runtime: Runtime[Any]) -> Any:
        return {"log": [runtime.context["user"]]}

    builder = StateGraph(State, context_schema=dict)
    builder.add_node("node", node)
    builder.add_edge("__start__", "node")
    seen = await watch(builder, "values", context={"user": "ann"}, durability="exit")
    assert seen.values[-1]["log"] == ["ann"]


@pytest.mark.parametrize("mode", STREAM_MODES)
async def test_no_mode_shows_secrets_or_internals(mode: str) -> None:
    """Also not beside the subgraph's own events, where LangGraph copies the whole configuration."""
    seen = await watch(
        chain(("inner", chat().compile()), schema=HelloState),
        mode,
        input=HELLO,
        stream_subgraphs=True,
        configurable={"openai_api_key": "hush", "__lease": "hush", "langgraph_auth_user": "hush"},
        metadata={"x_api_key": "hush", "__lease": "hush", "password": "hush", "graph_id": "g"},
    )
    assert seen.events or mode == "tools" or mode == "custom"
    assert "hush" not in str(seen.events)
    assert "__pregel" not in str(seen.events)


async def test_an_unknown_mode_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequestError, match=r"Unknown stream mode 'valeus'. Use one of: values, "):
        await watch(two_nodes(), "valeus")


async def test_a_graph_without_a_saver_streams_without_a_warning() -> None:
    stream_of = stream_graph(two_nodes().compile(), {"n": 0}, {}, RunRequest("a", "g"))
    async with aclosing(stream_of):
        assert [progress.values["n"] async for progress in stream_of] == [0, 1, 2]


async def test_a_graphs_own_limit_of_steps_counts_in_every_mode() -> None:
    """LangChain's own, which is far smaller, would stop a long run in the mode of callbacks only."""
    nodes = [(f"node-{number}", lambda state: {"log": [1]}) for number in range(40)]
    graph = chain(*nodes).compile().with_config({"recursion_limit": 100})
    for mode in ("values", "events"):
        stream_of = stream_graph(graph, {"n": 0}, {}, RunRequest("a", "g", stream_modes=(mode,)))
        async with aclosing(stream_of):
            values = [progress.values async for progress in stream_of if progress.values is not None]
        assert len(values[-1]["log"]) == 40
