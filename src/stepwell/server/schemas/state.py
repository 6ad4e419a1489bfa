"""A thread's state and history as JSON."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from stepwell.server.schemas.fields import (
    Body,
    CheckpointId,
    CheckpointRef,
    JsonObject,
    Limit,
    NodeName,
    ResponseBody,
    WireModel,
    checkpoint_of,
)

StateField = Annotated[str, Field(min_length=1, max_length=256)]
"""A field of the state, or `values.<key>` for one key of its values."""


class StateAt(Body):
    checkpoint: CheckpointRef
    subgraphs: bool | None = None
    select: list[StateField] | None = None


class StateWrite(Body):
    values: JsonObject | list[Any] | None = None
    as_node: NodeName | None = None
    checkpoint: CheckpointRef | None = None
    checkpoint_id: CheckpointId | None = None


class StatePatch(Body):
    metadata: JsonObject | None = None


class Before(CheckpointRef):
    """A checkpoint, or a LangGraph config that names one, as older clients send it."""

    configurable: CheckpointRef | None = None


class HistoryQuery(Body):
    limit: Limit | None = None
    before: CheckpointId | Before | None = None
    metadata: JsonObject | None = None
    checkpoint: CheckpointRef | None = None
    select: list[StateField] | None = None

    def before_checkpoint(self) -> JsonObject | None:
        if isinstance(self.before, str):
            return checkpoint_of(None, self.before)
        if self.before is None:
            return None
        return checkpoint_of(self.before.configurable, None) or self.before.model_dump(
            exclude_none=True, exclude={"thread_id", "configurable"}
        )


class StateResponse(ResponseBody):
    """A thread at one of its checkpoints."""

    values: JsonObject | list[Any]
    next: list[str]
    checkpoint: JsonObject | None
    metadata: JsonObject | None
    created_at: str | None
    parent_checkpoint: JsonObject | None
    tasks: list[JsonObject]
    interrupts: list[JsonObject]


class StateWritten(WireModel):
    """The checkpoint that an update created."""

    checkpoint: JsonObject


def select_state(state: JsonObject, select: list[str] | None) -> JsonObject:
    """The selected fields; `values.<key>` selects only that key of `values`."""
    if not select:
        return state
    chosen: JsonObject = {}
    for field in select:
        name, _, key = field.partition(".")
        if name not in state:
            continue
        if not key:
            chosen[name] = state[name]
        elif isinstance(state[name], dict) and key in state[name] and chosen.get(name) is not state[name]:
            chosen.setdefault(name, {})[key] = state[name][key]
    return chosen
