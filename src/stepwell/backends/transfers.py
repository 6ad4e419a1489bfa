"""Moves whole files into and out of a backend, for programs around an agent: `upload_files` and `download_files`.

A model never calls these; it has the six verbs. An answer has one row per file, in order, so that one bad path does not affect the rest.
In a row, `error` is one of four codes, and `message` is a sentence. Backends store text, so uploads must be UTF-8.

Not to be confused with `whole_files`: these methods belong to one backend, hold each file in memory, and write with its `write`, so its
rules apply. `WholeFiles` is for HTTP: bytes of any size, versions, and the files of all roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stepwell.backends import messages, paths
from stepwell.backends.protocol import ErrorText, WriteResult
from stepwell.errors import BackendError
from stepwell.in_thread import in_thread

FileOperationError = Literal["file_not_found", "permission_denied", "is_directory", "invalid_path"]


@dataclass(frozen=True)
class FileUploadResponse:
    """The result of one upload."""

    path: str
    error: FileOperationError | None = None
    message: str | None = None


@dataclass(frozen=True)
class FileDownloadResponse:
    """One whole file, or an error."""

    path: str
    content: bytes | None = None
    error: FileOperationError | None = None
    message: str | None = None


class Transfers:
    """Adds both directions, sync and async, to a backend with `write` and `read_whole`."""

    def read_whole(self, file_path: str) -> bytes | ErrorText:
        """A file as it is stored."""
        raise BackendError(
            f"{type(self).__name__} does not hand out whole files. Give it a method read_whole(file_path) -> bytes | ErrorText."
        )

    def write(self, file_path: str, content: str, *, overwrite: bool = False) -> WriteResult:
        raise NotImplementedError  # every backend has its own `write`

    def upload_files(self, files: Sequence[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store files, overwriting existing ones."""
        return [self._upload(path, content) for path, content in files]

    def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        """Files as they are stored."""
        return [self._download(path) for path in paths]

    async def aupload_files(self, files: Sequence[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return await in_thread(self.upload_files, files)

    async def adownload_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        return await in_thread(self.download_files, paths)

    def _upload(self, path: str, content: bytes) -> FileUploadResponse:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return FileUploadResponse(path, "permission_denied", messages.not_text(path))
        result = self.write(path, text, overwrite=True)
        if result.files_update:
            raise BackendError(
                "Files in agent state cannot be uploaded from outside. Pass them in the agent's input: "
                "agent.invoke({'messages': [...], 'files': {'/notes.md': 'text'}})."
            )
        return (
            FileUploadResponse(path)
            if result.error is None
            else FileUploadResponse(path, code_of(result.error, path), result.error)
        )

    def _download(self, path: str) -> FileDownloadResponse:
        found = self.read_whole(path)
        return (
            FileDownloadResponse(path, None, code_of(found, path), found)
            if isinstance(found, ErrorText)
            else FileDownloadResponse(path, found)
        )


def has_whole_files(backend: object) -> bool:
    """Whether a backend hands out whole files. One that was written for nothing but the verbs does not."""
    if not hasattr(backend, "download_files"):
        return False
    return not isinstance(backend, Transfers) or type(backend).read_whole is not Transfers.read_whole


def code_of(error: str, path: str) -> FileOperationError:
    """Map a backend's error about a path to one of the four codes."""
    resolved = paths.resolve_file(path)
    if isinstance(resolved, ErrorText):
        return "invalid_path"
    known: dict[str, FileOperationError] = {
        messages.no_file(resolved): "file_not_found",
        messages.is_folder(resolved): "is_directory",
        messages.forbidden(resolved): "permission_denied",
    }
    return known.get(error, "invalid_path" if "cannot be created" in error else "permission_denied")
