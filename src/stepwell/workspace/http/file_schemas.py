"""Files of a workspace as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from stepwell.backends.whole_files import FileFacts
from stepwell.server.schemas.fields import Body, WireModel

MAX_PATH_CHARS = 1024


class WorkspaceFile(WireModel):
    """A file below the root."""

    path: str
    size: int
    modified_at: datetime
    etag: str | None = Field(default=None, description="The version, for If-Match; not in listings")


class WorkspaceListing(WireModel):
    files: list[WorkspaceFile]
    cursor: str | None = Field(description="Send it to get the next page; null: there are no more")


class UploadBegin(Body):
    """A file to upload in parts. `if_match` is the version to replace; `if_none_match: "*"` means that the file must not exist yet."""

    path: Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARS)]
    root: Annotated[str, Field(max_length=MAX_PATH_CHARS)] | None = None
    if_match: Annotated[str, Field(max_length=200)] | None = None
    if_none_match: Annotated[str, Field(max_length=200)] | None = None


class UploadBegun(WireModel):
    upload_id: str
    max_part_bytes: int
    max_parts: int
    expires_at: datetime


class UploadPart(WireModel):
    part: int
    size: int


def file_wire(file: FileFacts) -> dict[str, Any]:
    facts = {"path": file.path, "size": file.size, "modified_at": file.modified_at}
    return {**facts, "etag": etag_of(file)} if file.version else facts


def etag_of(file: FileFacts) -> str:
    return f'"{file.version}"'
