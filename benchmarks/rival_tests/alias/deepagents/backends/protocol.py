"""deepagents' names of results. Ours are rows and text; a backend whose verbs return these is translated (`stepwell.backends.foreign`)."""

from dataclasses import dataclass
from typing import Any

from stepwell.backends import (
    BackendProtocol,
    EditResult,
    ExecuteResponse,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GrepMatch,
    SandboxBackendProtocol,
    WriteResult,
)
from stepwell.backends.transfers import FileOperationError

__all__ = [
    "FILE_NOT_FOUND", "BackendProtocol", "DeleteResult", "EditResult", "ExecuteResponse", "FileData", "FileDownloadResponse", "FileInfo",
    "FileOperationError", "FileUploadResponse", "GlobResult", "GrepMatch", "GrepResult", "LsResult", "ReadResult",
    "SandboxBackendProtocol", "WriteResult",
]  # fmt: skip

FILE_NOT_FOUND = "file_not_found"


@dataclass
class ReadResult:
    error: str | None = None
    file_data: Any = None
    total_lines: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    next_offset: int | None = None
    no_lines_requested: bool = False


@dataclass
class LsResult:
    error: str | None = None
    entries: list[Any] | None = None


@dataclass
class GlobResult:
    error: str | None = None
    matches: list[Any] | None = None
    truncated: bool = False


@dataclass
class GrepResult:
    error: str | None = None
    matches: list[Any] | None = None
    truncated: bool = False


@dataclass
class DeleteResult:
    error: str | None = None
    path: str | None = None
