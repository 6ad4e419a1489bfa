"""The user's own files, in the browser: a backend in which every verb asks the device one question (`device`) and does nothing before that.

The server has no copy of a file. A verb returns what the device sent, checked and limited in size; the device compares a change with its
file, and asks for approval if that is required. So this backend is `remote`: searches from above a mount do not enter it, and
nothing is written there automatically.

| verb | operation on the wire |
|---|---|
| `ls_info` | `list_files(path)`, the direct children |
| `read`, `fetch` | `read_file(file_id, offset, limit)`; a `file_id` may be a path |
| `search` | `search_files(query, top_k)` |
| `grep_raw`, `glob_info` | `grep_files(pattern, glob_pattern, case_sensitive)`, `glob_files(pattern)` |
| `write`, `write_files` | `write_file(title, content, file_type, path, overwrite, base_hash)` |
| `edit` | `patch_file(file_id, search, replace, description, replace_all, base_hash)` |
| `delete` | `delete_file(file_id, base_hash)`, a file or a folder |
| `move` | `move_file(file_id, path, overwrite, base_hash)`, where `path` is the new one |

`expected_version` and `version` are the SHA-256 of the text, in hexadecimal, because a browser can compute that; it sends it as `hash`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar, Final, TypeVar

from stepwell.answers.client_tools import (
    MAX_HITS,
    DeviceError,
    FileRow,
    FileRows,
    FileText,
    LineMatch,
    LineMatches,
    PatchedFile,
    RelocatedFiles,
    SearchHit,
    SearchHits,
    WrittenFile,
)
from stepwell.backends import messages, paths, text
from stepwell.backends.device import DEADLINE_S, Device, DeviceCall, say_failure
from stepwell.backends.paths import resolve_file
from stepwell.backends.patterns import compile_glob, compile_text
from stepwell.backends.protocol import (
    DEFAULT_READ_LIMIT,
    DEFAULT_TOP_K,
    DeleteResult,
    EditResult,
    ErrorText,
    FileInfo,
    GrepMatch,
    Listing,
    Matches,
    MoveResult,
    Passages,
    SearchMatch,
    WriteResult,
)
from stepwell.backends.sync_async import SyncBackend
from stepwell.backends.transfers import FileDownloadResponse, code_of
from stepwell.backends.tree import folder_row, move_complaint

MAX_WRITE_CHARS = 1_000_000

_GLOB_SPECIAL = re.compile(r"[*?\[{]")
_FILE_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("md", "txt", "rst"), "note"),
    **dict.fromkeys(("html", "htm", "pdf"), "article"),
    **dict.fromkeys(
        ("py", "js", "ts", "svelte", "css", "json", "toml", "yaml", "yml", "sh", "sql", "c", "h", "rs", "go"), "code"
    ),
}
_NAMED_TYPES: Final = ("seminar", "draft", "article", "note")

Row = TypeVar("Row", FileRow, LineMatch, SearchHit)


@dataclass(frozen=True, slots=True)
class FileToWrite:
    """One of several files that are written together. `base_hash` is the hash of the text that the change is based on."""

    path: str
    content: str
    overwrite: bool = False
    base_hash: str | None = None


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A whole file, as a program needs it, with its version."""

    text: str
    hash: str | None = None


class BrowserBackend(SyncBackend):
    """The files of a project on the user's device. Mount it: `CompositeBackend(StateBackend(), {"/project/": BrowserBackend()})`.

    Args:
        project_id: The project whose files these are; by default `current_project_id` of the agent's state or the run's configuration.
        deadline_s: How long the device may take before clients report that it is late.
        requires_approval: Whether the user is asked before a file changes; `write_approval` in state or configuration overrides this.
        can_search: Whether the device offers semantic search.
    """

    blocking: ClassVar[bool] = False
    remote = True
    keeps_versions = True

    def __init__(
        self,
        *,
        project_id: str | None = None,
        deadline_s: float = DEADLINE_S,
        requires_approval: bool = True,
        can_search: bool = True,
    ) -> None:
        self._device = Device(project_id, deadline_s, requires_approval)
        self.can_search = can_search

    def bind(self, runtime: Any = None, *, state: Mapping[str, Any] | None = None) -> BrowserBackend:
        """The same files, accessed from a tool (its runtime) or from a node (its state)."""
        bound = copy(self)
        bound._device = self._device.bind(runtime, state=state)
        return bound

    def ls_info(self, path: str) -> list[FileInfo]:
        folder = paths.resolve(path)
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        content = self._ask(FileRows, folder, "list_files", {"path": folder})
        if isinstance(content, ErrorText):
            return Listing(error=content)
        known = _Known(content.files, folder)
        rows = {row["path"]: row for row in (_child(path, row, folder) for path, row in known.rows)}
        return Listing(sorted(rows.values(), key=lambda row: row["path"]), note=known.note(content.truncated))

    def read(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        path = paths.resolve_file(file_path)
        if isinstance(path, ErrorText):
            return path
        if problem := text.window_complaint(offset, limit):
            return problem
        content = self._ask(FileText, path, "read_file", {"file_id": path, "offset": offset, "limit": limit})
        if isinstance(content, ErrorText):
            return content
        return text.number_window(path, content.text.split("\n"), offset, limit, content.total_lines)

    def fetch(self, file_path: str) -> FetchedFile | ErrorText | None:
        """A whole file for a program; `None` if it does not exist."""
        path = paths.resolve_file(file_path)
        if isinstance(path, ErrorText):
            return path
        call = DeviceCall("read_file", {"file_id": path})
        (said,) = self._device.perform([call])
        if isinstance(said, DeviceError):
            return None if said.code == "not_found" else say_failure(said, call, path)
        return FetchedFile(said.text, said.hash)

    def read_whole(self, file_path: str) -> bytes | ErrorText:
        found = self.fetch(file_path)
        if found is None:
            return messages.no_file(str(paths.resolve_file(file_path)))
        return found if isinstance(found, ErrorText) else found.text.encode()

    def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        """Whole files, with one question to the device for all of them."""
        asked = {given: path for given in paths if not isinstance(path := resolve_file(given), ErrorText)}
        calls = [DeviceCall("read_file", {"file_id": path}) for path in asked.values()]
        said = dict(zip(asked, self._device.perform(calls) if calls else (), strict=True))
        return [_download(given, said.get(given)) for given in paths]

    async def adownload_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        return self.download_files(paths)

    def search(self, query: str, path: str = paths.ROOT, top_k: int = DEFAULT_TOP_K) -> list[SearchMatch] | str:
        """Passages close in meaning to a query, best first."""
        folder = paths.resolve(path)
        if isinstance(folder, ErrorText):
            return folder
        if not query.strip():
            return ErrorText("Error: the query is empty. Say in a few words what to look for.")
        content = self._ask(SearchHits, folder, "search_files", {"query": query, "top_k": max(1, min(top_k, MAX_HITS))})
        if isinstance(content, ErrorText):
            return content
        known = _Known(content.hits, folder)
        rows: list[SearchMatch] = [
            {"path": path, "text": row.text, "score": row.score, "line_number": row.line_number} for path, row in known.rows
        ]
        return Passages(rows, note=known.note())

    async def asearch(self, query: str, path: str = paths.ROOT, top_k: int = DEFAULT_TOP_K) -> list[SearchMatch] | str:
        return self.search(query, path, top_k)

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        folder = paths.resolve(paths.ROOT if path is None else path)
        if isinstance(folder, ErrorText):
            return folder
        wanted, passes = compile_text(pattern), compile_glob("**" if glob is None else glob, anywhere=True)
        if isinstance(wanted, ErrorText):
            return wanted
        if isinstance(passes, ErrorText):
            return passes
        args: dict[str, Any] = {"pattern": pattern.removeprefix("(?i)"), "case_sensitive": not pattern.startswith("(?i)")}
        if where := _grep_glob(folder, glob):
            args["glob_pattern"] = where
        content = self._ask(LineMatches, folder, "grep_files", args)
        if isinstance(content, ErrorText):
            return content
        known = _Known(content.matches, folder, passes)
        return Matches([_match(path, row) for path, row in known.rows], note=known.note(content.truncated))

    def glob_info(self, pattern: str, path: str = paths.ROOT) -> list[FileInfo]:
        folder, passes = paths.resolve(path), compile_glob(pattern)
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        if isinstance(passes, ErrorText):
            return Listing(error=passes)
        plain = str(paths.resolve_pattern(pattern))
        content = self._ask(FileRows, folder, "glob_files", {"pattern": _below(folder, plain)})
        if isinstance(content, ErrorText):
            return Listing(error=content)
        known = _Known((row for row in content.files if not row.is_dir), folder, passes)
        rows = [_info(path, row) for path, row in known.rows]
        return Listing(sorted(rows, key=lambda row: row["path"]), note=known.note(content.truncated))

    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        return self.write_files([FileToWrite(file_path, content, overwrite, expected_version)])[0]

    def write_files(self, files: Sequence[FileToWrite]) -> list[WriteResult]:
        """Write several files with one question and one approval: all of them or none. If one is invalid, the device is not asked."""
        checked = [_check_write(file) for file in files]
        if any(isinstance(each, ErrorText) for each in checked):
            refused = "Error: nothing was written, because another file of the same step could not be."
            return [WriteResult(error=each if isinstance(each, ErrorText) else ErrorText(refused)) for each in checked]
        calls = [_write_call(path, file) for path, file in zip(checked, files, strict=True)]
        said = self._device.perform(calls)
        return [_written(each, call) for each, call in zip(said, calls, strict=True)]

    async def awrite_files(self, files: Sequence[FileToWrite]) -> list[WriteResult]:
        return self.write_files(files)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        path = paths.resolve_file(file_path)
        if isinstance(path, ErrorText):
            return EditResult(error=path)
        problem = text.edit_complaint(path, old_string, new_string) or text.content_complaint(path, new_string)
        if problem:
            return EditResult(error=problem)
        args: dict[str, Any] = {"file_id": path, "search": old_string, "replace": new_string}
        args["description"] = f"Replace {_excerpt(old_string)} with {_excerpt(new_string)}"
        args.update({"replace_all": True} if replace_all else {})
        args.update({"base_hash": expected_version} if expected_version else {})
        content = self._ask(PatchedFile, path, "patch_file", args)
        if isinstance(content, ErrorText):
            return EditResult(error=content)
        return EditResult(path=path, occurrences=content.occurrences, version=content.hash)

    def delete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        path = paths.resolve_entry(file_path)
        if isinstance(path, ErrorText):
            return DeleteResult(error=path)
        args = {"file_id": path, **({"base_hash": expected_version} if expected_version else {})}
        content = self._ask(RelocatedFiles, path, "delete_file", args)
        if isinstance(content, ErrorText):
            return DeleteResult(error=content)
        return DeleteResult(path=path, count=content.count)

    def move(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        old, new = paths.resolve_entry(source), paths.resolve_entry(destination)
        if isinstance(old, ErrorText) or isinstance(new, ErrorText):
            return MoveResult(error=old if isinstance(old, ErrorText) else new)
        if problem := move_complaint(old, new):
            return MoveResult(error=problem)
        args: dict[str, Any] = {"file_id": old, "path": new}
        args.update({"overwrite": True} if overwrite else {})
        args.update({"base_hash": expected_version} if expected_version else {})
        content = self._ask(RelocatedFiles, old, "move_file", args)
        if isinstance(content, ErrorText):
            return MoveResult(error=content)
        return MoveResult(path=new, count=content.count)

    def version_for(self, path: str, content: str) -> str:
        """The version that a device gives to a text."""
        return sha256(content.encode()).hexdigest()

    def _ask(self, kind: type[Content], path: str, operation: str, args: Mapping[str, Any]) -> Content | ErrorText:
        call = DeviceCall(operation, args)
        (said,) = self._device.perform([call])
        if isinstance(said, DeviceError):
            return say_failure(said, call, path)
        assert isinstance(said, kind)  # noqa: S101 - the operation's own schema made it
        return said


Content = TypeVar("Content", FileRows, FileText, LineMatches, SearchHits, WrittenFile, PatchedFile, RelocatedFiles)


class _Known:
    """Those rows of an answer whose path is valid and below the folder that was asked about."""

    def __init__(self, rows: Iterable[Row], folder: str, passes: Any = None) -> None:
        self.rows: list[tuple[str, Any]] = []
        self._unusable = 0
        for row in rows:
            path = paths.resolve(row.path)
            if isinstance(path, ErrorText):
                self._unusable += 1
            elif _is_asked_for(path, folder, passes):
                self.rows.append((path, row))

    def note(self, truncated: bool = False) -> str | None:
        left_out = f"{self._unusable:,} are not shown: their names cannot be used as paths." if self._unusable else ""
        sent = len(self.rows) + self._unusable
        cut = f"The device sent only the first {sent:,}. Narrow the search, or start in a subfolder." if truncated else ""
        return " ".join(part for part in (left_out, cut) if part) or None


def _is_asked_for(path: str, folder: str, passes: Any) -> bool:
    if not paths.is_within(path, folder):
        return False
    if passes is None:
        return True
    below = path.rpartition("/")[2] if path == folder else paths.relative(path, folder)
    return bool(passes(below))


def _child(path: str, row: FileRow, folder: str) -> FileInfo:
    """A row of a listing; a deeper file appears as the folder that leads to it."""
    below = "" if path == folder else paths.relative(path, folder)
    first, deeper, _ = below.partition("/")
    if deeper or row.is_dir:
        return folder_row(f"{'' if folder == paths.ROOT else folder}/{first}/")
    return _info(path, row)


def _info(path: str, row: FileRow) -> FileInfo:
    info: FileInfo = {"path": path, "is_dir": False, "size": row.size, "modified_at": row.modified_at}
    if row.file_id:
        info["file_id"] = row.file_id
    return info


def _match(path: str, row: LineMatch) -> GrepMatch:
    length = len(row.line_content)
    start = min(row.match_start, length)
    return {
        "path": path,
        "line_number": row.line_number,
        "line_content": row.line_content,
        "match_start": start,
        "match_end": max(start, min(row.match_end, length)),
    }


def _download(given: str, said: FileText | DeviceError | None) -> FileDownloadResponse:
    path = resolve_file(given)
    if said is None:
        return FileDownloadResponse(given, None, "invalid_path", path)
    if isinstance(said, DeviceError):
        problem = say_failure(said, DeviceCall("read_file", {"file_id": path}), path)
        return FileDownloadResponse(given, None, code_of(problem, given), problem)
    return FileDownloadResponse(given, said.text.encode())


def _check_write(file: FileToWrite) -> str | ErrorText:
    path = paths.resolve_file(file.path)
    if isinstance(path, ErrorText):
        return path
    if problem := text.content_complaint(path, file.content):
        return problem
    if len(file.content) > MAX_WRITE_CHARS:
        return paths.PathError(
            "Error: the content for ",
            paths.Place(path),
            f" has {len(file.content):,} characters; at most {MAX_WRITE_CHARS:,} go to the user's device at once. Split it.",
        )
    return path


def _write_call(path: str, file: FileToWrite) -> DeviceCall:
    title = path.rpartition("/")[2]
    args: dict[str, Any] = {"title": title, "content": file.content, "file_type": file_type_of(path), "path": path}
    args.update({"overwrite": True} if file.overwrite else {})
    args.update({"base_hash": file.base_hash} if file.base_hash else {})
    return DeviceCall("write_file", args)


def _written(said: WrittenFile | DeviceError, call: DeviceCall) -> WriteResult:
    path = call.args["path"]
    if isinstance(said, DeviceError):
        return WriteResult(error=say_failure(said, call, path))
    return WriteResult(path=path, version=said.hash)


def file_type_of(path: str) -> str:
    """The type of document at a path: by a word in its name or its folder, otherwise by its suffix."""
    words = set(re.split(r"[^a-z]+", path.lower()))
    named = next((kind for kind in _NAMED_TYPES if kind in words or f"{kind}s" in words), None)
    return named or _FILE_TYPES.get(path.rpartition(".")[2].lower(), "other")


def _grep_glob(folder: str, glob: str | None) -> str | None:
    """The glob, relative to the project's root, for the files that a grep below a folder (or in one file) covers."""
    if folder == paths.ROOT:
        return glob
    if glob is None:
        # We do not know here whether `folder` is a file or a folder.
        return f"{{{_below(folder, '')},{_below(folder, '**')}}}"
    return _below(folder, glob.lstrip("/") if "/" in glob else f"**/{glob}")


def _below(folder: str, pattern: str) -> str:
    start = _GLOB_SPECIAL.sub(lambda hit: f"[{hit[0]}]", folder.strip("/"))
    return "/".join(part for part in (start, pattern) if part)


def _excerpt(quoted: str) -> str:
    line = " ".join(quoted.split())
    return f"'{line[:60]}{'…' if len(line) > 60 else ''}'"
