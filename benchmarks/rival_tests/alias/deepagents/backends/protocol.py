"""Their result types. Only the fields that their tests use; our own backends answer with ours."""

from dataclasses import dataclass

from stepwell.backends import BackendProtocol, FileInfo
from stepwell.backends.transfers import FileDownloadResponse

FILE_NOT_FOUND = "file_not_found"


@dataclass
class LsResult:
    error: str | None = None
    entries: list[FileInfo] | None = None


__all__ = ["FILE_NOT_FOUND", "BackendProtocol", "FileDownloadResponse", "FileInfo", "LsResult"]
