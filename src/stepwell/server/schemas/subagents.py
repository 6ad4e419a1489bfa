"""A thread's subagents as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from stepwell.database.records.subagents import SubAgentStatus
from stepwell.runs.threads.subagents import DescribedTask
from stepwell.server.schemas.conversation import MessagesResponse
from stepwell.server.schemas.fields import WireModel


class SubAgentTaskResponse(WireModel):
    """A task that the agent gave to a subagent."""

    task_id: str = Field(description="Id of the call of `task` that began it")
    name: str = Field(description="Name of the subagent")
    description: str | None = Field(description="The task in the agent's words; null: no longer stored")
    status: SubAgentStatus = Field(description="interrupted: it waits for an answer, or its run was stopped")
    run_id: str
    started_at: datetime
    duration_ms: float | None = Field(description="How long it worked; null: it has not stopped yet")
    caller: str | None = Field(description="The subagent that called it; null: the agent itself")
    continues: str | None = Field(description="The task that it continues; null: it started fresh")
    error: str | None
    has_messages: bool = Field(description="Whether its messages are still stored")
    model_calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None = Field(description="null: the price is unknown")


class SubAgentsResponse(WireModel):
    subagents: list[SubAgentTaskResponse] = Field(description="Newest first")
    next: str | None = Field(description="Send it as `before` to get older tasks; null: there are none")


class SubAgentMessagesResponse(MessagesResponse):
    """A subagent's messages, from its task to its answer."""

    task_id: str
    name: str
    status: SubAgentStatus


def task_wire(described: DescribedTask) -> dict[str, Any]:
    task = described.task
    return {
        "task_id": task.task_id,
        "name": task.name,
        "description": described.description,
        "status": task.status,
        "run_id": task.run_id,
        "started_at": task.started_at,
        "duration_ms": None if task.seconds is None else round(task.seconds * 1000, 3),
        "caller": task.caller,
        "continues": task.continues,
        "error": task.error,
        "has_messages": task.namespace is not None,
        "model_calls": task.model_calls,
        "input_tokens": task.input_tokens,
        "output_tokens": task.output_tokens,
        "cost_usd": task.cost_usd,
    }
