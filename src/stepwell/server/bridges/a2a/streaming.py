"""What a task does, as the events of A2A: the task itself, then its text in pieces and its states, until it ends or asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import orjson

from stepwell.database.types import RunEvent
from stepwell.server.bridges.a2a.tasks import COMPLETED, INPUT_REQUIRED, TERMINAL, WORKING, Task, Tasks, artifact_of, stamp
from stepwell.server.bridges.turns import Outcome, Restarted, TextPiece, ToolEnded, ToolStarted

_LOOK_S = 2.0


async def stream_task(tasks: Tasks, task: Task, history_length: int | None) -> AsyncGenerator[dict[str, Any]]:
    """The events of a task's newest run, from its beginning. Pieces with one artifact id make up one message of the agent."""
    yield {"task": task.wire(history_length)}
    names = {"taskId": str(task.id), "contextId": task.id.thread_id}
    begun: set[str] = set()
    async with aclosing(tasks.turn(task).follow()) as happenings:
        async for each in happenings:
            match each:
                case TextPiece(_, message_id, text):
                    artifact = artifact_of(message_id or task.run.run_id, [{"text": text, "mediaType": "text/plain"}])
                    yield {"artifactUpdate": {**names, "artifact": artifact, "append": message_id in begun}}
                    begun.add(message_id)
                case ToolStarted(_, call_id, name) | ToolEnded(_, call_id, name):
                    event = "started" if isinstance(each, ToolStarted) else "failed" if each.failed else "ended"
                    status = {"state": WORKING, "timestamp": _now(tasks)}
                    tool = {"name": name, "call_id": call_id, "event": event}
                    yield {"statusUpdate": {**names, "status": status, "metadata": {"tool": tool}}}
                case Restarted():
                    begun.clear()  # an unfinished message is written again, so its first piece replaces what was sent of it
                case Outcome():
                    ended = await tasks.after(task, each)
                    if rest := _unsent(ended, begun):
                        yield {"artifactUpdate": {**names, **rest, "lastChunk": True}}
                    yield {"statusUpdate": {**names, "status": ended.status()}}


async def watch_question(tasks: Tasks, task: Task) -> AsyncGenerator[dict[str, Any]]:
    """A task that asks, then its events from the moment when it is answered."""
    yield {"task": task.wire()}
    known = {run.run_id for run in task.runs}
    task = await _answered(tasks, task, known)
    if task.state not in TERMINAL and task.run.run_id not in known:
        async with aclosing(stream_task(tasks, task, 0)) as following:
            async for event_of_task in following:
                if "task" not in event_of_task:
                    yield event_of_task
    else:
        names = {"taskId": str(task.id), "contextId": task.id.thread_id}
        yield {"statusUpdate": {**names, "status": task.status()}}


async def _answered(tasks: Tasks, task: Task, known: set[str]) -> Task:
    """The task as soon as it is answered, or no longer asks."""
    turns = tasks.turns
    events = turns.services.engine.thread_events(turns.principal.owner, task.id.thread_id, after=0)
    async with aclosing(cast("AsyncGenerator[list[RunEvent]]", events)) as batches:
        arriving = asyncio.ensure_future(anext(batches, None))
        try:
            while True:
                done, _ = await asyncio.wait({arriving}, timeout=_LOOK_S)  # a question can be closed without any run
                batch = arriving.result() if done else None
                if batch is None or any(_begins_another(event, known) for event in batch):
                    found = await tasks.find(task.id)  # fails if the conversation was deleted
                    if found.state != INPUT_REQUIRED or found.run.run_id not in known:
                        return found
                if done:
                    arriving = asyncio.ensure_future(anext(batches, None))
        finally:
            arriving.cancel()
            await asyncio.wait({arriving})


def _begins_another(event: RunEvent, known: set[str]) -> bool:
    return event.event == "metadata" and orjson.loads(event.data).get("run_id") not in known


def _unsent(ended: Task, begun: set[str]) -> dict[str, Any] | None:
    """What the answer has beside the text that was streamed: files, structured data, or all of it if nothing was."""
    artifact = ended.artifact() if ended.state == COMPLETED else None
    if artifact is None:
        return None
    streamed = artifact["artifactId"] in begun
    parts = [part for part in artifact["parts"] if not (streamed and "text" in part)]
    return {"artifact": {**artifact, "parts": parts}, "append": streamed} if parts else None


def _now(tasks: Tasks) -> str:
    return stamp(tasks.turns.services.clock.now())
