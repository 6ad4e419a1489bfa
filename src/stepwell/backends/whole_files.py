"""A protocol for files as other programs use them: bytes of any size, versions for conditional writes, and listings in pages.

`BackendProtocol` is for models: text, lines, sentences. This one is for the HTTP routes that upload and download files. Both see the same
files. Nothing is held in memory as a whole: writes come from a file on disk, reads are returned piece by piece.
"""

from __future__ import annotations

import mmap
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from stepwell.backends import paths
from stepwell.backends.protocol import ErrorText
from stepwell.errors import InvalidRequestError, VersionConflictError

PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class FileFacts:
    """A file below a root. `version` changes with every write; a listing may omit it."""

    path: str
    size: int
    modified_at: datetime
    version: str = ""


@dataclass(frozen=True)
class Base:
    """What a change expects to find: a certain version, no file at all, or (if neither is set) anything."""

    version: str | None = None
    absent: bool = False

    def check(self, held: FileFacts | None) -> None:
        """Raise `VersionConflictError` if the current file is not what was expected."""
        if self.absent and held is not None:
            raise VersionConflictError("There is a file already. Read it, and send If-Match with its ETag to replace it.")
        if self.version is not None and (held is None or held.version != self.version):
            raise VersionConflictError("The file is not at that version any more. Read it again, then decide.")


class WholeFiles(Protocol):
    """The files of all roots. Roots are already normalised; paths are checked here."""

    async def list_page(self, root: str, folder: str, after: str | None, limit: int) -> list[FileFacts]:
        """Up to `limit` files below a folder whose paths come after `after`, in order."""
        ...

    async def look(self, root: str, path: str) -> FileFacts | None: ...

    def read(self, root: str, file: FileFacts, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Bytes of exactly the version that `file` names. Raises `VersionConflictError` if there is another version by now."""
        ...

    async def put(self, root: str, path: str, source: Path, base: Base) -> FileFacts:
        """Store a file from disk under a path, completely or not at all."""
        ...

    async def delete(self, root: str, path: str, base: Base) -> bool:
        """Delete a file. Returns whether the file existed."""
        ...

    async def measure(self, root: str) -> int:
        """The total size of all files below a root, in bytes."""
        ...


def check_path(raw: str) -> str:
    """A file's path, normalised."""
    return _require(paths.resolve_file(raw))


def check_folder(raw: str) -> str:
    return _require(paths.resolve(raw or paths.ROOT))


def _require(path: str | ErrorText) -> str:
    if isinstance(path, ErrorText):
        raise InvalidRequestError(path.removeprefix("Error: "))
    return path


@contextmanager
def mapped(source: Path) -> Iterator[bytes]:
    """A file's content as a memory-mapped buffer, so that the system reads it from disk while it is sent."""
    with source.open("rb") as file:
        if source.stat().st_size == 0:
            yield b""
            return
        # The buffer is not closed here, because its user may keep it a little longer; it closes with the last reference.
        yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # type: ignore[misc]  # a buffer, which is all that is needed
