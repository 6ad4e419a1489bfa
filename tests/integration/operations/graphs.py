"""Small graphs for operators' tests."""

from __future__ import annotations

import asyncio
import logging
import operator
from itertools import pairwise
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from stepwell.agent import create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, say
from stepwell.tools.effects import with_effect


class Words(TypedDict):
    words: Annotated[list[str], operator.add]


def _line(*nodes: Any, state: Any = Words) -> Any:
    builder = StateGraph(state)
    for node in nodes:
        builder.add_node(node.__name__, node)
    for before, after in pairwise([START, *(node.__name__ for node in nodes), END]):
        builder.add_edge(before, after)
    return builder.compile()


def hello(state: Words) -> Words:
    logging.getLogger("a.users.library").warning("inside a node")
    return {"words": ["hello"]}


def world(state: Words) -> Words:
    return {"words": ["world"]}


def ask(state: Words) -> Words:
    return {"words": [interrupt("which word?")]}


async def speak(state: MessagesState) -> dict[str, list[AIMessage]]:
    answer = await ScriptedModel([say("a short answer")]).ainvoke(state["messages"])
    return {"messages": [answer]}


@with_effect("once")
async def pay(to: str) -> str:
    """Pay somebody. The bank does not answer."""
    await asyncio.Event().wait()
    return "never"


def take_turn(asked: Asked) -> Any:
    return call("pay", to=asked.human.split()[1]) if asked.human.startswith("pay ") and asked.turn == 0 else say("noted")


pays = create_deep_agent(ScriptedModel.answering(take_turn), [pay])
words = _line(hello, world)
asks = _line(hello, ask)
chats = _line(speak, state=MessagesState)
