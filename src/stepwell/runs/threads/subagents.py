"""A thread's subagents as clients see them: which tasks there were, and what was said in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from stepwell.backends.steps import arun_steps
from stepwell.database.persistence import Persistence
from stepwell.database.records.subagents import SubAgentTask
from stepwell.errors import InvalidRequestError, NotFoundError
from stepwell.runs.threads.messages import MessagePage
from stepwell.runs.threads.state import ThreadStates
from stepwell.state.stored_values import areading_from
from stepwell.state.transcripts import MESSAGES, transcript_at

MAX_DESCRIPTION_CHARS = 4_000


@dataclass(frozen=True)
class DescribedTask:
    """A task with the words in which it was given; `None` if they are no longer stored."""

    task: SubAgentTask
    description: str | None


class ThreadSubAgents:
    """The subagents of threads. Every call names the owner."""

    def __init__(self, persistence: Persistence, states: ThreadStates) -> None:
        self._persistence = persistence
        self._states = states

    async def list(
        self, owner: str | None, thread_id: str, *, before: str | None, limit: int
    ) -> tuple[Sequence[DescribedTask], str | None]:
        """A page of tasks, newest first, and where the next page begins."""
        tasks = await self._persistence.records.subagent_tasks(owner, thread_id)
        start = 0 if before is None else _place(tasks, before) + 1
        page = tasks[start : start + limit]
        further = page[-1].task_id if len(tasks) > start + limit else None
        if not page:
            return [], None
        async with self._states.saver(owner, thread_id) as saver:
            page = [await _judge(saver, thread_id, task) for task in page]
            return [DescribedTask(task, await _description(saver, thread_id, task)) for task in page], further

    async def messages(
        self, owner: str | None, thread_id: str, task_id: str, *, before: int | None, limit: int
    ) -> tuple[SubAgentTask, MessagePage]:
        """A page of a subagent's messages, newest first."""
        tasks = await self._persistence.records.subagent_tasks(owner, thread_id)
        task = next((task for task in tasks if task.task_id == task_id), None)
        if task is None:
            raise NotFoundError("task", task_id, "List the thread's tasks with GET /threads/{thread_id}/subagents.")
        async with self._states.saver(owner, thread_id) as saver:
            task = await _judge(saver, thread_id, task)
            saved = None
            if saver is not None and task.namespace is not None:
                saved = await saver.aget_tuple(_config(thread_id, task.namespace, None))
            if saver is None or saved is None:
                raise NotFoundError(
                    "messages of task", task_id, "Retention has deleted them; the task's result is in the thread's messages."
                )
            transcript = await arun_steps(transcript_at(saved), areading_from(saver))
        own = transcript.own
        end = len(own) if before is None else min(before, len(own))
        start = max(0, end - limit)
        return task, MessagePage(own[start:end][::-1], len(own), start or None, transcript.checkpoint_id)


async def _judge(saver: BaseCheckpointSaver[Any] | None, thread_id: str, task: SubAgentTask) -> SubAgentTask:
    """The task with the status that its result shows, if no step was recorded."""
    if saver is None or task.result is None:
        return task
    saved = await saver.aget_tuple(_config(thread_id, task.result.namespace, task.result.checkpoint_id))
    for writer, channel, value in (saved.pending_writes or ()) if saved else ():
        if writer != task.result.task_id or channel != MESSAGES:
            continue
        for message in value if isinstance(value, Sequence) else [value]:
            if isinstance(message, ToolMessage) and message.tool_call_id == task.task_id and message.status == "error":
                return replace(task, status="error", error=str(message.text)[:MAX_DESCRIPTION_CHARS])
    return task


def _place(tasks: Sequence[SubAgentTask], task_id: str) -> int:
    found = next((place for place, task in enumerate(tasks) if task.task_id == task_id), None)
    if found is None:
        raise InvalidRequestError("'before' is not a task of this thread. Send the 'next' of the previous page.")
    return found


async def _description(saver: BaseCheckpointSaver[Any] | None, thread_id: str, task: SubAgentTask) -> str | None:
    """The task in the words of the caller: the last message that the subagent was given."""
    if saver is None or task.namespace is None:
        return None
    first = await saver.aget_tuple(_config(thread_id, task.namespace, task.first_checkpoint_id))
    begun = first.checkpoint["channel_values"].get("__start__") if first else None
    given = begun.get(MESSAGES) if isinstance(begun, dict) else None
    last = given[-1] if isinstance(given, list) and given else None
    return last.text[:MAX_DESCRIPTION_CHARS] if isinstance(last, BaseMessage) else None


def _config(thread_id: str, namespace: str, checkpoint_id: str | None) -> RunnableConfig:
    named = {"thread_id": thread_id, "checkpoint_ns": namespace}
    return {"configurable": {**named, **({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}}
