"""An agent that is paid for, and writes down outside which answers it gave. Served by the process that `test_killed_server.py` kills."""

from __future__ import annotations

import asyncio
import os
import random
import uuid
from typing import Any

from langgraph.config import get_config

from stepwell import CashuPaymentMiddleware, create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, say

_CALLS = 3


async def _answer(asked: Asked) -> Any:
    """Two steps of planning, then an answer. What it says is said once in the world."""
    thread_id = get_config()["configurable"]["thread_id"]
    await asyncio.sleep(random.uniform(0, 0.03))
    name = uuid.uuid4().hex
    with open(os.environ["SOLD_ANSWERS"], "a", encoding="utf-8") as file:  # noqa: ASYNC230 - a line of one write
        file.write(f"{thread_id} {name}\n")
        file.flush()
        os.fsync(file.fileno())
    last = max(index for index, message in enumerate(asked.messages) if message.type == "human")
    done = sum(1 for message in asked.messages[last:] if message.type == "tool")
    plan = [{"content": name, "status": "pending"}]
    return call("write_todos", todos=plan) if done + 1 < _CALLS else say(name)


sold = create_deep_agent(ScriptedModel.answering(_answer), middleware=[CashuPaymentMiddleware()], name="sold")
