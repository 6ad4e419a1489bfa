"""LangGraph's config of a run or an assistant, as JSON. Each graph decides what `configurable` means."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from stepwell.server.schemas.fields import Body, JsonObject, Name, Whole

Tag = Annotated[str, Field(max_length=1024)]


class RunConfig(Body):
    """LangGraph's config. Other fields are stored with an assistant, and have no effect on a run."""

    model_config = ConfigDict(extra="allow", strict=True)

    tags: Annotated[list[Tag], Field(max_length=100)] | None = None
    recursion_limit: Annotated[int, Field(ge=1, le=100_000), Whole] | None = None
    max_concurrency: Annotated[int, Field(ge=1, le=100_000), Whole] | None = None
    run_name: Name | None = None
    metadata: JsonObject | None = None
    configurable: JsonObject | None = None

    def given(self) -> dict[str, Any]:
        """The fields that were sent: `null` means the same as leaving a field out."""
        return self.model_dump(exclude_none=True)
