"""An agent that works until a test lets it go on: `GATES[mark]` is awaited by its tool, and by its model after the tool."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from langchain_core.tools import tool

from stepwell import HooksMiddleware, create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, say


class Gate:
    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await self.open.wait()


TOOLS: defaultdict[str, Gate] = defaultdict(Gate)
MODELS: defaultdict[str, Gate] = defaultdict(Gate)


@tool
async def work(mark: str) -> str:
    """Work until told."""
    if mark:
        await TOOLS[mark].pass_through()
    return "worked"


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def _answer(asked: Asked) -> Any:
    """`work MARK`: calls the tool, then answers. `pay`: asks for approval first. Anything else: says which messages it has seen last."""
    last = asked.messages[-1]
    words = str(last.text).split()
    if last.type == "human" and words[0] == "work":
        return call("work", mark=words[1])
    if last.type == "human" and words[0] == "pay":
        return call("pay", amount=5)
    heard = [message.text for message in asked.messages if message.type == "human"]
    return say("heard " + " | ".join(heard))


async def _wait(event: Any) -> None:
    messages = event.messages
    marks = [message.text.split()[1] for message in messages if message.type == "human" and message.text.startswith("work ")]
    if marks and marks[-1] in MODELS and any(message.type == "tool" for message in messages):
        await MODELS[marks[-1]].pass_through()


agent = create_deep_agent(
    ScriptedModel(_answer),
    [work, pay],
    middleware=[HooksMiddleware(before_model=_wait)],
    interrupt_on={"pay": True},
)
