"""Rewinds as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from stepwell.server.schemas.fields import Body, WireModel


class RewindCreate(Body):
    """Unknown fields are refused: with a misspelt `dry_run`, the turn would really be taken back."""

    model_config = ConfigDict(extra="forbid")

    turn_id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=256,
            description="The turn to take back, with all that came after it: the id of the user's message that began it, the id of its "
            "first run, or the `rewind_id` of an earlier rewind, to undo that",
        ),
    ]
    dry_run: bool = Field(False, description="Only say what would happen")
    force: bool = Field(False, description="Go back even if somebody else has changed a file since")


class RewoundFile(WireModel):
    path: str
    change: Literal["created", "changed", "deleted"] = Field(description="What the rewind does to the file")
    insertions: int
    deletions: int


class NotUndoneResponse(WireModel):
    kind: Literal["command", "effect", "device", "file", "money"]
    what: str
    times: int


class RewindResponse(WireModel):
    """What a rewind does, or would do."""

    turn_id: str
    can_rewind: bool
    problem: str | None = Field(description="Why it cannot be done, and what to do; null: it can")
    files_changed: list[str]
    insertions: int
    deletions: int
    files: list[RewoundFile]
    conflicts: list[str] = Field(description="Files that somebody else has changed since")
    messages_removed: int
    not_undone: list[NotUndoneResponse] = Field(description="What stays as it is: commands, effects of tools, money")
    rewind_id: str | None = Field(description="Send it as `turn_id` to undo the rewind; null: nothing was done")
