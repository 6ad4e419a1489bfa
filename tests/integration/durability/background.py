"""An agent that starts two background tasks for each message, sends one of an earlier message's tasks more work, and answers what is said
while it works."""

from __future__ import annotations

import asyncio
import itertools
import re
from typing import Any

from langchain_core.tools import tool
from tests.integration.durability.turns import turn

from stepwell import create_deep_agent
from stepwell.testing import Asked, ScriptedModel


@tool
async def work(what: str) -> str:
    """Work for a moment."""
    await asyncio.sleep(0.05)
    return f"worked on {what}"


def _task(description: str) -> dict[str, str]:
    return {"description": description, "subagent_type": "worker"}


def _main(asked: Asked) -> Any:
    new = list(itertools.takewhile(lambda message: message.type == "human", reversed(asked.messages)))[::-1]
    told = [
        f"heard of {text.split()[2]}." if text.startswith("Background task") else text for text in (each.text for each in new)
    ]
    text = " ".join(told) or "told them"
    verb, _, mark = next((each for each in told if each.startswith(("go", "more"))), "").partition(" ")
    known = re.findall(r"Launched async subagent. task_id: (\S+)", "\n".join(message.text for message in asked.messages))
    if verb == "more" and known:
        return turn(text, update_async_task={"task_id": known[0], "message": mark})
    if verb:
        return turn(text, start_async_task=_task(f"{mark}-one"), start_async_task_=_task(f"{mark}-two"))
    return turn(text)


def _worker(asked: Asked) -> Any:
    last = asked.messages[-1]
    return turn(f"done: {last.text}") if last.type == "tool" else turn(work={"what": last.text})


def background() -> Any:
    return create_deep_agent(
        ScriptedModel.answering(lambda asked: _worker(asked) if asked.agent == "worker" else _main(asked), remember=0),
        [work],
        subagents=[{"name": "worker", "description": "works", "system_prompt": "You work.", "mode": "background"}],
    )
