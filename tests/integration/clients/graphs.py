"""Graphs that a client may meet, served by a process: an answer in pieces, a question, an error, a subgraph, subagents."""

from __future__ import annotations

import asyncio
import operator
import uuid
from itertools import pairwise
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from provider_streams import RecordedModel
from providers import PROVIDERS  # beside this file, which a server imports
from typing_extensions import TypedDict

from stepwell.agent import create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, raw, say, slow


class Talk(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], operator.add]
    data: Any
    count: int
    seconds: float


def _line(*nodes: Any, **named: Any) -> Any:
    builder = StateGraph(Talk)
    steps = {**{node.__name__: node for node in nodes}, **named}
    for name, node in steps.items():
        builder.add_node(name, node)
    for before, after in pairwise([START, *steps, END]):
        builder.add_edge(before, after)
    return builder.compile()


def hear(state: Talk) -> Talk:
    return {"log": ["heard"]}


async def answer(state: Talk) -> Talk:
    """Streams an answer to the newest message, `seconds` between its words."""
    said = state["messages"][-1].content if state.get("messages") else "nothing"
    message = AIMessage(f"You said: {said}, I think", id=str(uuid.uuid4()))  # as a provider does: an id of its own each time
    model = ScriptedModel([slow(raw(message), seconds_per_chunk=state.get("seconds", 0.002))])
    return {"messages": [await model.ainvoke([("user", str(said))])], "log": ["answered"]}


def ask(state: Talk) -> Talk:
    return {"log": [f"told {interrupt({'question': 'Which one?'})}"]}


def fail(state: Talk) -> Talk:
    raise ValueError("the node fell over")


async def tick(state: Talk) -> Talk:
    """Says `count` things, `seconds` apart, under the name in `data` if there is one."""
    write = get_stream_writer()
    for n in range(state.get("count", 3)):
        write({"n": n, "name": state["data"]} if state.get("data") else {"n": n})
        await asyncio.sleep(state.get("seconds", 0))
    return {"log": ["ticked"]}


def _deep_turn(asked: Asked) -> Any:
    if asked.agent != "main":
        return slow(say(f"Helped with {asked.first_human}"), seconds_per_chunk=0.002)
    if asked.turn == 0:
        return call("task", description=asked.human, subagent_type="general-purpose")
    return slow(say("All done"), seconds_per_chunk=0.002)


echo = _line(hear, answer)
asks = _line(hear, ask, answer)
fails = _line(hear, fail)
ticks = _line(tick)
nested = _line(hear, inner=_line(tick, answer))
deep = create_deep_agent(ScriptedModel.answering(_deep_turn, remember=0))


# Answers in the shapes in which providers stream them.


class Sums(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    shape: str
    address: str
    """Where canned answers of providers are served; without one, a recorded shape is played."""


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def think(state: Sums) -> Any:
    make = PROVIDERS[state["shape"]] if state.get("address") else None
    model = make(state["address"]) if make else RecordedModel(shape=state["shape"])
    return {"messages": [await model.ainvoke(state["messages"])]}


def _goes_on(state: Sums) -> str:
    return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END


sums = (
    StateGraph(Sums)
    .add_node(think)
    .add_node("tools", ToolNode([add]))
    .add_edge(START, "think")
    .add_conditional_edges("think", _goes_on, ["tools", END])
    .add_edge("tools", "think")
    .compile()
)
