"""A backend behind an agent's permissions. Every file tool, large results and transfers go through it, so no verb can miss the rules.

```
path as typed ── paths.resolve ──▶ path as the backend shows it ── PathRules ──▶ refused with a sentence, or
                                                                        ▶ the backend's verb ── rows that may be seen ──▶ the tool
```
Rules to keep:

- What is not listed here does not exist: there is no way around to the backend's other methods. `execute` exists only if commands cannot
  reach anything that the rules are about.
- The answer about a denied path is the same whether there is a file or not, so it is given before the backend is asked.
- Rows of listings and searches are left out silently. If a search was cut, its visible parts are searched again one by one, because
  hidden rows may have taken the place of visible ones.
- A person was asked about `interrupt` paths before the tool ran (`middleware/approvals.py`), so here they are open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from stepwell.backends import messages, paths, permissions
from stepwell.backends.commands import command_backend
from stepwell.backends.composite import can_search, is_remote, offers
from stepwell.backends.patterns import compile_glob, compile_text
from stepwell.backends.permissions import FilesystemOperation, PathRules
from stepwell.backends.protocol import (
    DEFAULT_READ_LIMIT,
    BackendFactory,
    BackendProtocol,
    DeleteResult,
    EditResult,
    ErrorText,
    FileInfo,
    GrepMatch,
    Listing,
    Matches,
    MoveResult,
    Passages,
    WriteResult,
)
from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.backends.transfers import FileDownloadResponse, FileUploadResponse
from stepwell.backends.tree import MAX_FOUND, MAX_MATCHES, found_note, matches_note
from stepwell.errors import ConfigurationError
from stepwell.tools.files.execute import EXECUTE
from stepwell.tools.files.tools import VerbCall, acall, backend_for

T = TypeVar("T")
Result = TypeVar("Result", WriteResult, EditResult, DeleteResult, MoveResult)

_QUOTED_PATH = re.compile(r"'(/[^']*)'")


class PermittedBackend:
    """A backend, or a function that makes one, of which an agent sees and changes only what its permissions allow."""

    def __init__(self, backend: BackendProtocol | BackendFactory, rules: PathRules) -> None:
        self._backend = backend
        self._rules = rules

    def bind(self, runtime: Any) -> PermittedBackend:
        """The same rules over the backend for this call."""
        return PermittedBackend(backend_for(self._backend, runtime), self._rules)

    def remote_at(self, path: str) -> bool:
        return is_remote(self._backend, path)

    @property
    def can_search(self) -> bool:
        return can_search(self._backend)

    @property
    def command_backend(self) -> Any | None:
        """The backend that runs commands, if they cannot reach anything that the rules are about."""
        return command_backend(self._backend) if _are_apart(self._backend, self._rules) else None

    @property
    def mount_paths(self) -> list[str]:
        return [path for path in getattr(self._backend, "mount_paths", ()) if self._rules.shows(path)]

    def offers(self, verb: str) -> bool:
        return offers(self._backend, verb)

    def ls_info(self, path: str) -> list[FileInfo]:
        return self._run(self._ls(path))

    def read(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        return self._run(self._read(file_path, offset, limit))

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        return self._run(self._grep(pattern, path, glob))

    def glob_info(self, pattern: str, path: str = paths.ROOT) -> list[FileInfo]:
        return self._run(self._glob(pattern, path))

    def write(self, file_path: str, content: str, **options: Any) -> WriteResult:
        return self._run(self._write(file_path, content, **options))

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False, **options: Any) -> EditResult:
        return self._run(self._edit(file_path, old_string, new_string, replace_all, **options))

    async def als_info(self, path: str) -> list[FileInfo]:
        return await self._arun(self._ls(path))

    async def aread(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        return await self._arun(self._read(file_path, offset, limit))

    async def agrep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        return await self._arun(self._grep(pattern, path, glob))

    async def aglob_info(self, pattern: str, path: str = paths.ROOT) -> list[FileInfo]:
        return await self._arun(self._glob(pattern, path))

    async def awrite(self, file_path: str, content: str, **options: Any) -> WriteResult:
        return await self._arun(self._write(file_path, content, **options))

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False, **options: Any
    ) -> EditResult:
        return await self._arun(self._edit(file_path, old_string, new_string, replace_all, **options))

    def __getattr__(self, name: str) -> Any:
        """The verbs that only some backends have. The tools ask whether there is one before they offer it."""
        verb = name[1:] if name.startswith("a") and name[1:] in _OPTIONAL else name
        if verb not in _OPTIONAL or not hasattr(self._backend, verb):
            raise AttributeError(name)
        if verb == EXECUTE and self.command_backend is None:
            raise AttributeError(name)
        steps = _OPTIONAL[verb]
        if verb == name:
            return lambda *args, **options: self._run(steps(self, *args, **options))
        return lambda *args, **options: self._arun(steps(self, *args, **options))

    def _run(self, steps: Steps[VerbCall, T]) -> T:
        return run_steps(steps, lambda call: getattr(self._backend, call.verb)(*call.arguments, **call.options))

    async def _arun(self, steps: Steps[VerbCall, T]) -> T:
        async def perform(call: VerbCall) -> Any:
            return await acall(self._backend, call.verb, *call.arguments, **call.options)  # type: ignore[arg-type]  # bound by then

        return await arun_steps(steps, perform)

    def _ls(self, path: str) -> Steps[VerbCall, list[FileInfo]]:
        folder = self._allowed_folder(path)
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        answer = yield VerbCall("ls_info", (folder,))
        error = self._told(answer, folder)
        return Listing(self._visible(answer, folder), error=error, note=self._clean_note(answer))

    def _read(self, file_path: str, offset: int, limit: int) -> Steps[VerbCall, str]:
        path = self._allowed("read", file_path)
        if isinstance(path, ErrorText):
            return path
        answer: str = yield VerbCall("read", (path, offset, limit))
        return answer

    def _read_whole(self, file_path: str) -> Steps[VerbCall, bytes | ErrorText]:
        path = self._allowed("read", file_path)
        if isinstance(path, ErrorText):
            return path
        answer: bytes | ErrorText = yield VerbCall("read_whole", (path,))
        return answer

    def _glob(self, pattern: str, path: str) -> Steps[VerbCall, list[FileInfo]]:
        folder, passes = self._allowed_folder(path), compile_glob(pattern)
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        answer = yield VerbCall("glob_info", (pattern, folder))
        rows, note = self._visible(answer, folder), self._clean_note(answer)
        if note and len(rows) < len(answer) and not isinstance(passes, ErrorText):

            def below(name: str) -> VerbCall | None:
                return VerbCall("glob_info", ("**/*", name)) if name.endswith("/") else None

            def wanted(name: str) -> bool:
                return passes(paths.relative(name, folder))

            rows = yield from self._search_parts(folder, below, wanted, MAX_FOUND)
            note = found_note() if len(rows) > MAX_FOUND else None
        error = self._told(answer, folder)
        return Listing(rows[:MAX_FOUND], error=error, note=note)

    def _grep(self, pattern: str, path: str | None, glob: str | None) -> Steps[VerbCall, list[GrepMatch] | str]:
        folder = self._allowed_folder(paths.ROOT if path is None else path)
        passes = compile_glob("**" if glob is None else glob, anywhere=True)
        if isinstance(folder, ErrorText):
            return folder
        answer = yield VerbCall("grep_raw", (pattern, folder, glob))
        if isinstance(answer, str):
            return self._told(answer, folder) or (
                invalid if isinstance(invalid := compile_text(pattern), ErrorText) else Matches()
            )
        rows, note = self._visible(answer, folder), self._clean_note(answer)
        if note and len(rows) < len(answer) and not isinstance(passes, ErrorText):
            # A glob with a slash is relative to `folder`, which the search of a part does not know.
            own = None if glob is not None and "/" in glob else glob

            def below(name: str) -> VerbCall | None:
                return VerbCall("grep_raw", (pattern, name.rstrip("/"), own))

            def wanted(name: str) -> bool:
                return passes(paths.relative(name, folder))

            rows = yield from self._search_parts(folder, below, wanted, MAX_MATCHES)
            note = matches_note() if len(rows) > MAX_MATCHES else None
        return Matches(rows[:MAX_MATCHES], note=note)

    def _search_parts(
        self, folder: str, below: Callable[[str], VerbCall | None], wanted: Callable[[str], bool], limit: int
    ) -> Steps[VerbCall, list[Any]]:
        """What can be seen below a folder, from one search of each visible child, until there is one row too many."""
        listed = yield VerbCall("ls_info", (folder,))
        found: list[Any] = []
        for child in self._visible(listed, folder):
            name = child["path"]
            if len(found) > limit:
                break
            call = below(name)
            if call is None:
                found += [child] if wanted(name) else []
                continue
            answer = yield call
            rows = [] if isinstance(answer, str) else self._visible(answer, folder)
            if name.endswith("/") and getattr(answer, "note", None) and len(rows) < len(answer):
                found += yield from self._search_parts(name.rstrip("/"), below, wanted, limit - len(found))
            else:
                found += [row for row in rows if wanted(row["path"])]
        return found

    def _search(self, query: str, path: str = paths.ROOT, *more: Any, **options: Any) -> Steps[VerbCall, Any]:
        folder = self._allowed_folder(path)
        if isinstance(folder, ErrorText):
            return folder
        answer = yield VerbCall("search", (query, folder, *more), options)
        if isinstance(answer, str):
            return self._told(answer, folder) or Passages()
        return Passages(self._visible(answer, folder), note=self._clean_note(answer))

    def _write(self, file_path: str, content: str, **options: Any) -> Steps[VerbCall, WriteResult]:
        path = self._allowed("write", file_path)
        if isinstance(path, ErrorText):
            return WriteResult(error=path)
        result: WriteResult = yield VerbCall("write", (path, content), options)
        return self._clean_result(result, path)

    def _edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool, **options: Any
    ) -> Steps[VerbCall, EditResult]:
        # An edit tells whether a text occurs in the file, so it needs both.
        path = self._allowed("write", file_path)
        path = path if isinstance(path, ErrorText) else self._allowed("read", file_path)
        if isinstance(path, ErrorText):
            return EditResult(error=path)
        result: EditResult = yield VerbCall("edit", (path, old_string, new_string), {"replace_all": replace_all, **options})
        return self._clean_result(result, path)

    def _upload(self, files: Sequence[tuple[str, bytes]]) -> Steps[VerbCall, list[FileUploadResponse]]:
        checked = [(self._allowed("write", path), path, content) for path, content in files]
        allowed = [(place, content) for place, _, content in checked if not isinstance(place, ErrorText)]
        done = iter((yield VerbCall("upload_files", (allowed,))) if allowed else ())
        return [
            FileUploadResponse(path, "permission_denied", place)
            if isinstance(place, ErrorText)
            else replace(next(done), path=path)
            for place, path, _ in checked
        ]

    def _download(self, files: Sequence[str]) -> Steps[VerbCall, list[FileDownloadResponse]]:
        checked = [(self._allowed("read", path), path) for path in files]
        allowed = [place for place, _ in checked if not isinstance(place, ErrorText)]
        done = iter((yield VerbCall("download_files", (allowed,))) if allowed else ())
        return [
            FileDownloadResponse(path, None, "permission_denied", place)
            if isinstance(place, ErrorText)
            else replace(next(done), path=path)
            for place, path in checked
        ]

    def _execute(self, *args: Any, **options: Any) -> Steps[VerbCall, Any]:
        return (yield VerbCall(EXECUTE, args, options))

    def _delete(self, file_path: str, **options: Any) -> Steps[VerbCall, DeleteResult]:
        path = self._allowed("write", file_path)
        problem = path if isinstance(path, ErrorText) else (yield from self._protection(path))
        if problem:
            return DeleteResult(error=problem)
        result: DeleteResult = yield VerbCall("delete", (path,), options)
        return self._clean_result(result, str(path))

    def _move(self, source: str, destination: str, **options: Any) -> Steps[VerbCall, MoveResult]:
        places: list[str] = []
        for operation, raw in (("write", source), ("read", source), ("write", destination)):
            path = self._allowed(operation, raw)  # type: ignore[arg-type]  # literals
            if isinstance(path, ErrorText):
                return MoveResult(error=path)
            places.append(path)
        _, source, destination = places
        problem = (yield from self._protection(source, destination)) or (yield from self._protection(source, operation="read"))
        if problem:
            return MoveResult(error=problem)
        result: MoveResult = yield VerbCall("move", (source, destination), options)
        return self._clean_result(result, source)

    def _protection(
        self, path: str, *others: str, operation: FilesystemOperation = "write"
    ) -> Steps[VerbCall, ErrorText | None]:
        """Why a folder cannot be deleted or moved as a whole; `others` are where its files would go. A single file is never protected
        by rules about other files."""
        found = [(place, self._rules.protecting(operation, place)) for place in (path, *others)]
        if not any(patterns for _, patterns in found):
            return None
        rows = yield VerbCall("ls_info", (path,))
        if len(rows) == 1 and rows[0]["path"] == path and not rows[0].get("is_dir"):
            return None
        return next(permissions.protected(place, patterns) for place, patterns in found if patterns)

    def _allowed(self, operation: FilesystemOperation, raw: object) -> str | ErrorText:
        """A file's path, if the rules allow the operation on it."""
        typed, path = self._resolve(raw)
        if isinstance(path, ErrorText):
            return path
        decision = self._rules.decide(operation, path)
        if decision == "deny":
            return permissions.denied(operation, path)
        if decision == "interrupt" and typed != path and self._rules.decide(operation, typed) != "interrupt":
            return permissions.unclear(path)
        return path

    def _allowed_folder(self, raw: object) -> str | ErrorText:
        """A path to list or search, if that is allowed. It may be a file."""
        typed, path = self._resolve(raw)
        if isinstance(path, ErrorText):
            return path
        if self._rules.decide_folder("read", path) == "deny":
            return permissions.denied("read", path)
        if typed != path and self._rules.may_ask_below("read", path) and not self._rules.may_ask_below("read", typed):
            return permissions.unclear(path)
        return path

    def _resolve(self, raw: object) -> tuple[str, str | ErrorText]:
        """A path as typed, and as the backend shows it: on disk, one file may have two names."""
        typed = paths.resolve(raw)
        own = getattr(self._backend, "canonical_path", None)
        return typed, typed if isinstance(typed, ErrorText) or own is None else own(raw)

    def _visible(self, rows: Iterable[Any], folder: str) -> list[Any]:
        shows = self._rules.shows
        if isinstance(rows, str):
            return []
        return [row for row in rows if shows(path if (path := row["path"])[:1] == "/" else f"{folder.rstrip('/')}/{path}")]

    def _clean_note(self, answer: object) -> str | None:
        """A note, unless it names a place that must not be seen."""
        note: str | None = getattr(answer, "note", None)
        named = _QUOTED_PATH.findall(note) if note else ()
        return note if all(self._rules.shows(path) and self._rules.shows(path.rstrip("/") + "/") for path in named) else None

    def _told(self, answer: object, folder: str) -> ErrorText | None:
        """The error of a listing or a search that may be told."""
        error = answer if isinstance(answer, str) else getattr(answer, "error", None)
        return None if self._rules.only_leads_on(folder) else self._clean_error(error, "read", folder)

    def _clean_error(self, error: str | None, operation: FilesystemOperation, path: str) -> ErrorText | None:
        """An error, unless it tells about another path that must not be seen."""
        if error is None:
            return None
        named = [part for part in getattr(error, "parts", ()) if isinstance(part, paths.Place)]
        # "No file" names the folder above only as a place to look.
        if error != messages.no_file(path) and any(
            part != path and self._rules.decide("read", part) == "deny" for part in named
        ):
            return permissions.denied(operation, path)
        return error if isinstance(error, ErrorText) else ErrorText(error)

    def _clean_result(self, result: Result, path: str) -> Result:
        error = self._clean_error(result.error, "write", path)
        if error is not None:
            return replace(result, error=error)
        if getattr(result, "count", None) is not None and self._rules.protecting("read", path):
            result = cast("Any", replace)(result, count=None)  # it would count files that must not be seen
        return result


def refuse_commands(backend: object, rules: PathRules) -> None:
    """Reject rules that commands could get around: they run where the files are, and no tool of ours looks at what they read."""
    if (sandbox := command_backend(backend)) is not None and not _are_apart(backend, rules):
        raise ConfigurationError(
            f"permissions cannot be kept with {type(sandbox).__name__}, because its execute runs commands that can read and change "
            "every file. Use a backend without execute, mount the files that the rules are about from another backend, give commands a "
            "place of their own with ShellMiddleware, or drop the rules that deny or ask."
        )


def _are_apart(backend: object, rules: PathRules) -> bool:
    """Whether the rules are only about mounted files, which commands cannot see."""
    mounts: Sequence[str] = getattr(backend, "mount_paths", ())
    strict = [pattern for rule in rules.permissions if rule.mode != "allow" for pattern in rule.paths]
    return all(any(paths.is_within(permissions.anchor(pattern), mount) for mount in mounts) for pattern in strict)


_OPTIONAL: dict[str, Callable[..., Steps[VerbCall, Any]]] = {
    "search": PermittedBackend._search,
    "read_whole": PermittedBackend._read_whole,
    "upload_files": PermittedBackend._upload,
    "download_files": PermittedBackend._download,
    "delete": PermittedBackend._delete,
    "move": PermittedBackend._move,
    EXECUTE: PermittedBackend._execute,
}
