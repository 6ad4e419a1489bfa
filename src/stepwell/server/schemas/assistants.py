"""Assistants as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from stepwell.database.records.types import AssistantFilter
from stepwell.database.types import Assistant
from stepwell.server.schemas.config import RunConfig
from stepwell.server.schemas.fields import (
    Body,
    IfExists,
    JsonObject,
    Limit,
    Name,
    Offset,
    ResponseBody,
    SortOrder,
    Text,
    Uuid,
    Whole,
    WireModel,
)

GraphName = Annotated[str, Field(min_length=1, max_length=256)]
AssistantField = Literal[
    "assistant_id", "graph_id", "name", "description", "config", "context", "created_at", "updated_at", "metadata", "version"
]
SortBy = Literal["assistant_id", "graph_id", "name", "created_at", "updated_at"]


class AssistantCreate(Body):
    graph_id: GraphName
    assistant_id: Uuid | None = None
    config: RunConfig | None = None
    context: JsonObject | None = None
    metadata: JsonObject | None = None
    if_exists: IfExists | None = None
    name: Name | None = None
    description: Text | None = None


class AssistantPatch(Body):
    graph_id: GraphName | None = None
    config: RunConfig | None = None
    context: JsonObject | None = None
    metadata: JsonObject | None = None
    name: Name | None = None
    description: Text | None = None


class AssistantCount(Body):
    metadata: JsonObject | None = None
    graph_id: GraphName | None = None
    name: Name | None = None

    def wanted(self) -> AssistantFilter:
        return AssistantFilter(self.metadata or {}, self.graph_id, self.name)


class AssistantSearch(AssistantCount):
    limit: Limit | None = None
    offset: Offset | None = None
    sort_by: SortBy | None = None
    sort_order: SortOrder | None = None
    select: list[AssistantField] | None = None


class VersionsQuery(Body):
    metadata: JsonObject | None = None
    limit: Limit | None = None
    offset: Offset | None = None


class VersionChoice(Body):
    version: Annotated[int, Field(ge=1, le=2**31 - 1), Whole]


class AssistantResponse(ResponseBody):
    """A graph with a configuration."""

    assistant_id: str
    graph_id: str
    name: str
    description: str | None
    config: JsonObject
    context: JsonObject
    metadata: JsonObject
    version: int
    created_at: datetime
    updated_at: datetime


class GraphReadiness(WireModel):
    """Whether a graph can be run here."""

    graph_id: str
    ready: bool
    problem: str | None = Field(description="A sentence that says what is missing and how to get it; null if ready")
    run_modes: list[str] = Field(
        description="What a run's `config.configurable.permission_mode` may be; empty if the graph has no modes, or if only a run can tell"
    )
    can_rewind: bool = Field(description="Whether turns on its threads can be taken back with POST /threads/{thread_id}/rewind")


class GraphSchemas(WireModel):
    """JSON Schemas of a graph; `null` if one cannot be generated."""

    graph_id: str
    input_schema: JsonObject | None
    output_schema: JsonObject | None
    state_schema: JsonObject | None
    config_schema: JsonObject | None
    context_schema: JsonObject | None


def assistant_wire(assistant: Assistant) -> dict[str, Any]:
    return {
        "assistant_id": assistant.assistant_id,
        "graph_id": assistant.graph_id,
        "name": assistant.name,
        "description": assistant.description,
        "config": assistant.config,
        "context": assistant.context,
        "metadata": assistant.metadata,
        "version": assistant.version,
        "created_at": assistant.created_at,
        "updated_at": assistant.updated_at,
    }
