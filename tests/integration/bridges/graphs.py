"""Graphs for clients of other protocols: one that answers, one that asks, one that takes long, one that fails."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from stepwell import create_deep_agent
from stepwell.middleware.caller_tools import CallerToolsMiddleware
from stepwell.middleware.clarify import ClarifyWithHumanMiddleware
from stepwell.testing import Asked, Reply, ScriptedModel, call, say


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _add(asked: Asked) -> Reply:
    last = asked.messages[-1]
    if last.type == "tool":
        return say(f"It is {last.content}." if last.content == "3" else f"No sum: {last.content}")
    return call("add", a=1, b=2)


def _ask(asked: Asked) -> Reply:
    last = asked.messages[-1]
    return say(f"You like {last.content}.") if last.type == "tool" else call("ask_user", question="Which colour do you like?")


def _say_back(asked: Asked) -> Reply:
    pictures = [block for block in asked.messages[-1].content_blocks if block["type"] == "image"]
    told = f", with {len(pictures)} picture" if pictures else ""
    before = [message for message in asked.messages[:-1] if message.type in ("human", "ai")]
    return say(f"You said: {asked.messages[-1].text}{told} (after {len(before)})")


def _weather(asked: Asked) -> Reply:
    last = asked.messages[-1]
    if last.type == "tool":
        return say(f"It is {last.content}.")
    return call("get_weather", city="Rome") if "get_weather" in asked.tool_names else say("I cannot know.")


echo = create_deep_agent(ScriptedModel.answering(_say_back))
agent = create_deep_agent(ScriptedModel.answering(_add), [add])
careful = create_deep_agent(ScriptedModel.answering(_add), [add], interrupt_on={"add": True})
curious = create_deep_agent(ScriptedModel.answering(_ask), middleware=[ClarifyWithHumanMiddleware()])
open_handed = create_deep_agent(ScriptedModel.answering(_weather), [add], middleware=[CallerToolsMiddleware()])


class Sum(TypedDict, total=False):
    a: int
    b: int
    total: int
    name: str


def _total(state: Sum) -> Sum:
    return {"total": state["a"] + state["b"]}


def _named(state: Sum) -> Sum:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return {"name": interrupt("What is it called?", response_schema=schema)["name"]}


class Pair(TypedDict, total=False):
    name: str
    x: str
    y: str


def _ask_for(field: str) -> Any:
    return lambda state: {field: interrupt(f"{field}?")}


async def _slow(state: MessagesState) -> dict[str, Any]:
    await asyncio.sleep(600)
    return {"messages": [AIMessage("late")]}


async def _pause(state: MessagesState) -> dict[str, Any]:
    await asyncio.sleep(4)
    return {"messages": [AIMessage("Here I am.")]}


def _fail(state: MessagesState) -> dict[str, Any]:
    raise ValueError("the node fell over")


@entrypoint()
def shouter(text: str) -> str:
    return text.upper()


adder = StateGraph(Sum).add_node("total", _total).add_edge(START, "total").compile()
namer = StateGraph(Sum).add_node("named", _named).add_edge(START, "named").compile()
two = (
    StateGraph(Pair)
    .add_node("first", _ask_for("x"))
    .add_node("second", _ask_for("y"))
    .add_edge(START, "first")
    .add_edge(START, "second")
    .compile()
)
slow = StateGraph(MessagesState).add_node("slow", _slow).add_edge(START, "slow").compile()
pause = StateGraph(MessagesState).add_node("pause", _pause).add_edge(START, "pause").compile()
failing = StateGraph(MessagesState).add_node("fail", _fail).add_edge(START, "fail").compile()
