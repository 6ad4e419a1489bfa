"""Health, versions, usage and problems as JSON. These models only describe responses."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from stepwell.server.schemas.fields import WireModel


class Ok(WireModel):
    ok: bool


class Info(WireModel):
    """Versions and flags."""

    version: str
    langgraph_py_version: str
    flags: dict[str, bool]
    metadata: dict[str, str]


class RunFigures(WireModel):
    running: int
    pending: int
    oldest_pending_s: float = Field(description="How many seconds the oldest run that could start now has waited")


class DatabaseFigures(WireModel):
    bytes: int


class DutyResponse(WireModel):
    """A background task that runs as long as the server does."""

    name: str
    vital: bool
    ok: bool
    failures: int = Field(description="Since the server started")


class HealthResponse(WireModel):
    ok: bool
    version: str
    started_at: datetime
    runs: RunFigures
    streams: int = Field(description="Open event streams")
    database: DatabaseFigures
    duties: list[DutyResponse]
    problems: list[str]


class UsageResponse(WireModel):
    """Total usage of one model; `key` is the group. `cost_usd` is null if no price is known."""

    key: str
    runs: int
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unpriced_runs: int = Field(description="Runs whose price is unknown; `cost_usd` does not include them")


class Problem(WireModel):
    """An RFC 9457 problem: `detail` says what is wrong and what to do."""

    type: str = Field(description="The kind of problem, as a URN")
    title: str
    status: int
    detail: str
    instance: str | None = None
    errors: list[dict[str, Any]] | None = Field(default=None, description="The invalid fields: `{field, message}`")
    interrupt_ids: list[str] | None = Field(default=None, description="The interrupts concerned")
    reference: str | None = Field(default=None, description="The operator can find the cause in the log under this reference")
