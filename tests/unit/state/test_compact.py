"""Retention: what stays loads as before, what is older is gone, and whatever cannot be done safely is refused."""

from __future__ import annotations

import asyncio
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Overwrite, interrupt

from stepwell.agent import create_deep_agent
from stepwell.errors import ConfigurationError
from stepwell.state import CompactReport, acompact, compact
from stepwell.state.channels import incremental
from stepwell.state.memory_history import MemoryHistory
from stepwell.testing import ScriptedModel, call, calls, say

Saver = BaseCheckpointSaver[Any]


def writing(*names: str, then: str = "done") -> list[Any]:
    return [*(call("write_file", file_path=f"/{name}.md", content=f"text of {name}\n" * 20) for name in names), say(then)]


def history(agent: Any, thread: Any) -> list[Any]:
    return list(agent.get_state_history(thread))


def in_namespace(saver: Saver, namespace: str | None = None) -> list[Any]:
    config = {"configurable": {"thread_id": "t"} | ({} if namespace is None else {"checkpoint_ns": namespace})}
    return list(saver.list(config))


@pytest.mark.parametrize("keep_last", [1, 2, 7, 1000])
def test_what_is_kept_loads_as_before_and_the_rest_is_gone(saver: Saver, thread: Any, keep_last: int):
    agent = create_deep_agent(ScriptedModel(writing("a", "b", "c", "d", "e")), checkpointer=saver)
    final = agent.invoke({"messages": "go", "files": {"/seed.md": "seed"}}, thread)
    before = history(agent, thread)

    report = compact(saver, "t", keep_last=keep_last)

    assert history(agent, thread) == before[:keep_last]
    assert agent.get_state(thread).values["messages"] == final["messages"]
    assert agent.get_state(thread).values["files"] == final["files"]
    assert report.before.checkpoints == len(before)
    assert report.after.checkpoints == min(keep_last, len(before)) == len(in_namespace(saver))


def test_bytes_and_writes_are_freed(saver: Saver, thread: Any):
    rewriting = [call("write_file", file_path="/a.md", content=f"{n} " * 5000, overwrite=True) for n in range(20)]
    agent = create_deep_agent(ScriptedModel([*rewriting, say("done")]), checkpointer=saver)
    agent.invoke({"messages": "go"}, thread)
    agent.update_state(thread, {"messages": Overwrite([HumanMessage("all is said")])})
    report = compact(saver, "t")
    assert report.after.writes == 0
    assert report.after.size_bytes < report.before.size_bytes / 20


def test_compacting_again_changes_nothing(saver: Saver, thread: Any):
    agent = create_deep_agent(ScriptedModel(writing("a", "b")), checkpointer=saver)
    agent.invoke({"messages": "go"}, thread)
    first = compact(saver, "t", keep_last=2)
    before = history(agent, thread)
    assert compact(saver, "t", keep_last=2) == CompactReport("t", first.after, first.after)
    assert history(agent, thread) == before


def test_a_thread_goes_on_and_is_compacted_again_and_again(saver: Saver, thread: Any):
    model = ScriptedModel([turn for name in "abcdef" for turn in writing(name, then=f"wrote {name}")])
    agent = create_deep_agent(model, checkpointer=saver)
    expected_messages: list[Any] = []
    for name in "abcdef":
        final = agent.invoke({"messages": f"write {name}"}, thread)
        assert final["messages"][: len(expected_messages)] == expected_messages
        expected_messages = final["messages"]
        compact(saver, "t", keep_last=2)
        assert agent.get_state(thread).values["messages"] == expected_messages
    assert sorted(agent.get_state(thread).values["files"]) == [f"/{name}.md" for name in "abcdef"]
    assert len(expected_messages) == 4 * 6


def test_other_threads_are_not_touched(saver: Saver, thread: Any):
    other = {"configurable": {"thread_id": "other"}}
    agent = create_deep_agent(ScriptedModel(writing("a") + writing("b")), checkpointer=saver)
    agent.invoke({"messages": "go"}, thread)
    agent.invoke({"messages": "go"}, other)
    before = history(agent, other)
    compact(saver, "t")
    assert history(agent, other) == before


def test_a_thread_that_does_not_exist_is_left_alone(saver: Saver):
    report = compact(saver, "nobody")
    assert (report.before.checkpoints, report.after.size_bytes) == (0, 0)


def test_a_pending_approval_can_be_answered_afterwards(saver: Saver, thread: Any):
    """D10: also when everything before it is gone."""
    agent = create_deep_agent(ScriptedModel(writing("a", "b")), checkpointer=saver, interrupt_on={"write_file": True})
    agent.invoke({"messages": "go"}, thread)
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
    before = agent.get_state(thread)
    compact(saver, "t")
    assert agent.get_state(thread) == before
    final = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
    assert sorted(final["files"]) == ["/a.md", "/b.md"]
    assert [m.type for m in final["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]


def delegating() -> ScriptedModel:
    return ScriptedModel.by_agent(
        {
            "main": [
                call("task", description="first", subagent_type="quick"),
                calls(
                    call("task", description="quick one", subagent_type="quick"),
                    # So long that the pending task holds it by reference (ADR 0006): the message it refers to must stay.
                    call("task", description="careful one " * 500, subagent_type="careful"),
                ),
                say("all done"),
            ],
            "quick": [say("looked"), say("looked again")],
            "careful": [
                call("write_file", file_path="/early.md", content="early"),
                call("edit_file", file_path="/early.md", old_string="early", new_string="late"),
                say("written"),
            ],
        }
    )


def delegating_agent(saver: Saver) -> Any:
    subagents = [
        {"name": "quick", "description": "looks", "system_prompt": "Look."},
        {"name": "careful", "description": "writes", "system_prompt": "Write.", "interrupt_on": {"edit_file": True}},
    ]
    return create_deep_agent(delegating(), subagents=subagents, checkpointer=saver, name="main")


def test_a_subagent_s_pending_question_survives_and_finished_ones_go(saver: Saver, thread: Any):
    """D10: a question asked inside a subagent is answered after compaction, and the subagent goes on where it stopped."""
    agent = delegating_agent(saver)
    paused = agent.invoke({"messages": "go"}, thread)
    nested = {entry.config["configurable"]["checkpoint_ns"] for entry in in_namespace(saver)} - {""}
    assert len(nested) == 3
    before = agent.get_state(thread)

    report = compact(saver, "t")

    left = {entry.config["configurable"]["checkpoint_ns"] for entry in in_namespace(saver)} - {""}
    assert len(left) == 1
    assert left < nested
    assert report.after.namespaces == 2
    assert agent.get_state(thread) == before
    [question] = paused["__interrupt__"]
    final = agent.invoke(Command(resume={question.id: {"decisions": [{"type": "approve"}]}}), thread)
    assert final["files"]["/early.md"]["content"] == ["late"]
    assert [m.content for m in final["messages"] if m.type == "tool"] == ["looked", "looked again", "written"]

    assert compact(saver, "t").after.namespaces == 1
    assert agent.get_state(thread).values["messages"] == final["messages"]


def test_an_old_checkpoint_s_branch_is_kept_with_its_own_values(saver: Saver, thread: Any):
    model = ScriptedModel([*writing("a", "b", "c"), *writing("other", then="other end")])
    agent = create_deep_agent(model, checkpointer=saver)
    agent.invoke({"messages": "go"}, thread)
    trunk = history(agent, thread)
    early = next(state for state in trunk if sorted(state.values.get("files", {})) == ["/a.md"] and state.next == ("model",))
    branched = agent.invoke({"messages": "another way"}, early.config)
    assert sorted(branched["files"]) == ["/a.md", "/other.md"]
    before = history(agent, thread)
    on_branch = len(before) - len(trunk)

    # Two beginnings stay: the branch's, and the trunk's end whose parents are gone.
    compact(saver, "t", keep_last=on_branch + 2)

    after = history(agent, thread)
    assert after == before[: on_branch + 2]
    assert sorted(after[0].values["files"]) == ["/a.md", "/other.md"]
    assert after[on_branch].values == trunk[0].values


def test_a_kept_checkpoint_can_be_branched_from(saver: Saver, thread: Any):
    agent = create_deep_agent(ScriptedModel([*writing("a", "b", "c"), *writing("other")]), checkpointer=saver)
    final = agent.invoke({"messages": "go"}, thread)
    compact(saver, "t", keep_last=4)
    oldest = history(agent, thread)[-1]
    branched = agent.invoke({"messages": "another way"}, oldest.config)
    assert branched["messages"][: len(oldest.values["messages"])] == oldest.values["messages"]
    assert set(branched["files"]) == {*oldest.values["files"], "/other.md"}
    kept_end = next(state for state in history(agent, thread) if state.values["messages"] == final["messages"])
    assert kept_end.values["files"] == final["files"]


def test_state_updated_by_hand_survives(saver: Saver, thread: Any):
    agent = create_deep_agent(ScriptedModel(writing("a")), checkpointer=saver)
    agent.invoke({"messages": "go"}, thread)
    agent.update_state(thread, {"messages": Overwrite([HumanMessage("short", id="1")]), "files": {"/b.md": "by hand"}})
    agent.update_state(thread, {"files": {"/a.md": None}})
    before = history(agent, thread)
    compact(saver, "t", keep_last=1)
    assert history(agent, thread) == before[:1]
    assert [m.content for m in before[0].values["messages"]] == ["short"]
    assert list(before[0].values["files"]) == ["/b.md"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability_is_compacted(saver: Saver, thread: Any, durability: Any):
    agent = create_deep_agent(ScriptedModel(writing("a", "b") + writing("c")), checkpointer=saver)
    agent.invoke({"messages": "go"}, thread, durability=durability)
    final = agent.invoke({"messages": "on"}, thread, durability=durability)
    before = agent.get_state(thread)
    compact(saver, "t")
    assert agent.get_state(thread) == before
    assert before.values["messages"] == final["messages"]


class Numbers(TypedDict):
    total: Annotated[list[int], add]


def counting(saver: Saver, **options: Any) -> Any:
    builder = StateGraph(Numbers)
    builder.add_node("more", lambda state: {"total": [len(state["total"])]})
    builder.add_edge(START, "more")
    builder.add_conditional_edges("more", lambda state: END if len(state["total"]) % 10 == 0 else "more")
    return builder.compile(checkpointer=saver, **options)


def test_a_plain_thread_is_compacted_too(saver: Saver, thread: Any):
    graph = counting(saver)
    graph.invoke({"total": [7]}, thread)
    before = history(graph, thread)
    report = compact(saver, "t", keep_last=2)
    assert history(graph, thread) == before[:2]
    assert report.after.size_bytes < report.before.size_bytes / 2
    assert len(graph.invoke({"total": [7]}, thread)["total"]) == 20


def both(state: list[int] | None, writes: list[Any]) -> list[int]:
    return [*(state or []), *(number for write in writes for number in write)]


class Counted(TypedDict):
    total: Annotated[list[int], incremental(both)]


def test_an_incremental_channel_of_another_graph_needs_the_graph(saver: Saver, thread: Any):
    builder = StateGraph(Counted)
    builder.add_node("more", lambda state: {"total": [1]})
    builder.add_edge(START, "more")
    graph = builder.compile(checkpointer=saver)
    for _ in range(3):
        graph.invoke({"total": [5]}, thread)
    before = history(graph, thread)
    with pytest.raises(ConfigurationError, match=r"stores total incrementally.*graph=agent"):
        compact(saver, "t")
    assert history(graph, thread) == before
    compact(saver, "t", graph=graph)
    assert history(graph, thread) == before[:1]


def test_a_channel_that_became_a_plain_one_is_rebuilt(saver: Saver, thread: Any):
    builder = StateGraph(Counted)
    builder.add_node("more", lambda state: {"total": [1]})
    builder.add_edge(START, "more")
    builder.compile(checkpointer=saver).invoke({"total": [5]}, thread)
    graph = counting(saver)
    assert graph.get_state(thread).values == {"total": [5, 1]}
    compact(saver, "t", graph=graph)
    assert graph.get_state(thread).values == {"total": [5, 1]}


def test_a_nested_graph_with_a_memory_of_its_own_keeps_it(saver: Saver, thread: Any):
    inner = StateGraph(Numbers)
    inner.add_node("count", lambda state: {"total": [1]})
    inner.add_edge(START, "count")
    outer = StateGraph(Numbers)
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_edge(START, "inner")
    graph = outer.compile(checkpointer=saver)
    graph.invoke({"total": []}, thread)
    compact(saver, "t")
    remembered = [e.checkpoint["channel_values"].get("total") for e in in_namespace(saver, "inner")]
    assert [1] in remembered


def test_a_task_that_failed_inside_a_nested_graph_can_be_tried_again(saver: Saver, thread: Any):
    attempts: list[str] = []

    def first(state: Numbers) -> Any:
        attempts.append("first")
        return {"total": [1]}

    def second(state: Numbers) -> Any:
        attempts.append("second")
        if attempts.count("second") == 1:
            raise RuntimeError("the first time it fails")
        return {"total": [2]}

    inner = StateGraph(Numbers).add_sequence([("first", first), ("second", second)]).add_edge(START, "first")
    outer = StateGraph(Numbers).add_node("inner", inner.compile()).add_edge(START, "inner")
    graph = outer.compile(checkpointer=saver)
    with pytest.raises(RuntimeError, match="the first time"):
        graph.invoke({"total": [0]}, thread)
    compact(saver, "t")
    graph.invoke(None, thread)
    assert attempts == ["first", "second", "second"]


def test_several_pending_questions_are_still_answered_by_id(saver: Saver, thread: Any):
    builder = StateGraph(Numbers)
    builder.add_node("left", lambda state: {"total": [interrupt("left?")]})
    builder.add_node("right", lambda state: {"total": [interrupt("right?")]})
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"total": [0]}, thread)
    compact(saver, "t")
    left, right = (i.id for i in graph.get_state(thread).interrupts)
    graph.invoke(Command(resume={left: 1}), thread)
    compact(saver, "t")
    assert graph.invoke(Command(resume={right: 2}), thread) == {"total": [0, 1, 2]}


@pytest.mark.parametrize("keep_last", [0, -1])
def test_keeping_nothing_is_refused(saver: Saver, keep_last: int):
    with pytest.raises(ConfigurationError, match="delete_thread"):
        compact(saver, "t", keep_last=keep_last)


class Unknown(BaseCheckpointSaver[int]):
    pass


def test_an_unknown_saver_is_refused_with_those_that_are_supported():
    with pytest.raises(
        ConfigurationError, match=r"A Unknown cannot be compacted.*InMemorySaver, SqliteSaver, AsyncSqliteSaver"
    ):
        compact(Unknown(), "t")


class Plugged(BaseCheckpointSaver[str]):
    """A saver that knows nothing of LangGraph's classes but keeps its own history."""

    def __init__(self, inner: InMemorySaver) -> None:
        super().__init__()
        self.inner = inner

    def thread_history(self, thread_id: str) -> MemoryHistory:
        return MemoryHistory(self.inner, thread_id, self.inner.serde)


def test_a_saver_with_a_history_of_its_own_needs_no_adapter(thread: Any):
    inner = InMemorySaver()
    agent = create_deep_agent(ScriptedModel(writing("a")), checkpointer=inner)
    agent.invoke({"messages": "go"}, thread)
    assert compact(Plugged(inner), "t").after.checkpoints == 1


async def test_async_code_compacts_each_saver(saver: Saver, thread: Any):
    agent = create_deep_agent(ScriptedModel(writing("a", "b")), checkpointer=saver)
    await asyncio.to_thread(agent.invoke, {"messages": "go"}, thread)
    before = history(agent, thread)
    report = await acompact(saver, "t", keep_last=2)
    assert history(agent, thread) == before[:2]
    assert report.after.checkpoints == 2


async def test_the_async_sqlite_saver_is_compacted(tmp_path: Path, thread: Any):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        agent = create_deep_agent(ScriptedModel(writing("a", "b", "c") + writing("d")), checkpointer=saver)
        await agent.ainvoke({"messages": "go"}, thread)
        before = [state async for state in agent.aget_state_history(thread)]
        report = await acompact(saver, "t", keep_last=3)
        assert [state async for state in agent.aget_state_history(thread)] == before[:3]
        assert (report.before.checkpoints, report.after.checkpoints) == (len(before), 3)
        await asyncio.to_thread(compact, saver, "t")
        final = await agent.ainvoke({"messages": "on"}, thread)
        assert sorted(final["files"]) == ["/a.md", "/b.md", "/c.md", "/d.md"]
        with pytest.raises(ConfigurationError, match="await acompact"):
            compact(saver, "t")


async def test_a_cancelled_compaction_leaves_the_old_history(tmp_path: Path, thread: Any):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        agent = create_deep_agent(ScriptedModel(writing(*"abcdefghij")), checkpointer=saver)
        await agent.ainvoke({"messages": "go"}, thread)
        before = [state async for state in agent.aget_state_history(thread)]
        task = asyncio.create_task(acompact(saver, "t"))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not saver.conn.in_transaction
        assert [state async for state in agent.aget_state_history(thread)] == before
