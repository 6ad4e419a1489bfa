"""Defines a backend: eight verbs over a tree of text files, and their types.

Rules for every implementation, checked by `stepwell.testing`:

- Paths are virtual and absolute, and only the module `paths` checks them, so every backend accepts the same paths.
- No verb raises for anything a model can type. Failures are results: `ErrorText`, `Listing.error`, and `error` of the other results.
- No result ever shows a path of the host.
- Two verbs are optional: agents get their tools only if the backend has them (`offers`).
  `delete(file_path, *, expected_version=None)` deletes a file, or a folder with everything in it.
  `move(source, destination, *, overwrite=False, expected_version=None)` gives a file or a folder a new path. `overwrite` replaces a file;
  a folder is never replaced. `expected_version` is that of the file at `source`.
- A backend with semantic search sets `can_search` and has one more verb, `search(query, path, top_k)`.
- A write or an edit happens completely or not at all, and never silently undoes someone else's change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NotRequired, Protocol, runtime_checkable

from typing_extensions import TypedDict  # pydantic cannot build a JSON schema from typing's own before Python 3.12

DEFAULT_READ_LIMIT = 2000
DEFAULT_TOP_K = 8


class FileData(TypedDict):
    """A file as stored in agent state and stores."""

    content: list[str]
    """The text split at every newline; joining with newlines restores it exactly."""
    created_at: str
    modified_at: str


class FileInfo(TypedDict):
    """A row of a listing. A folder's path ends with a slash."""

    path: str
    is_dir: bool
    size: int
    modified_at: str
    file_id: NotRequired[str]
    """A stable id, if the storage has one."""
    version: NotRequired[str]
    """Changes with every write, if the storage has such a mark; otherwise size and time have to do."""


class GrepMatch(TypedDict):
    """One matching line. Lines are counted from 1; columns are counted in characters, from 0."""

    path: str
    line_number: int
    line_content: str
    match_start: int
    match_end: int


class SearchMatch(TypedDict):
    """A passage found by semantic search."""

    path: str
    text: str
    score: float | None
    line_number: int | None


class ErrorText(str):
    """A failure as text that the model can act on. It is a string, but its type distinguishes it from content."""

    __slots__ = ()


class Listing(list[FileInfo]):
    """Rows of `ls_info` and `glob_info`, with an error or a note."""

    def __init__(self, rows: Iterable[FileInfo] = (), *, error: str | None = None, note: str | None = None) -> None:
        super().__init__(rows)
        self.error = error
        self.note = note


class Matches(list[GrepMatch]):
    """Rows of `grep_raw`; the note says what was left out."""

    def __init__(self, rows: Iterable[GrepMatch] = (), *, note: str | None = None) -> None:
        super().__init__(rows)
        self.note = note


class Passages(list[SearchMatch]):
    """Rows of a semantic search, best first; the note says what was left out."""

    def __init__(self, rows: Iterable[SearchMatch] = (), *, note: str | None = None) -> None:
        super().__init__(rows)
        self.note = note


@dataclass
class WriteResult:
    """The result of a `write`. Exactly one of `error` and `path` is set."""

    error: str | None = None
    path: str | None = None
    files_update: dict[str, Any] | None = None
    """For backends that live in agent state: the update that the calling tool must return."""
    version: str | None = None
    """The version of the content now stored; pass it as `expected_version` later to detect changes in between."""


@dataclass
class EditResult:
    """The result of an `edit`. Exactly one of `error` and `path` is set."""

    error: str | None = None
    path: str | None = None
    files_update: dict[str, Any] | None = None
    occurrences: int | None = None
    version: str | None = None


@dataclass
class DeleteResult:
    """The result of a `delete`. Exactly one of `error` and `path` is set."""

    error: str | None = None
    path: str | None = None
    files_update: dict[str, Any] | None = None
    count: int | None = None
    """How many files are gone: 1 for a file, all files below for a folder."""


@dataclass
class MoveResult:
    """The result of a `move`. Exactly one of `error` and `path` is set."""

    error: str | None = None
    path: str | None = None
    """The new path."""
    files_update: dict[str, Any] | None = None
    count: int | None = None
    """How many files have a new path."""


@runtime_checkable
class BackendProtocol(Protocol):
    """Where files live. The sync and the async form of a verb do the same.

    `SyncBackend`, `AsyncBackend` and `SteppedBackend` derive one form from the other; implement the protocol directly only if
    you want to write both by hand.
    """

    def ls_info(self, path: str) -> list[FileInfo]:
        """The direct children of a folder, sorted by path; a file is listed as itself."""
        ...

    def read(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        """Numbered lines from `offset` (0-based), at most `limit` of them, or `ErrorText`."""
        ...

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        """Lines that match an RE2 pattern below `path`, in files whose name matches `glob`; a string is an error."""
        ...

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Files below `path` whose path relative to it matches; `**` crosses folders, `*` does not."""
        ...

    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        """Create a file. Fails if the file exists and `overwrite` is false, or if it is no longer at `expected_version`."""
        ...

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        """Replace an exact string that occurs once, or every occurrence with `replace_all`."""
        ...

    async def als_info(self, path: str) -> list[FileInfo]: ...

    async def aread(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str: ...

    async def agrep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str: ...

    async def aglob_info(self, pattern: str, path: str = "/") -> list[FileInfo]: ...

    async def awrite(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult: ...

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult: ...


BackendFactory = Callable[[Any], BackendProtocol]
"""Makes a backend from the running tool's runtime, for storage that depends on the request."""
