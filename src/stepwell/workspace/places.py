"""Where a workspace's files are: in the bucket that the settings name, or in a folder of this machine.

A place returns the files of a root; the agents decide which root. In a folder, a root is a subfolder, and a user who names none
(a newcomer at the page) works in `LOCAL_ROOT`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stepwell.backends import FilesystemBackend, SyncBackend, messages
from stepwell.backends.disk.whole_files import FolderFiles
from stepwell.backends.objects import Bucket, ObjectBackend, open_bucket
from stepwell.backends.objects.read_only import refuse_change
from stepwell.backends.objects.root import OpenedRoot, open_here
from stepwell.backends.objects.whole_files import BucketFiles
from stepwell.backends.protocol import (
    DEFAULT_READ_LIMIT,
    BackendProtocol,
    DeleteResult,
    EditResult,
    ErrorText,
    FileInfo,
    GrepMatch,
    Listing,
    MoveResult,
    WriteResult,
)
from stepwell.backends.whole_files import WholeFiles
from stepwell.private_files import make_private_folder
from stepwell.secrets.errors import words_of
from stepwell.settings import Settings

LOCAL_ROOT = "/local/workspace/"


class Place(Protocol):
    """Where the files of all roots are."""

    @property
    def default_root(self) -> str | None:
        """The root for requests that name none; None if every request must name one."""
        ...

    def at(self, root: str | OpenedRoot) -> BackendProtocol:
        """The files of one root."""
        ...

    def whole_files(self) -> WholeFiles:
        """The same files for other programs: as bytes of any size."""
        ...


def open_place(settings: Settings) -> Place:
    """The bucket of the settings, or a folder in Stepwell's data directory."""
    bucket = open_bucket(settings)
    return InBucket(bucket) if bucket else InFolder(settings.data_folder / "workspace")


@dataclass(frozen=True)
class InBucket:
    bucket: Bucket
    default_root: str | None = None

    def at(self, root: str | OpenedRoot) -> BackendProtocol:
        return ObjectBackend(self.bucket, root)

    def whole_files(self) -> WholeFiles:
        return BucketFiles(self.bucket)


@dataclass(frozen=True)
class InFolder:
    folder: Path
    default_root: str | None = LOCAL_ROOT

    def at(self, root: str | OpenedRoot) -> BackendProtocol:
        return _Folder(self.folder, open_here(root))

    def whole_files(self) -> WholeFiles:
        return FolderFiles(self.folder)


class _Folder(SyncBackend):
    """A folder created on first use: in the thread that works on files, never on an event loop."""

    def __init__(self, folder: Path, opened: OpenedRoot) -> None:
        self._folder = folder / opened.root.strip("/")
        self._opened = opened

    def _open_to_change(self, file_path: str) -> FilesystemBackend | ErrorText:
        return refuse_change(self._opened, file_path) or self._open()

    def _open(self) -> FilesystemBackend | ErrorText:
        try:
            make_private_folder(self._folder)
        except OSError as error:
            return messages.unavailable("/", f"its folder cannot be made ({words_of(error)})")
        return FilesystemBackend(self._folder)

    def ls_info(self, path: str) -> list[FileInfo]:
        files = self._open()
        return Listing(error=files) if isinstance(files, ErrorText) else files.ls_info(path)

    def read(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        files = self._open()
        return files if isinstance(files, ErrorText) else files.read(file_path, offset, limit)

    def read_whole(self, file_path: str) -> bytes | ErrorText:
        files = self._open()
        return files if isinstance(files, ErrorText) else files.read_whole(file_path)

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        files = self._open()
        return files if isinstance(files, ErrorText) else files.grep_raw(pattern, path, glob)

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        files = self._open()
        return Listing(error=files) if isinstance(files, ErrorText) else files.glob_info(pattern, path)

    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        files = self._open_to_change(file_path)
        if isinstance(files, ErrorText):
            return WriteResult(error=files)
        return files.write(file_path, content, overwrite=overwrite, expected_version=expected_version)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        files = self._open_to_change(file_path)
        if isinstance(files, ErrorText):
            return EditResult(error=files)
        return files.edit(file_path, old_string, new_string, replace_all, expected_version=expected_version)

    def delete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        files = self._open_to_change(file_path)
        if isinstance(files, ErrorText):
            return DeleteResult(error=files)
        return files.delete(file_path, expected_version=expected_version)

    def move(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        files = self._open_to_change(source)
        if isinstance(files, ErrorText):
            return MoveResult(error=files)
        return files.move(source, destination, overwrite=overwrite, expected_version=expected_version)
