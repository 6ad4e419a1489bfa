"""Small graphs for the server's tests: each shows one thing a client can meet."""

from __future__ import annotations

import asyncio
import operator
from itertools import pairwise
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict


class Talk(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], operator.add]
    data: Any
    count: int
    seconds: float


def _line(*nodes: Any) -> Any:
    """A graph that runs its nodes one after the other."""
    builder = StateGraph(Talk)
    for node in nodes:
        builder.add_node(node.__name__, node)
    names = [START, *(node.__name__ for node in nodes), END]
    for before, after in pairwise(names):
        builder.add_edge(before, after)
    return builder.compile()


def hear(state: Talk) -> Talk:
    return {"log": ["heard"]}


def answer(state: Talk) -> Talk:
    said = state["messages"][-1].content if state.get("messages") else "nothing"
    return {"messages": [AIMessage(f"You said: {said}")], "log": ["answered"]}


def ask(state: Talk) -> Talk:
    return {"log": [f"told {interrupt({'question': 'Which one?'})}"]}


def fail(state: Talk) -> Talk:
    raise ValueError("the node fell over")


async def tick(state: Talk) -> Talk:
    """Says `count` things, `seconds` apart."""
    write = get_stream_writer()
    for n in range(state.get("count", 3)):
        write({"n": n})
        await asyncio.sleep(state.get("seconds", 0))
    return {"log": ["ticked"]}


GRAPHS = {
    "echo": _line(hear, answer),
    "asks": _line(hear, ask, answer),
    "fails": _line(hear, fail),
    "ticks": _line(tick),
}
