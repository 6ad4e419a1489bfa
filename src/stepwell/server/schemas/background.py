"""Background tasks as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from stepwell.database.types import BackgroundTask
from stepwell.server.schemas.fields import WireModel
from stepwell.tools.background import TaskStatus


class TaskResponse(WireModel):
    """A subagent that works in the background, on a thread of its own."""

    task_id: str
    thread_id: str = Field(description="The task's own thread; the same as its id")
    parent_thread_id: str
    run_id: str = Field(description="The newest run on the task's thread")
    agent_name: str
    description: str = Field(description="What the task is")
    status: TaskStatus
    result: str | None = Field(description="Its answer; null in lists, and until it succeeded")
    error: str | None
    question: str | None = Field(description="What it asks, as JSON, while it waits for an answer on its own thread")
    created_at: datetime
    updated_at: datetime


class TasksResponse(WireModel):
    tasks: list[TaskResponse] = Field(description="Oldest first")


def task_wire(task: BackgroundTask) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "thread_id": task.task_id,
        "parent_thread_id": task.parent_thread_id,
        "run_id": task.run_id,
        "agent_name": task.agent_name,
        "description": task.description,
        "status": task.status,
        "result": task.result,
        "error": task.error,
        "question": task.question,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
    }
