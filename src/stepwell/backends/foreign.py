"""Backends that were written for deepagents 0.7, used here as they are: `accept` wraps them, and the wrapper translates.

They are recognised by their verbs `ls`, `read`, `grep`, `glob`, `write`, `edit`, and their answers by their fields; nothing of that
package is imported. A backend may have the sync verbs, the async ones, or both. What differs, and what the wrapper does about it:

| there | here |
|---|---|
| results are objects with `error` and `entries`, `matches` or `file_data` | rows, numbered lines, `ErrorText` |
| paths are checked by each backend | `paths` checks them before the backend sees them |
| `grep` looks for exact text | a pattern that is a regular expression gets a sentence |
| `glob("*.py")` finds files at any depth | rows that our glob would not find are left out |
| `write` replaces a file | it is looked for first: it has to be asked for with `overwrite` |
| no versions | the version is the hash of the text; two who write at the very same time are not told apart |
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, get_args

from stepwell.backends import messages, paths, text
from stepwell.backends.patterns import compile_glob, compile_text
from stepwell.backends.protocol import DeleteResult, EditResult, ErrorText, FileInfo, GrepMatch, Listing, Matches, WriteResult
from stepwell.backends.steps import SteppedBackend, Steps
from stepwell.backends.sync_async import run_in_portal
from stepwell.backends.transfers import FileDownloadResponse, FileOperationError, FileUploadResponse, Transfers
from stepwell.in_thread import in_thread

Backend = TypeVar("Backend")

WHOLE_FILE_LINES = 10_000_000
_FORWARDED = frozenset({"execute", "aexecute", "id"})
_CODES = frozenset(get_args(FileOperationError))
_ESCAPED = re.compile(r"\\([^A-Za-z0-9])")
_CUT = "The search stopped early, so there may be more. Narrow it."


def accept(backend: Backend) -> Backend:
    """The backend itself, or a wrapper with our verbs if it has those of deepagents. A class or a function is left alone: a factory."""
    if isinstance(backend, Transfers | type) or not (hasattr(backend, "ls") or hasattr(backend, "als")):
        return backend
    return ForeignBackend(backend)  # type: ignore[return-value]  # has the same verbs as any backend


class Call(NamedTuple):
    """A call of one of their verbs, by its sync name."""

    verb: str
    arguments: tuple[Any, ...]


class ForeignBackend(SteppedBackend):
    """A backend of deepagents with our verbs."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.remote = bool(getattr(inner, "remote", False))

    def __getattr__(self, name: str) -> Any:
        # Commands pass through as they are, and only if the backend runs any.
        if name in _FORWARDED:
            return getattr(self.inner, name)
        raise AttributeError(name)

    def perform(self, request: Call) -> Any:
        if own := _own(self.inner, request.verb):
            return own(*request.arguments)
        if own := _own(self.inner, f"a{request.verb}"):
            return run_in_portal(own(*request.arguments))
        return None

    async def aperform(self, request: Call) -> Any:
        if own := _own(self.inner, f"a{request.verb}"):
            return await own(*request.arguments)
        if own := _own(self.inner, request.verb):
            return await in_thread(own, *request.arguments)
        return None

    def ls_steps(self, path: str) -> Steps[Call, list[FileInfo]]:
        folder = paths.resolve(path)
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        answer = yield Call("ls", (folder,))
        if problem := _problem(answer, folder, "list folders"):
            return Listing(error=problem)
        return Listing(sorted((_row(each, folder) for each in _rows(answer, "entries")), key=_path_of))

    def read_steps(self, file_path: str, offset: int, limit: int) -> Steps[Call, str]:
        path = paths.resolve_file(file_path)
        if isinstance(path, ErrorText):
            return path
        if problem := text.window_complaint(offset, limit):
            return problem
        answer = yield Call("read", (path, offset, limit))
        if isinstance(answer, str) and not isinstance(answer, ErrorText):  # lines that are numbered already
            return answer
        if problem := _problem(answer, path, "read files"):
            return problem
        content = _content(answer)
        if isinstance(content, bytes):
            return messages.not_text(path, "binary")
        start = getattr(answer, "start_line", None)
        lines = text.split_lines(content)
        if lines[-1] == "":
            lines.pop()
        first = offset if start is None else start - 1
        return text.number_window(path, lines, first, max(limit, 1), getattr(answer, "total_lines", None))

    def glob_steps(self, pattern: str, path: str) -> Steps[Call, list[FileInfo]]:
        folder, passes = paths.resolve(path), compile_glob(pattern)
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        if isinstance(passes, ErrorText):
            return Listing(error=passes)
        answer = yield Call("glob", (paths.resolve_pattern(pattern), folder))
        rows = [_row(each, folder) for each in _rows(answer, "matches")]
        if not rows and (problem := _problem(answer, folder, "find files by pattern")):
            return Listing(error=problem)
        found = [row for row in rows if not row["is_dir"] and passes(paths.relative(row["path"], folder))]
        return Listing(sorted(found, key=_path_of), note=_note(answer))

    def grep_steps(self, pattern: str, path: str | None, glob: str | None) -> Steps[Call, list[GrepMatch] | str]:
        folder = paths.resolve("/" if path is None else path)
        if isinstance(folder, ErrorText):
            return folder
        wanted = compile_text(pattern)
        if isinstance(wanted, ErrorText):
            return wanted
        if glob is not None and isinstance(passes := compile_glob(glob, anywhere=True), ErrorText):
            return passes
        literal = _literal(pattern)
        if literal is None:
            return ErrorText(
                f"Error: these files can only be searched for exact text, and {pattern!r} is a regular expression. Search for a word "
                "without special characters, one after the other."
            )
        answer = yield Call("grep", (literal, folder, glob))
        rows = [_match(each, folder, literal) for each in _rows(answer, "matches")]
        if not rows and (problem := _problem(answer, folder, "search files")):
            return problem
        return Matches(sorted(rows, key=lambda row: (row["path"], row["line_number"])), note=_note(answer))

    def write_steps(
        self, file_path: str, content: str, overwrite: bool, expected_version: str | None
    ) -> Steps[Call, WriteResult]:
        path = paths.resolve_file(file_path)
        if isinstance(path, ErrorText):
            return WriteResult(error=path)
        if problem := text.content_complaint(path, content):
            return WriteResult(error=problem)
        if expected_version is not None:
            if problem := (yield from self._conflict(path, expected_version)):
                return WriteResult(error=problem)
        elif not overwrite:
            there = yield Call("read", (path, 0, 1))
            if there is not None and not _problem(there, path, ""):
                return WriteResult(error=messages.exists(path))
        answer = yield Call("write", (path, content))
        if problem := _problem(answer, path, "write files"):
            return WriteResult(error=problem)
        return WriteResult(path=path, files_update=getattr(answer, "files_update", None), version=text.version_of(content))

    def edit_steps(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool, expected_version: str | None
    ) -> Steps[Call, EditResult]:
        path = paths.resolve_file(file_path)
        if isinstance(path, ErrorText):
            return EditResult(error=path)
        if problem := text.edit_complaint(path, old_string, new_string):
            return EditResult(error=problem)
        if expected_version is not None and (problem := (yield from self._conflict(path, expected_version))):
            return EditResult(error=problem)
        answer = yield Call("edit", (path, old_string, new_string, replace_all))
        if problem := _problem(answer, path, "edit files"):
            return EditResult(error=problem)
        return EditResult(
            path=path,
            files_update=getattr(answer, "files_update", None),
            occurrences=getattr(answer, "occurrences", None),
        )

    def delete_steps(self, file_path: str, expected_version: str | None) -> Steps[Call, DeleteResult]:
        """A file, or a folder with everything in it, if the backend deletes; its result has no count."""
        path = paths.resolve_file(file_path)
        if isinstance(path, ErrorText):
            return DeleteResult(error=path)
        if expected_version is not None and (problem := (yield from self._conflict(path, expected_version))):
            return DeleteResult(error=problem)
        answer = yield Call("delete", (path,))
        if problem := _problem(answer, path, "delete files"):
            return DeleteResult(error=problem)
        return DeleteResult(path=path, files_update=getattr(answer, "files_update", None))

    def offers(self, verb: str) -> bool:
        """Whether the backend has an optional verb. None of them moves files."""
        return verb == "delete" and bool(_own(self.inner, "delete") or _own(self.inner, "adelete"))

    def read_whole(self, file_path: str) -> bytes | ErrorText:
        path = paths.resolve_file(file_path)
        if isinstance(path, ErrorText):
            return path
        if _own(self.inner, "download_files") or _own(self.inner, "adownload_files"):
            (answer,) = self.perform(Call("download_files", ([path],)))
            content = answer.content
        else:
            answer = self.perform(Call("read", (path, 0, WHOLE_FILE_LINES)))
            content = None
        if problem := _problem(answer, path, "read files"):
            return problem
        found = _content(answer) if content is None else content
        return found.encode("utf-8", "surrogatepass") if isinstance(found, str) else bytes(found)

    def upload_files(self, files: Sequence[tuple[str, bytes]]) -> list[FileUploadResponse]:
        if not (_own(self.inner, "upload_files") or _own(self.inner, "aupload_files")):
            return super().upload_files(files)
        answers = self.perform(Call("upload_files", (list(files),)))
        return [FileUploadResponse(each.path, *_code(each.error, each.path)) for each in answers]

    def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        if not (_own(self.inner, "download_files") or _own(self.inner, "adownload_files")):
            return super().download_files(paths)
        answers = self.perform(Call("download_files", (list(paths),)))
        return [FileDownloadResponse(each.path, each.content, *_code(each.error, each.path)) for each in answers]

    def _conflict(self, path: str, expected: str) -> Steps[Call, ErrorText | None]:
        """Why a file is not what its writer expects."""
        answer = yield Call("read", (path, 0, WHOLE_FILE_LINES))
        if problem := _problem(answer, path, "read files"):
            return problem
        content = _content(answer)
        return None if isinstance(content, str) and text.version_of(content) == expected else messages.conflict(path)


def _own(backend: Any, verb: str) -> Callable[..., Any] | None:
    """A verb that the backend implements. What it only inherits from a protocol class is a stub that raises or does nothing."""
    method = getattr(backend, verb, None)
    owner = getattr(method, "__qualname__", "").partition(".")[0]
    return method if callable(method) and owner not in ("BackendProtocol", "SandboxBackendProtocol") else None


def _problem(answer: Any, path: str, what: str) -> ErrorText | None:
    """The failure in an answer as a sentence, in which the path can be translated below a mount."""
    if answer is None:
        return ErrorText(f"Error: this backend cannot {what}. Use another tool.")
    error = answer if isinstance(answer, str) else getattr(answer, "error", None)
    if not error:
        return None
    known = {
        "file_not_found": messages.no_file,
        "is_directory": messages.is_folder,
        "permission_denied": messages.forbidden,
    }
    if error in known:
        return known[error](path)
    said = error if error.startswith("Error") else f"Error: {error}"
    if path == paths.ROOT:
        return ErrorText(said)
    quoted = next((form for form in (f"'{path}'", f'"{path}"', f"`{path}`") if form in said), path)
    parts = said.split(quoted)
    pieces = [piece for part in parts for piece in (paths.Place(path), part)]
    return paths.PathError(*pieces[1:])


def _rows(answer: Any, field: str) -> list[Any]:
    found = answer if isinstance(answer, list) else getattr(answer, field, None)
    return list(found or ())


def _row(row: Any, folder: str) -> FileInfo:
    path = _absolute(row["path"], folder)
    is_dir = bool(row.get("is_dir", path.endswith("/")))
    shown = path.rstrip("/") + "/" if is_dir else path
    return {"path": shown, "is_dir": is_dir, "size": row.get("size") or 0, "modified_at": row.get("modified_at") or ""}


def _match(row: Any, folder: str, literal: str) -> GrepMatch:
    line = str(row.get("text", row.get("line_content", "")))
    start = max(line.find(literal), 0)
    return {
        "path": _absolute(row["path"], folder),
        "line_number": row.get("line", row.get("line_number", 0)),
        "line_content": line,
        "match_start": start,
        "match_end": start + len(literal),
    }


def _absolute(path: str, folder: str) -> str:
    return path if path.startswith("/") else f"{folder.rstrip('/')}/{path}"


def _path_of(row: FileInfo) -> str:
    return row["path"]


def _note(answer: Any) -> str | None:
    said = [str(error) for error in [getattr(answer, "error", None)] if error]
    return " ".join([*said, *([_CUT] if getattr(answer, "truncated", False) else [])]) or None


def _content(answer: Any) -> str | bytes:
    """A file's text, or its bytes if it is not text."""
    data = getattr(answer, "file_data", None) or {}
    content: str | Iterable[str] = data.get("content", "")
    joined = content if isinstance(content, str) else "\n".join(content)
    if data.get("encoding") != "base64":
        return joined
    try:
        return base64.b64decode(joined, validate=False)
    except (binascii.Error, ValueError):
        return joined.encode()


def _literal(pattern: str) -> str | None:
    """The text that a pattern means, if it means only one."""
    plain = _ESCAPED.sub("", pattern)
    return None if "\\" in plain or re.search(r"[\^$.|?*+()\[\]{}]", plain) else _ESCAPED.sub(r"\1", pattern)


def _code(error: str | None, path: str) -> tuple[FileOperationError | None, str | None]:
    if not error:
        return None, None
    said = str(_problem(FileUploadResponse(path, error), path, ""))  # type: ignore[arg-type]  # any text may be there
    return (error, said) if error in _CODES else ("permission_denied", said)  # type: ignore[return-value]  # one of the codes
