"""Runs as JSON: the requests of clients, the engine's orders made from them, and responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from stepwell.database.types import Durability, MultitaskStrategy, Run, RunStatus
from stepwell.runs.run_config import USER_PREFIX
from stepwell.runs.starting import RunOrder
from stepwell.server.schemas.config import RunConfig
from stepwell.server.schemas.fields import (
    AssistantRef,
    Body,
    CheckpointId,
    CheckpointRef,
    JsonObject,
    NodeName,
    ResponseBody,
    Uuid,
    checkpoint_of,
)

StreamMode = Literal[
    "values", "messages", "messages-tuple", "updates", "events", "tasks", "checkpoints", "debug", "custom", "tools", "lifecycle"
]  # fmt: skip
RunField = Literal[
    "run_id", "thread_id", "assistant_id", "created_at", "updated_at", "status", "metadata", "kwargs", "multitask_strategy",
    "cancel_reason",
]  # fmt: skip
Nodes = Literal["*"] | Annotated[list[NodeName], Field(max_length=1000)]

WEEK_S = 7 * 24 * 3600


class SendTo(Body):
    """A node to go to, with its own input."""

    node: NodeName
    input: Any = None


class RunCommand(Body):
    """LangGraph's command: answer interrupts, update the state, go to a node."""

    resume: Any = None
    update: JsonObject | Annotated[list[Any], Field(max_length=1000)] | None = None
    goto: NodeName | SendTo | Annotated[list[NodeName | SendTo], Field(max_length=1000)] | None = None


class RunCreate(Body):
    """A request for a run. `null` means the same as leaving a field out."""

    assistant_id: AssistantRef
    input: Any = None
    command: RunCommand | None = None
    config: RunConfig | None = None
    context: JsonObject | None = None
    metadata: JsonObject | None = None
    checkpoint: CheckpointRef | None = None
    checkpoint_id: CheckpointId | None = None
    stream_mode: StreamMode | Annotated[list[StreamMode], Field(max_length=20)] | None = None
    stream_subgraphs: bool | None = None
    stream_resumable: bool | None = None
    interrupt_before: Nodes | None = None
    interrupt_after: Nodes | None = None
    webhook: Annotated[str, Field(max_length=65_536)] | None = None
    feedback_keys: Annotated[list[Annotated[str, Field(max_length=1024)]], Field(max_length=100)] | None = Field(
        default=None, description="Accepted and not used: addresses for feedback would come from LangSmith."
    )
    multitask_strategy: MultitaskStrategy | None = None
    if_not_exists: Literal["create", "reject"] | None = None
    on_disconnect: Literal["cancel", "continue"] | None = None
    on_completion: Literal["delete", "keep"] | None = None
    after_seconds: Annotated[float, Field(ge=0, le=52 * WEEK_S, allow_inf_nan=False)] | None = None
    durability: Durability | None = None
    checkpoint_during: bool | None = Field(default=None, json_schema_extra={"deprecated": True})
    strict_resume: bool | None = None


class BatchRun(RunCreate):
    """One of several runs; without `thread_id` it is stateless."""

    thread_id: Uuid | None = None


class CancelMany(Body):
    """Which runs to cancel: by id, or all with a given status."""

    thread_id: Uuid | None = None
    run_ids: Annotated[list[Uuid], Field(max_length=1000)] | None = None
    status: Literal["pending", "running", "all"] | None = None


class RunResponse(ResponseBody):
    """One execution of a graph."""

    run_id: str
    thread_id: str
    assistant_id: str
    created_at: datetime
    updated_at: datetime
    status: RunStatus
    metadata: JsonObject
    kwargs: JsonObject
    multitask_strategy: MultitaskStrategy
    cancel_reason: str | None


def run_wire(run: Run) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "assistant_id": run.request.assistant_id,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "status": run.status,
        "metadata": run.metadata,
        "kwargs": _kwargs(run),
        "multitask_strategy": run.multitask_strategy,
        "cancel_reason": run.cancel_reason,
    }


def _kwargs(run: Run) -> dict[str, Any]:
    """The run's request under LangGraph's names, without secrets: a key sent with it is only for the graph."""
    request = run.request.without_secrets()
    command = {**(request.command or {}), **({"resume": request.resume} if request.resume is not None else {})}
    return {
        "input": request.input,
        "command": command or None,
        "config": _public(request.config),
        "context": request.context,
        "checkpoint": request.checkpoint,
        "stream_mode": list(request.stream_modes),
        "subgraphs": request.stream_subgraphs,
        "interrupt_before": request.interrupt_before,
        "interrupt_after": request.interrupt_after,
        "durability": request.durability,
    }


def _public(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config without what the server added to it."""
    configurable = {
        name: value for name, value in (config.get("configurable") or {}).items() if not name.startswith(USER_PREFIX)
    }
    rest = {name: value for name, value in config.items() if name != "configurable"}
    return {**rest, "configurable": configurable} if configurable else rest


_SAME_IN_ORDER = tuple(each.name for each in fields(RunOrder) if each.name in RunCreate.model_fields)


def run_order_of(body: RunCreate, thread_id: str | None) -> RunOrder:
    """The order for a run, with or without a thread. `null` or a missing field means the engine's default."""
    changed = {
        "input": _input(body),
        "command": _command(body.command) if body.command else None,
        "config": body.config.given() if body.config else None,
        "checkpoint": checkpoint_of(body.checkpoint, body.checkpoint_id),
        "checkpoint_id": None,
        "stream_modes": [body.stream_mode] if isinstance(body.stream_mode, str) else body.stream_mode or None,
        "durability": _durability(body),
    }
    given = {**{name: getattr(body, name) for name in _SAME_IN_ORDER}, **changed}
    return RunOrder(thread_id=thread_id, **{name: value for name, value in given.items() if value is not None})


def _input(body: RunCreate) -> Any:
    """Clients send an empty input with a command, and mean no input."""
    return None if body.command and body.input == {} else body.input


def _command(command: RunCommand) -> dict[str, Any]:
    return {name: value for name, value in command.model_dump().items() if value is not None}


def _durability(body: RunCreate) -> Durability | None:
    """`checkpoint_during` is the older name of this field: `false` stores only the final state."""
    if body.durability is None and body.checkpoint_during is not None:
        return "async" if body.checkpoint_during else "exit"
    return body.durability
