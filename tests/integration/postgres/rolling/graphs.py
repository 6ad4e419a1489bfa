"""What is driven while every process is restarted: a graph that counts, one number a step."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

STEPS = 25


class Numbers(TypedDict, total=False):
    numbers: Annotated[list[int], operator.add]


async def count(state: Numbers) -> Numbers:
    await asyncio.sleep(0.1)
    return {"numbers": [len(state.get("numbers", []))]}


def go_on(state: Numbers) -> str:
    return "count" if len(state["numbers"]) < STEPS else END


def _counting() -> Any:
    builder = StateGraph(Numbers)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    builder.add_conditional_edges("count", go_on, ["count", END])
    return builder.compile()


counts = _counting()
