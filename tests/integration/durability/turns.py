"""Turns of a model whose ids nobody else has, as real ones: a scripted model counts from 1 again after a restart."""

from __future__ import annotations

import uuid
from typing import Any

from langchain_core.messages import AIMessage

from stepwell.testing import raw, slow


def turn(text: str = "", **calls: Any) -> Any:
    """Says something and calls tools. `task_` calls `task`, so that one turn can call a tool twice."""
    planned = [
        {"name": name.rstrip("_"), "args": args, "id": f"call-{uuid.uuid4().hex}", "type": "tool_call"}
        for name, args in calls.items()
    ]
    return slow(raw(AIMessage(text, id=f"reply-{uuid.uuid4().hex}", tool_calls=planned)), seconds_per_chunk=0.004)
