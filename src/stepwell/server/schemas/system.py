"""The server itself on the wire. These models only describe responses."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field


class Ok(BaseModel):
    ok: bool


class Info(BaseModel):
    """Versions and flags."""

    version: str
    langgraph_py_version: str
    flags: dict[str, bool]
    metadata: dict[str, str]


class RunFigures(BaseModel):
    running: int
    pending: int
    oldest_pending_s: float = Field(description="How long the first of those that could run now has waited")


class DatabaseFigures(BaseModel):
    bytes: int


class DutyResponse(BaseModel):
    """Something that goes on for as long as the server does."""

    name: str
    vital: bool
    ok: bool
    failures: int = Field(description="Since the start")


class HealthResponse(BaseModel):
    ok: bool
    version: str
    started_at: datetime
    runs: RunFigures
    streams: int = Field(description="Event streams that are open now")
    database: DatabaseFigures
    duties: list[DutyResponse]
    problems: list[str]


class UsageResponse(BaseModel):
    """A sum of usage of one model; `key` is what it was grouped by. `cost_usd` is null where no price is known."""

    key: str
    runs: int
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unpriced_runs: int = Field(description="Runs whose price nobody knows: the cost is that of the others")


class Problem(BaseModel):
    """RFC 9457: what is wrong, in `detail`, with the way out."""

    type: str = Field(description="Names the sort of problem; a URN")
    title: str
    status: int
    detail: str
    instance: str | None = None
    errors: list[dict[str, Any]] | None = Field(default=None, description="Fields that are wrong: `{field, message}`")
    interrupt_ids: list[str] | None = Field(default=None, description="The interrupts that are concerned")
    reference: str | None = Field(default=None, description="Under which the operator finds the cause in the log")
