"""The graph of the random histories: what it does is in its input, and every effect is told to whoever listens.

`plan` says how a message goes: `plain`, `slow`, `fail`, or `ask`: two questions at once, one of which has a second. Lists grow by
addition, so that a step that counted twice would be seen.

`make_payer` is an agent with a `once` tool: a message `ask <mark>` pays behind a question, `act <mark>` pays at once, and anything else is
only noted. Every call has an id that no other has, and the tool tells it: that is how the world outside knows a call again, whatever
key it comes with.
"""

from __future__ import annotations

import asyncio
import operator
import uuid
from collections.abc import Callable
from typing import Annotated, Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict

from stepwell.agent import create_deep_agent
from stepwell.testing import Asked, ScriptedModel, raw
from stepwell.tools.effect_journal import effect_key, settled
from stepwell.tools.effects import with_effect

Told = Callable[[str, str], None]
"""Hears the name and the key of an effect."""


def new_id() -> str:
    return str(uuid.uuid4())


class State(TypedDict, total=False):
    marks: Annotated[list[str], operator.add]
    plan: str
    done: Annotated[list[str], operator.add]


def make_payer(paid: Callable[[str, str], None]) -> Any:
    """`paid` hears the call's id and the effect's key."""

    async def pay(mark: str, runtime: ToolRuntime) -> str:
        """Pay for a mark."""
        paid(runtime.tool_call_id or "", effect_key(runtime))
        await asyncio.sleep(0.01)  # it has happened, and nobody knows yet
        return f"paid {mark}"

    def turn(asked: Asked) -> Any:
        verb, _, mark = asked.human.partition(" ")
        if asked.messages[-1].type != "human" or verb not in ("ask", "act"):
            return raw(AIMessage("noted", id=new_id()))
        planned = {"name": "pay" if verb == "ask" else "pay_now", "args": {"mark": mark}, "id": new_id(), "type": "tool_call"}
        return raw(AIMessage("", id=new_id(), tool_calls=[planned]))

    tools = [with_effect("once")(StructuredTool.from_function(coroutine=pay, name=name)) for name in ("pay", "pay_now")]
    return create_deep_agent(ScriptedModel.answering(turn, remember=0), tools, interrupt_on={"pay": True})


def make_graph(told: Told) -> Any:
    async def effect(config: RunnableConfig, name: str) -> str:
        await settled(config)
        told(name, effect_key(config))
        return name

    async def first(state: State, config: RunnableConfig) -> State:
        return {"done": [await effect(config, f"{state['marks'][-1]} first")]}

    async def second(state: State, config: RunnableConfig) -> State:
        if state["plan"] == "slow":
            await asyncio.sleep(0.03)
        if state["plan"] == "fail":
            raise ValueError(f"{state['marks'][-1]} has failed")
        return {"done": [await effect(config, f"{state['marks'][-1]} second")]}

    async def ask(state: dict[str, str], config: RunnableConfig) -> State:
        mark, which = state["mark"], state["which"]
        answer = interrupt(f"{mark} {which}")
        await effect(config, f"{mark} {which} after")
        if which == "twice":
            answer += interrupt(f"{mark} again")
            await asyncio.sleep(0.005)
        return {"done": [f"{mark} {which} {answer}"]}

    def questions(state: State) -> list[Send] | str:
        if state["plan"] != "ask":
            return "second"
        return [Send("ask", {"mark": state["marks"][-1], "which": which}) for which in ("once", "twice")]

    builder = StateGraph(State)
    for node in (first, ask, second):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "first")
    builder.add_conditional_edges("first", questions, ["ask", "second"])
    builder.add_edge("ask", "second")
    builder.add_edge("second", END)
    return builder.compile()
