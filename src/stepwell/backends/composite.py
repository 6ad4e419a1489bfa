"""Several backends as one tree: a default, and others mounted at path prefixes. The longest matching prefix decides.

A mounted backend sees paths from its own root, and its answers are translated into the caller's paths: rows, results, and the paths
quoted in its errors (`PathError.below`). Rules:

- A mount, and every folder on the way to one, is a folder: it can be listed, and nothing can be written in its place. It is neither
  deleted nor moved. A mount hides what a backend further up has at the same path or below.
- A move from one child to another copies the text and deletes the old file (`moving`). It never leads into the agent's state.
- `ls`, `glob` and `grep` from above a mount look into the mount too, unless its backend is `remote`; then a note says that it was left
  out. If one part fails, the rest is still shown, with the failure as a note.
- Files in state must not collide if two state backends are mounted. If a backend has a method `mounted_at(prefix)`, that method returns
  the backend to use at the mount. For `StateBackend`, this is one that stores its files under their full paths, so `files_update` passes
  through unchanged.
- Commands run in the default backend, if it runs commands (`commands`).

Verbs are written as steps, so sync code calls a child's sync verbs, and async code its async ones. `mounts` decides which child answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from stepwell.backends import messages, paths
from stepwell.backends.commands import arun_command, command_backend, run_command
from stepwell.backends.mounts import Child, Mount, MountTable
from stepwell.backends.moving import Crossing, plain_version, retell
from stepwell.backends.patterns import compile_glob, compile_text
from stepwell.backends.protocol import (
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
from stepwell.backends.steps import SteppedBackend, Steps, arun_steps, run_steps
from stepwell.backends.transfers import FileDownloadResponse, code_of, has_whole_files
from stepwell.backends.tree import MAX_FOUND, MAX_MATCHES, folder_row, found_note, matches_note, move_complaint

Row = TypeVar("Row", FileInfo, GrepMatch, SearchMatch)
Result = TypeVar("Result", WriteResult, EditResult, DeleteResult, MoveResult)


@dataclass(frozen=True, slots=True)
class VerbCall:
    """A call of one verb of one child; the verb is given by its sync name."""

    mount: Mount
    verb: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


def is_remote(backend: Any, path: str = paths.ROOT) -> bool:
    """Whether a backend's files at a path are remote or owned by a person."""
    asked = getattr(backend, "remote_at", None)
    return asked(path) if asked else bool(getattr(backend, "remote", False))


def is_in_state(backend: Any, path: str) -> bool:
    """Whether a backend's files at a path are in the agent's state."""
    asked = getattr(backend, "in_state_at", None)
    return asked(path) if asked else bool(getattr(backend, "in_state", False))


def keeps_versions(backend: Any, path: str) -> bool:
    """Whether a backend's files at a path are on somebody's device, which keeps their earlier versions itself."""
    asked = getattr(backend, "keeps_versions_at", None)
    return asked(path) if asked else bool(getattr(backend, "keeps_versions", False))


def can_search(backend: Any) -> bool:
    """Whether a backend, or one mounted in it, has semantic search. Always false for a factory, which makes a backend per call."""
    return bool(getattr(backend, "can_search", False))


def offers(backend: Any, verb: str) -> bool:
    """Whether a backend, or one mounted in it, has an optional verb, `delete` or `move`. Always true for a function that makes a backend
    per call, because only that backend can tell."""
    if not isinstance(backend, type) and not hasattr(backend, "ls_info"):
        return True
    asked = getattr(backend, "offers", None)
    return asked(verb) if asked else callable(getattr(backend, verb, None))


class CompositeBackend(SteppedBackend):
    """Routes each path to the backend mounted there, or to the default.

    Example: `CompositeBackend(StateBackend(), {"/memories/": StoreBackend()})`. Children may be factories; each call passes them
    `runtime`, or the running graph's runtime.
    """

    def __init__(self, default: Child, routes: Mapping[str, Child] | None = None, *, runtime: Any = None) -> None:
        self._table = MountTable.build(default, routes or {})
        self._runtime = runtime

    def bind(self, runtime: Any) -> CompositeBackend:
        """The same tree with this runtime for its factories."""
        return self._copy_with(self._table, runtime)

    def mounted_at(self, prefix: str) -> CompositeBackend:
        """The same tree at a mount of another composite; its own children learn about that mount."""
        return self._copy_with(self._table.behind(prefix.rstrip("/")), self._runtime)

    def remote_at(self, path: str) -> bool:
        """Whether a resolved path leads to a remote backend."""
        return is_remote(self._table.owner(path).open(self._runtime), path)

    def in_state_at(self, path: str) -> bool:
        """Whether a resolved path leads to a backend whose files are in the agent's state."""
        owner = self._table.owner(path)
        return is_in_state(owner.open(self._runtime), owner.inner(path))

    def keeps_versions_at(self, path: str) -> bool:
        """Whether a resolved path leads to somebody's device, which keeps versions itself."""
        owner = self._table.owner(path)
        return keeps_versions(owner.open(self._runtime), owner.inner(path))

    def children(self) -> list[tuple[str, Child]]:
        """Each child with its mount; the default's is empty."""
        return [(mount.path, mount.child) for mount in (self._table.default, *self._table.mounts)]

    def parts(self) -> dict[str, Any]:
        """Each child by its mount, as it answers in the call that this tree is bound to; before that, a factory is itself."""
        mounts = (self._table.default, *self._table.mounts)
        return {mount.path: mount.child if self._runtime is None else mount.open(self._runtime) for mount in mounts}

    def canonical_path(self, path: str) -> str | ErrorText:
        """The one path under which a file is shown, for backends that know several."""
        resolved = paths.resolve(path)
        owner = self._table.owner(resolved)
        own = None if isinstance(resolved, ErrorText) else getattr(owner.open(self._runtime), "canonical_path", None)
        found = owner.inner(resolved) if own is None else own(owner.inner(resolved))
        if isinstance(resolved, ErrorText) or isinstance(found, ErrorText):
            return resolved if isinstance(resolved, ErrorText) else retell(found, owner) or found
        return owner.outer(found).rstrip("/") or paths.ROOT

    @property
    def can_search(self) -> bool:
        return bool(self._searchable())

    def search(self, query: str, path: str = paths.ROOT, top_k: int = DEFAULT_TOP_K) -> list[SearchMatch] | str:
        return run_steps(self.search_steps(query, path, top_k), self.perform)

    async def asearch(self, query: str, path: str = paths.ROOT, top_k: int = DEFAULT_TOP_K) -> list[SearchMatch] | str:
        return await arun_steps(self.search_steps(query, path, top_k), self.aperform)

    @property
    def command_backend(self) -> Any | None:
        """The backend that runs commands: the default, if it does. Commands cannot see the files of mounts."""
        return command_backend(self._table.default.child)

    @property
    def mount_paths(self) -> list[str]:
        """Where other backends are mounted, as folders."""
        return sorted(f"{mount.path}/" for mount in self._table.mounts)

    def execute(self, command: str, *, timeout: int | None = None) -> Any:
        return run_command(self._table.default.open(self._runtime), command, timeout)

    async def aexecute(self, command: str, *, timeout: int | None = None) -> Any:  # noqa: ASYNC109  # the sandbox's own limit
        return await arun_command(self._table.default.open(self._runtime), command, timeout)

    def perform(self, request: VerbCall) -> Any:
        backend = request.mount.open(self._runtime)
        return getattr(backend, request.verb)(*request.arguments, **request.options)

    async def aperform(self, request: VerbCall) -> Any:
        backend = request.mount.open(self._runtime)
        return await getattr(backend, f"a{request.verb}")(*request.arguments, **request.options)

    def read_whole(self, file_path: str) -> bytes | ErrorText:
        path = self._file(file_path)
        if isinstance(path, ErrorText):
            return path
        owner = self._table.owner(path)
        child: Any = owner.open(self._runtime)
        if not hasattr(child, "read_whole"):
            return messages.no_whole_file(path)
        found: bytes | ErrorText = child.read_whole(owner.inner(path))
        return (retell(found, owner) or found) if isinstance(found, ErrorText) else found

    def mode_of(self, file_path: str) -> int | None:
        """The permission bits of a file, where the child's files have some."""
        path = self._file(file_path)
        owner = self._table.owner(path)
        own = None if isinstance(path, ErrorText) else getattr(owner.open(self._runtime), "mode_of", None)
        found: int | None = own(owner.inner(path)) if own else None
        return found

    def links_below(self, path: str) -> list[str]:
        """The symbolic links below a folder, where the child's files have some."""
        resolved = paths.resolve(path)
        owner = self._table.owner(resolved)
        own = None if isinstance(resolved, ErrorText) else getattr(owner.open(self._runtime), "links_below", None)
        return [owner.outer(link) for link in own(owner.inner(resolved))] if own else []

    def write_whole(self, file_path: str, content: bytes, **options: Any) -> WriteResult:
        return run_steps(self.write_whole_steps(file_path, content, options), self.perform)

    async def awrite_whole(self, file_path: str, content: bytes, **options: Any) -> WriteResult:
        return await arun_steps(self.write_whole_steps(file_path, content, options), self.aperform)

    def write_whole_steps(self, file_path: str, content: bytes, options: Mapping[str, Any]) -> Steps[VerbCall, WriteResult]:
        """Bytes of any kind, where the child can store them."""
        path = self._file(file_path)
        if isinstance(path, ErrorText):
            return WriteResult(error=path)
        owner = self._table.owner(path)
        if not hasattr(owner.open(self._runtime), "write_whole"):
            return WriteResult(error=messages.not_text(path))
        result: WriteResult = yield VerbCall(owner, "write_whole", (owner.inner(path), content), options)
        return _translate_result(owner, result)

    def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        return run_steps(self.download_steps(paths), self.perform)

    async def adownload_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        return await arun_steps(self.download_steps(paths), self.aperform)

    def download_steps(self, given: Sequence[str]) -> Steps[VerbCall, list[FileDownloadResponse]]:
        """Whole files, with one call of each child that has some of them."""
        found: dict[str, FileDownloadResponse] = {}
        wanted: dict[str, tuple[Mount, dict[str, str]]] = {}
        for raw in given:
            path = self._file(raw)
            if isinstance(path, ErrorText):
                found[raw] = FileDownloadResponse(raw, None, code_of(path, raw), path)
            else:
                owner = self._table.owner(path)
                wanted.setdefault(owner.path, (owner, {}))[1][raw] = path
        for owner, asked in wanted.values():
            if not has_whole_files(owner.open(self._runtime)):
                found.update(
                    {
                        raw: FileDownloadResponse(raw, None, "permission_denied", messages.no_whole_file(path))
                        for raw, path in asked.items()
                    }
                )
                continue
            answers = yield VerbCall(owner, "download_files", ([owner.inner(path) for path in asked.values()],))
            for raw, answer in zip(asked, answers, strict=True):
                said = retell(getattr(answer, "message", None), owner)
                found[raw] = FileDownloadResponse(raw, answer.content, answer.error, said)
        return [found[raw] for raw in given]

    def ls_steps(self, path: str) -> Steps[VerbCall, list[FileInfo]]:
        folder = paths.resolve(path)
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        owner, below = self._table.owner(folder), self._table.below(folder)
        answer = yield VerbCall(owner, "ls_info", (owner.inner(folder),))
        if not below:
            return Listing(self._translate_rows(owner, answer), error=retell(_error(answer), owner), note=_note(answer))
        parts: _Parts[FileInfo] = _Parts()
        parts.add(self._translate_rows(owner, answer), _note(answer), _failure(answer, owner, folder))
        ways = {_first_step(folder, mount.path) for mount in below}
        parts.add(row for row in map(folder_row, ways) if row not in parts.rows)
        return Listing(parts.sorted(), note=parts.note())

    def glob_steps(self, pattern: str, path: str) -> Steps[VerbCall, list[FileInfo]]:
        folder, passes = paths.resolve(path), compile_glob(pattern)
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        if isinstance(passes, ErrorText):
            return Listing(error=passes)
        owner, below = self._table.owner(folder), self._table.below(folder)
        answer = yield VerbCall(owner, "glob_info", (pattern, owner.inner(folder)))
        if not below:
            return Listing(self._translate_rows(owner, answer), error=retell(_error(answer), owner), note=_note(answer))
        parts: _Parts[FileInfo] = _Parts()
        parts.add(self._translate_rows(owner, answer), _note(answer), _failure(answer, owner, folder))
        for mount in self._mounts_to_search([mount for mount in below if mount.may_hold(pattern, folder)], parts):
            answer = yield VerbCall(mount, "glob_info", ("**/*", "/"))
            rows = (row for row in self._translate_rows(mount, answer) if passes(paths.relative(row["path"], folder)))
            parts.add(rows, _note(answer), retell(_error(answer), mount))
        return Listing(parts.sorted()[:MAX_FOUND], note=parts.note(found_note() if len(parts.rows) > MAX_FOUND else None))

    def grep_steps(self, pattern: str, path: str | None, glob: str | None) -> Steps[VerbCall, list[GrepMatch] | str]:
        folder = paths.resolve("/" if path is None else path)
        if isinstance(folder, ErrorText):
            return folder
        wanted, passes = compile_text(pattern), compile_glob("**" if glob is None else glob, anywhere=True)
        if isinstance(wanted, ErrorText):
            return wanted
        if isinstance(passes, ErrorText):
            return passes
        owner, below = self._table.owner(folder), self._table.below(folder)
        answer = yield VerbCall(owner, "grep_raw", (pattern, owner.inner(folder), glob))
        if not below:
            return retell(_error(answer), owner) or Matches(self._translate_rows(owner, answer), note=_note(answer))
        parts: _Parts[GrepMatch] = _Parts()
        parts.add(self._translate_rows(owner, answer), _note(answer), _failure(answer, owner, folder))
        entered = [mount for mount in below if glob is None or mount.may_hold(glob, folder, anywhere=True)]
        for mount in self._mounts_to_search(entered, parts):
            # A glob with a slash is relative to `folder`, which the child does not know.
            answer = yield VerbCall(mount, "grep_raw", (pattern, "/", None if glob is not None and "/" in glob else glob))
            rows = (row for row in self._translate_rows(mount, answer) if passes(paths.relative(row["path"], folder)))
            parts.add(rows, _note(answer), retell(_error(answer), mount))
        return Matches(parts.sorted()[:MAX_MATCHES], note=parts.note(matches_note() if len(parts.rows) > MAX_MATCHES else None))

    def search_steps(self, query: str, path: str, top_k: int) -> Steps[VerbCall, list[SearchMatch] | str]:
        """Semantic search in the one mount below `path` (or around it) that offers it."""
        folder = paths.resolve(path)
        if isinstance(folder, ErrorText):
            return folder
        places = self._searchable()
        found = [mount for mount in places if paths.is_within(folder, mount.path) or paths.is_within(mount.path or "/", folder)]
        if len(found) != 1:
            names = ", ".join(f"'{mount.path}/'" for mount in places)
            return ErrorText(
                f"Error: {paths.show(path)} cannot be searched by meaning. Use grep, or search with path in: {names}."
            )
        owner = found[0]
        inner = owner.inner(folder) if paths.is_within(folder, owner.path) else paths.ROOT
        answer = yield VerbCall(owner, "search", (query, inner, top_k))
        return retell(_error(answer), owner) or Passages(self._translate_rows(owner, answer), note=_note(answer))

    def read_steps(self, file_path: str, offset: int, limit: int) -> Steps[VerbCall, str]:
        path = self._file(file_path)
        if isinstance(path, ErrorText):
            return path
        owner = self._table.owner(path)
        answer: str = yield VerbCall(owner, "read", (owner.inner(path), offset, limit))
        return (retell(answer, owner) or answer) if isinstance(answer, ErrorText) else answer

    def write_steps(
        self, file_path: str, content: str, overwrite: bool, expected_version: str | None
    ) -> Steps[VerbCall, WriteResult]:
        path = self._file(file_path)
        if isinstance(path, ErrorText):
            return WriteResult(error=path)
        owner = self._table.owner(path)
        options = {"overwrite": overwrite, "expected_version": expected_version}
        result: WriteResult = yield VerbCall(owner, "write", (owner.inner(path), content), options)
        return _translate_result(owner, result)

    def edit_steps(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool, expected_version: str | None
    ) -> Steps[VerbCall, EditResult]:
        path = self._file(file_path)
        if isinstance(path, ErrorText):
            return EditResult(error=path)
        owner = self._table.owner(path)
        arguments = (owner.inner(path), old_string, new_string, replace_all)
        result: EditResult = yield VerbCall(owner, "edit", arguments, {"expected_version": expected_version})
        return _translate_result(owner, result)

    def delete_steps(self, file_path: str, expected_version: str | None) -> Steps[VerbCall, DeleteResult]:
        path = self._entry(file_path)
        if isinstance(path, ErrorText):
            return DeleteResult(error=path)
        owner = self._table.owner(path)
        if not offers(owner.open(self._runtime), "delete"):
            return DeleteResult(error=messages.cannot("delete", path))
        result: DeleteResult = yield _call(owner, "delete", owner.inner(path), expected_version=expected_version)
        return _translate_result(owner, result)

    def move_steps(
        self, source: str, destination: str, overwrite: bool, expected_version: str | None
    ) -> Steps[VerbCall, MoveResult]:
        old, new = paths.resolve_entry(source), paths.resolve_entry(destination)
        if isinstance(old, ErrorText) or isinstance(new, ErrorText):
            return MoveResult(error=old if isinstance(old, ErrorText) else new)
        problem = move_complaint(old, new) or self._holds_mount(old)
        if problem or self._table.is_on_the_way(new):
            return MoveResult(error=problem or messages.taken_by_folder(new))
        from_, to = self._table.owner(old), self._table.owner(new)
        near, far = from_.open(self._runtime), to.open(self._runtime)
        verb = "move" if from_ is to else "delete"
        if not offers(near, verb) or not (from_ is to or hasattr(near, "download_files")):
            return MoveResult(error=messages.cannot("move", old))
        if from_ is to:
            options = {"expected_version": expected_version, **({"overwrite": True} if overwrite else {})}
            result: MoveResult = yield _call(from_, "move", from_.inner(old), to.inner(new), **options)
            return _translate_result(from_, result)
        crossing = Crossing(
            _call,
            from_,
            to,
            old,
            new,
            overwrite,
            version_of=lambda path, content: self.version_for(path, content),
            may_undo=not is_remote(far, to.inner(new)) and offers(far, "delete"),
            moves_folders=not (is_remote(near, from_.inner(old)) or is_remote(far, to.inner(new))),
            from_state=is_in_state(near, from_.inner(old)),
        )
        return (yield from crossing.steps(expected_version))

    def offers(self, verb: str) -> bool:
        return any(offers(mount.child, verb) for mount in (*self._table.mounts, self._table.default))

    def version_for(self, path: str, content: str) -> str:
        """The version that the backend at a resolved path gives to a text."""
        owner = self._table.owner(path)
        asked = getattr(owner.open(self._runtime), "version_for", plain_version)
        version: str = asked(owner.inner(path), content)
        return version

    def _entry(self, raw: str) -> str | ErrorText:
        """A path that can be deleted: neither a mount nor a folder on the way to one."""
        path = paths.resolve_entry(raw)
        return path if isinstance(path, ErrorText) else self._holds_mount(path) or path

    def _holds_mount(self, path: str) -> ErrorText | None:
        held = next((mount for mount in self._table.mounts if paths.is_within(mount.path, path)), None)
        return None if held is None else messages.holds_mount(path, held.path)

    def _copy_with(self, table: MountTable, runtime: Any) -> CompositeBackend:
        other = copy(self)
        other._table, other._runtime = table, runtime
        return other

    def _searchable(self) -> list[Mount]:
        return [mount for mount in (*self._table.mounts, self._table.default) if can_search(mount.child)]

    def _file(self, raw: str) -> str | ErrorText:
        """A path that can be a file: neither a mount nor a folder on the way to one."""
        path = paths.resolve_file(raw)
        if isinstance(path, ErrorText):
            return path
        return messages.is_folder(path) if self._table.is_on_the_way(path) else path

    def _translate_rows(self, mount: Mount, answer: list[Row] | str) -> list[Row]:
        """A child's rows in the caller's paths, without those that another mount hides."""
        if isinstance(answer, str):
            return []
        rows: list[Row] = [{**row, "path": mount.outer(row["path"])} for row in answer] if mount.path else answer
        return [row for row in rows if not self._table.hides(mount, row["path"])] if self._table.mounts else rows

    def _mounts_to_search(self, mounts: Iterable[Mount], parts: _Parts[Any]) -> list[Mount]:
        """The mounts to search from above; a note names those that are left out."""
        near: list[Mount] = []
        for mount in mounts:
            if is_remote(mount.open(self._runtime)):
                parts.add((), f"'{mount.path}/' was not searched: it is remote. Search it by itself with path='{mount.path}/'.")
            else:
                near.append(mount)
        return near


class _Parts(Generic[Row]):
    """An answer combined from several children."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._notes: list[str] = []

    def add(self, rows: Iterable[Row], *notes: str | None) -> None:
        self.rows.extend(rows)
        self._notes.extend(note for note in notes if note and note not in self._notes)

    def sorted(self) -> list[Row]:
        return sorted(self.rows, key=lambda row: row["path"])

    def note(self, last: str | None = None) -> str | None:
        return " ".join([*self._notes, *([last] if last and last not in self._notes else [])]) or None


def _call(mount: Mount, verb: str, *arguments: Any, **options: Any) -> VerbCall:
    """A call without the options that are not set; a third-party backend may not know them."""
    return VerbCall(mount, verb, arguments, {name: value for name, value in options.items() if value is not None})


def _error(answer: object) -> str | None:
    """The failure in a child's answer: a string in place of rows, or a listing's error."""
    return answer if isinstance(answer, str) else getattr(answer, "error", None)


def _note(answer: object) -> str | None:
    return getattr(answer, "note", None)


def _failure(answer: object, owner: Mount, folder: str) -> str | None:
    """The owner's failure in a folder that has other mounts below it. It is not a failure if the owner itself lacks the folder."""
    error = _error(answer)
    return None if error == messages.no_folder(owner.inner(folder)) else retell(error, owner)


def _translate_result(mount: Mount, result: Result) -> Result:
    if result.error is not None:
        return replace(result, error=retell(result.error, mount))
    return replace(result, path=None if result.path is None else mount.outer(result.path))


def _first_step(folder: str, path: str) -> str:
    """The folder directly in `folder` that leads to a mount further down, as shown in a row."""
    start = 1 if folder == paths.ROOT else len(folder) + 1
    end = path.find("/", start)
    return (path if end < 0 else path[:end]) + "/"
