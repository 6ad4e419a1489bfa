"""Files as other programs use them: bytes of any size, a version to write over, pages of names. A protocol.

`BackendProtocol` is for models: text, lines, sentences. This is for the routes that carry files up and down. Both see the same files.
Nothing here is held in memory whole: what is written comes from a file on disk, what is read is given piece by piece.
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
    """A file below a root. `version` changes with every write; a listing may leave it out."""

    path: str
    size: int
    modified_at: datetime
    version: str = ""


@dataclass(frozen=True)
class Base:
    """What a change is meant for: a version, no file at all, or, with neither, whatever is there."""

    version: str | None = None
    absent: bool = False

    def check(self, held: FileFacts | None) -> None:
        """Raise `VersionConflictError` if that is not what is there."""
        if self.absent and held is not None:
            raise VersionConflictError("There is a file already. Read it, and send If-Match with its ETag to replace it.")
        if self.version is not None and (held is None or held.version != self.version):
            raise VersionConflictError("The file is not at that version any more. Read it again, then decide.")


class WholeFiles(Protocol):
    """The files of all roots. A root is in its normal form; paths are checked here."""

    async def list_page(self, root: str, folder: str, after: str | None, limit: int) -> list[FileFacts]:
        """Up to `limit` files below a folder whose paths come after `after`, in their order."""
        ...

    async def look(self, root: str, path: str) -> FileFacts | None: ...

    def read(self, root: str, file: FileFacts, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Bytes of exactly that version. `VersionConflictError` if it is another one by now."""
        ...

    async def put(self, root: str, path: str, source: Path, base: Base) -> FileFacts:
        """Store a file on disk under a path, whole or not at all."""
        ...

    async def delete(self, root: str, path: str, base: Base) -> bool:
        """Whether there was one."""
        ...

    async def measure(self, root: str) -> int:
        """The bytes of all files below a root."""
        ...


def check_path(raw: str) -> str:
    """A file's path in its normal form."""
    return _require(paths.resolve_file(raw))


def check_folder(raw: str) -> str:
    return _require(paths.resolve(raw or paths.ROOT))


def _require(path: str | ErrorText) -> str:
    if isinstance(path, ErrorText):
        raise InvalidRequestError(path.removeprefix("Error: "))
    return path


@contextmanager
def mapped(source: Path) -> Iterator[bytes]:
    """A file's content as one buffer that is not in memory: the system reads from disk what is being sent."""
    with source.open("rb") as file:
        if source.stat().st_size == 0:
            yield b""
            return
        # Not closed here: who was handed the buffer may hold on to it a little longer, and the last one closes it.
        yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # type: ignore[misc]  # a buffer, which is all that is asked of it
