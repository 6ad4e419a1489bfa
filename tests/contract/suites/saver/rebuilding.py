"""The saver suite: incremental channels, and graphs at work."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from tests.contract.suites.saver.case import Saver, SaverCalls, SaverCase, at

from stepwell import RubricMiddleware, create_deep_agent
from stepwell.state.channels import incremental, snapshot
from stepwell.state.schema import DeepAgentState
from stepwell.testing import ScriptedModel, call, say


def _joined(state: list[int], writes: Sequence[list[int]]) -> list[int]:
    return [*state, *(number for write in writes for number in write)]


class Counting(TypedDict):
    seen: Annotated[list[int], incremental(_joined, snapshot_every=4)]
    total: Annotated[int, operator.add]


class RebuildingCases(SaverCase):
    def check(self, calls: SaverCalls, saver: Saver, config: RunnableConfig, channels: list[str]) -> Any:
        """The saver's answer is LangGraph's own. Gives it."""
        inherited = calls.inherited(saver, config, channels)
        assert inherited == calls.inherited_by_walking(saver, config, channels)
        return inherited

    def grown(self, calls: SaverCalls, saver: Saver, namespace: str = "", length: int = 8) -> list[RunnableConfig]:
        """Each step writes to `log` and `other`; `log` is whole in the third checkpoint, `other` in the sixth."""
        configs = [at("t", namespace)]
        for n in range(length):
            values = {"log": snapshot([n])} if n == 2 else {"other": snapshot({"n": n})} if n == 5 else {"plain": n}
            configs.append(calls.store(saver, configs[-1], values, only_versions=("log", "other"), step=n))
            calls(saver, "put_writes", configs[-1], [("log", [n]), ("plain", n)], f"task-{9 - n}", "~1")
            calls(saver, "put_writes", configs[-1], [("other", n), ("log", [n, n])], f"task-{n}", "~0")
        return configs[1:]

    def test_a_channel_is_rebuilt_from_its_last_value_and_the_writes_since(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        chain = self.grown(calls, saver)
        inherited = self.check(calls, saver, chain[-1], ["log", "other", "unknown"])
        assert inherited["log"]["seed"] == snapshot([2])
        assert [value for _, _, value in inherited["log"]["writes"]] == [
            [2, 2],
            [2],
            [3, 3],
            [3],
            [4, 4],
            [4],
            [5, 5],
            [5],
            [6, 6],
            [6],
        ]
        assert inherited["other"]["seed"] == snapshot({"n": 5})
        assert [value for _, _, value in inherited["other"]["writes"]] == [5, 6]
        assert inherited["unknown"] == {"writes": []}

    def test_every_place_of_a_chain_is_rebuilt_as_langgraph_does(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        for config in self.grown(calls, saver):
            self.check(calls, saver, config, ["log", "other"])
        self.check(calls, saver, at("t"), ["log"])
        self.check(calls, saver, at("t", "", "no-such-id"), ["log"])
        self.check(calls, saver, at("no-such-thread"), ["log"])
        assert calls.inherited(saver, at("t"), []) == {}

    @pytest.mark.parametrize("wrong_by", [0, 1, -3, 100])
    @pytest.mark.parametrize(
        "stored_at", [{"log": 2}, {"log": 2, "other": 9}, {"log": 0}, {}], ids=["one", "two", "first", "none"]
    )
    def test_a_long_way_back_is_rebuilt_as_langgraph_does_even_if_steps_are_miscounted(
        self, calls: SaverCalls, stored_at: dict[str, int], wrong_by: int
    ) -> None:
        saver, config = self.make_saver("t", "r"), at("t")
        for n in range(40):
            values = {name: snapshot([n]) for name, place in stored_at.items() if place == n}
            steps = {name: n - stored_at[name] if n > stored_at.get(name, n) else n + 1 for name in ("log", "other")}
            counted = {"counters_since_delta_snapshot": {name: (1, count + wrong_by) for name, count in steps.items()}}
            config = calls.store(saver, config, values, only_versions=("log", "other"), step=n, **counted)
            calls(saver, "put_writes", config, [("log", [n]), ("other", [n])], "task", "~1")
        for channels in (["log"], ["other"], ["log", "other"]):
            self.check(calls, saver, config, channels)

    @pytest.mark.parametrize("compacted_after", [1, 12])
    def test_a_compacted_thread_that_goes_on_is_rebuilt_as_langgraph_does(
        self, calls: SaverCalls, compacted_after: int
    ) -> None:
        saver = self.make_saver("t", "r")
        agent = StateGraph(DeepAgentState).add_node("answer", _answer).add_edge(START, "answer").compile(checkpointer=saver)
        for n in range(30):
            calls.graph(agent, "invoke", {"messages": [HumanMessage("?", id=f"q{n}")]}, at("t"))
            if n + 1 == compacted_after:
                calls(saver, "prune", ["t"])
        self.check(calls, saver, calls(saver, "get_tuple", at("t")).config, ["messages"])
        messages = calls.graph(agent, "get_state", at("t")).values["messages"]
        assert [message.id for message in messages if message.type == "human"] == [f"q{n}" for n in range(30)]

    def test_other_branches_and_namespaces_do_not_count(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        chain = self.grown(calls, saver)
        self.grown(calls, saver, "sub:1", length=4)
        fork = calls.store(saver, chain[3], {"plain": 0}, only_versions=("log", "other"))
        calls(saver, "put_writes", fork, [("log", ["fork"])], "task-f", "~0")
        tip = calls.store(saver, fork, {"plain": 1}, only_versions=("log", "other"))
        inherited = self.check(calls, saver, tip, ["log", "other"])
        assert [value for _, _, value in inherited["log"]["writes"]][-3:] == [[3, 3], [3], ["fork"]]
        self.check(calls, saver, chain[-1], ["log", "other"])
        self.check(calls, saver, at("t", "sub:1"), ["log", "other"])

    def test_pruning_keeps_incremental_values(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        graph = StateGraph(DeepAgentState)
        graph.add_node("answer", _answer)
        graph.add_edge(START, "answer")
        agent = graph.compile(checkpointer=saver)
        for n in range(4):
            calls.graph(agent, "invoke", {"messages": [HumanMessage(f"question {n}", id=f"q{n}")]}, at("t"))
        before = calls.graph(agent, "get_state", at("t"))
        calls(saver, "prune", ["t"], strategy="keep_latest")
        after = calls.graph(agent, "get_state", at("t"))
        assert after.values == before.values
        assert len(after.values["messages"]) == 8
        assert len(calls.listed(saver, at("t"))) == 1
        calls(saver, "prune", ["t"], strategy="delete")
        assert calls.listed(saver, at("t")) == []


class GraphCases(SaverCase):
    def test_a_graph_with_incremental_channels_goes_on_where_it_was(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        graph = StateGraph(Counting)
        graph.add_node("count", lambda state: {"seen": [len(state["seen"])], "total": 1})
        graph.add_edge(START, "count")
        agent = graph.compile(checkpointer=saver)
        for _ in range(6):
            result = calls.graph(agent, "invoke", {"seen": [-1], "total": 0}, at("t"))
        assert result == {"seen": [-1, 1, -1, 3, -1, 5, -1, 7, -1, 9, -1, 11], "total": 6}
        assert calls.graph(agent, "get_state", at("t")).values == result

    def test_a_subgraph_stops_at_its_question_and_goes_on_with_the_answer(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        child = StateGraph(Counting)
        child.add_node("ask", lambda _: {"total": interrupt("how many?")})
        child.add_edge(START, "ask")
        parent = StateGraph(Counting)
        parent.add_node("child", child.compile())
        parent.add_edge(START, "child")
        parent.add_edge("child", END)
        agent = parent.compile(checkpointer=saver)
        calls.graph(agent, "invoke", {"seen": [], "total": 1}, at("t"))
        waiting = calls.graph(agent, "get_state", at("t"))
        assert [question.value for question in waiting.interrupts] == ["how many?"]
        namespaces = {each.config["configurable"]["checkpoint_ns"] for each in calls.listed(saver, _anywhere("t"))}
        assert len(namespaces) == 2
        assert calls.graph(agent, "invoke", Command(resume=41), at("t"))["total"] == 43
        assert calls.graph(agent, "get_state", at("t")).next == ()

    def test_a_step_that_is_executed_again_has_the_outcomes_of_its_tasks(self, calls: SaverCalls) -> None:
        """As after a crash: another saver, another graph, the same thread."""
        asked: list[str] = []

        def first(state: Any) -> None:
            asked.append("first")

        def second(state: Any) -> Any:
            return None if interrupt("fine?") == "yes" else "no"

        def agent_of(saver: Saver) -> Any:
            judge = ScriptedModel([call("GraderResponse", result="satisfied", explanation="Good.", criteria=[])])
            checked = RubricMiddleware(checks=[first, second], rubric="- good", model=judge)
            return create_deep_agent(ScriptedModel([say("Done.")]), middleware=[checked], checkpointer=saver)

        calls.graph(agent_of(self.make_saver("t", "r")), "invoke", {"messages": [("user", "go")]}, at("t"))
        result = calls.graph(agent_of(self.make_saver("t", "r2")), "invoke", Command(resume="yes"), at("t"))
        (evaluation,) = result["checks"].values()
        assert [each["passed"] for each in evaluation["criteria"]] == [True, True, True]
        assert asked == ["first"]


def _answer(state: DeepAgentState) -> dict[str, Any]:
    return {"messages": [AIMessage("answer", id=f"a{len(state['messages'])}")]}


def _anywhere(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}
