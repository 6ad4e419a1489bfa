"""The subagents of a thread whose checkpoints this process can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell.errors import NotFoundError
from stepwell.terminal.dialogue.session import SubAgentLine

LINE_CHARS = 100


async def stored_subagents(saver: Any, thread_id: str) -> list[SubAgentLine]:
    """The tasks, oldest first."""
    from stepwell.state.transcripts import alist_transcripts  # imports LangGraph

    found = await alist_transcripts(saver, thread_id)
    return [SubAgentLine(task.task_id, task.name, shorten(task.task)) for task in found]


async def stored_messages(saver: Any, thread_id: str, task_id: str) -> list[Mapping[str, Any]]:
    """The messages of a task as JSON, oldest first."""
    import orjson

    from stepwell.state import wire
    from stepwell.state.transcripts import aread_transcript

    found = await aread_transcript(saver, thread_id, task_id)
    if found is None:
        raise NotFoundError("task", task_id, "List the tasks with /subagents.")
    messages: list[Mapping[str, Any]] = orjson.loads(wire.encode(list(found.own)))
    return messages


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1]}…"
