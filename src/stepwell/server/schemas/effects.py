"""Effects as JSON: what tools that run at most once did, or began to do."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stepwell.database.records.types import EffectOutcome
from stepwell.server.schemas.fields import Body, WireModel


class EffectSettle(Body):
    """What a user or operator found out about an effect whose outcome is unknown."""

    key: Annotated[str, Field(min_length=1, max_length=4096)]
    outcome: Literal["done", "not_done"]
    note: Annotated[str, Field(max_length=4096, description="Passed on to the model, such as a receipt number or a result")] = (
        ""
    )


class EffectResponse(WireModel):
    """One effect. `thread_id`, `run_id` and `owner` are null if its thread was deleted."""

    key: str
    tool: str
    outcome: EffectOutcome
    begun_at: str
    thread_id: str | None
    run_id: str | None
    owner: str | None
    taken_back: bool = Field(description="Its run was rolled back with all its output, so no thread shows the effect")
    note: str | None
    settled_at: str | None
    settled_by: str | None
