"""An agent that starts two background tasks for each message, and sends one of an earlier message's tasks more work."""

from __future__ import annotations

import asyncio
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
    last = asked.messages[-1]
    if last.type == "tool":
        return turn("told them")
    if last.text.startswith("Background task"):
        return turn(f"heard of {last.text.split()[2]}")
    verb, mark = last.text.split()
    known = re.findall(r"Launched async subagent. task_id: (\S+)", "\n".join(message.text for message in asked.messages))
    if verb == "more" and known:
        return turn(update_async_task={"task_id": known[0], "message": mark})
    return turn(start_async_task=_task(f"{mark}-one"), start_async_task_=_task(f"{mark}-two"))


def _worker(asked: Asked) -> Any:
    last = asked.messages[-1]
    return turn(f"done: {last.text}") if last.type == "tool" else turn(work={"what": last.text})


def background() -> Any:
    return create_deep_agent(
        ScriptedModel.answering(lambda asked: _worker(asked) if asked.agent == "worker" else _main(asked), remember=0),
        [work],
        subagents=[{"name": "worker", "description": "works", "system_prompt": "You work.", "mode": "background"}],
    )
