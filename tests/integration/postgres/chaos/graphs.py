"""A graph that speaks while it works, so that what it says shows which execution of a step said it. Served by the processes of chaos."""

from __future__ import annotations

import asyncio
import json
import operator
import os
import urllib.request
import uuid
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from stepwell.tools.effect_journal import effect_key, settled

WORDS = 12
PAUSE_S = 0.03
STEPS = ("first", "second", "third")
LONG_STEP = "long"


class Spoken(TypedDict, total=False):
    marks: Annotated[list[str], operator.add]
    done: Annotated[list[str], operator.add]
    messages: Annotated[list[AnyMessage], add_messages]


def _post(body: dict[str, str]) -> None:
    request = urllib.request.Request(os.environ["ORACLE_URL"], json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=60):
        return


def _speak(step: str) -> Any:
    async def speak(state: Spoken, config: RunnableConfig) -> Spoken:
        """Says its words one by one, under a name that no other execution has; then has its effect."""
        write, execution, mark = get_stream_writer(), uuid.uuid4().hex, state["marks"][-1]
        pause_s = config["configurable"].get("pause_s", PAUSE_S)
        for word in range(WORDS):
            write({"execution": execution, "step": step, "word": word})
            await asyncio.sleep(pause_s)
        await settled(config)
        await asyncio.to_thread(_post, {"name": f"{mark} {step}", "key": effect_key(config), "kind": "keyed"})
        return {"done": [f"{mark} {step}"]}

    return speak


def _line(*steps: str) -> Any:
    builder = StateGraph(Spoken)
    for step in steps:
        builder.add_node(step, _speak(step))
    for left, right in zip((START, *steps), (*steps, END), strict=True):
        builder.add_edge(left, right)
    return builder.compile()


async def wait(state: Spoken) -> Spoken:
    """Says that it waits, and does so for longer than anybody in a test."""
    get_stream_writer()({"waiting": os.getpid()})
    await asyncio.sleep(600)
    return {}


def _waiting() -> Any:
    builder = StateGraph(Spoken)
    builder.add_node("wait", wait)
    builder.add_edge(START, "wait")
    builder.add_edge("wait", END)
    return builder.compile()


speaking = _line(*STEPS)
slow = _line(LONG_STEP)
"""The caller says with `pause_s` how long its only step takes."""
waiting = _waiting()
