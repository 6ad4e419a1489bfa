"""The graph of the random histories: what it does is in its input, and every effect is told to whoever listens.

`plan` says how a message goes: `plain`, `slow`, `fail`, or `ask`: two questions at once, one of which has a second. Lists grow by
addition, so that a step that counted twice would be seen.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict

from stepwell.tools.effect_journal import effect_key, settled

Told = Callable[[str, str], None]
"""Hears the name and the key of an effect."""


class State(TypedDict, total=False):
    marks: Annotated[list[str], operator.add]
    plan: str
    done: Annotated[list[str], operator.add]


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
