"""The graphs that every server serves, and that the floor runs in process. Nothing but LangGraph, so that anybody can load them.

| graph | what it does |
|---|---|
| `two_nodes` | each node adds a letter; the state is a word |
| `growing` | `turns` times a message of 200 characters each from two nodes, in a channel of LangGraph's `add_messages` |
| `waits` | one node waits for `seconds`, as for a model; it says first which process it is in, and when |
| `works` | one node uses `seconds` of CPU |
| `ticker` | one node writes a custom event every `INTERVAL_S`, with the time it was due and the time it was written |
"""

import asyncio
import os
import time
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

INTERVAL_S = 0.1


class Word(TypedDict):
    word: str


class Seconds(TypedDict):
    seconds: float


class Ticks(TypedDict):
    events: int


class Growing(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    turns: int


async def first(state: Word) -> dict[str, Any]:
    return {"word": state["word"] + "a"}


async def second(state: Word) -> dict[str, Any]:
    return {"word": state["word"] + "b"}


async def wait(state: Seconds) -> dict[str, Any]:
    get_stream_writer()({"process": os.getpid(), "at": time.time()})
    await asyncio.sleep(state["seconds"])
    return {"seconds": state["seconds"]}


def work(state: Seconds) -> dict[str, Any]:
    until = time.thread_time() + state["seconds"]
    while time.thread_time() < until:
        sum(range(1000))
    return {"seconds": state["seconds"]}


async def tick(state: Ticks) -> dict[str, Any]:
    write = get_stream_writer()
    began = time.time()
    for number in range(state["events"]):
        # Against the clock, not after the last event: a server that is late has to catch up, and cannot slow the load down.
        due = began + number * INTERVAL_S
        await asyncio.sleep(max(0.0, due - time.time()))
        write({"number": number, "due": due, "written": time.time()})
    return {"events": state["events"]}


async def speak(state: Growing) -> dict[str, Any]:
    return {"messages": [AIMessage("x" * 200)], "turns": state["turns"] - 1}


async def reply(state: Growing) -> dict[str, Any]:
    return {"messages": [HumanMessage("y" * 200)]}


def build_growing() -> StateGraph[Any, Any, Any, Any]:
    graph = StateGraph(Growing)
    graph.add_node("speak", speak)
    graph.add_node("reply", reply)
    graph.add_edge(START, "speak")
    graph.add_edge("speak", "reply")
    graph.add_conditional_edges("reply", lambda state: "speak" if state["turns"] > 0 else END)
    return graph


def build_two_nodes() -> StateGraph[Any, Any, Any, Any]:
    graph = StateGraph(Word)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    return graph


def build_one(node: Any) -> StateGraph[Any, Any, Any, Any]:
    graph = StateGraph(Seconds)
    graph.add_node("only", node)
    graph.add_edge(START, "only")
    graph.add_edge("only", END)
    return graph


def build_ticker() -> StateGraph[Any, Any, Any, Any]:
    graph = StateGraph(Ticks)
    graph.add_node("tick", tick)
    graph.add_edge(START, "tick")
    graph.add_edge("tick", END)
    return graph


# Servers take compiled graphs by name from this file, so here they are made when it is imported.
two_nodes = build_two_nodes().compile()
ticker = build_ticker().compile()
growing = build_growing().compile()
waits = build_one(wait).compile()
works = build_one(work).compile()
