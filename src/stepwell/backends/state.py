"""Files in the agent's own state, which live as long as the thread and travel with its checkpoints.

Verbs cannot change the state from inside a step; they return `files_update`, and the calling tool returns that as a state update.
`StateBackend()` finds the running graph's state itself; `StateBackend(runtime)` uses the state of the given runtime.

A subagent sees its parent's files through `inherited_files`, and its own state contains only its own changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any, ClassVar

from langgraph.config import get_config

from stepwell.backends import changes, messages, paths, text, tree
from stepwell.backends.changes import StoredFile
from stepwell.backends.draft import Draft
from stepwell.backends.protocol import (
    DEFAULT_READ_LIMIT,
    DeleteResult,
    EditResult,
    ErrorText,
    FileInfo,
    GrepMatch,
    Listing,
    MoveResult,
    WriteResult,
)
from stepwell.backends.sync_async import SyncBackend
from stepwell.clock import Clock, SystemClock, timestamp
from stepwell.errors import BackendError

CHANNEL = "files"

# LangGraph's private key under which a step can read channels. Pinned by tests/unit/backends/test_state.py; nothing else uses it.
_READ_KEY = "__pregel_read"

_INHERITED: ContextVar[Mapping[str, StoredFile] | None] = ContextVar("stepwell_inherited_files", default=None)


@contextmanager
def inherited_files(files: Mapping[str, StoredFile]) -> Iterator[None]:
    """Let the agents that run inside the body see these files too; their own files take precedence."""
    token = _INHERITED.set(files)
    try:
        yield
    finally:
        _INHERITED.reset(token)


def visible_files(own: Mapping[str, StoredFile] | None) -> Mapping[str, StoredFile]:
    """An agent's own files, and those inherited files that it has not replaced."""
    inherited = _INHERITED.get()
    if not inherited:
        return own or {}
    if not own:
        return inherited
    return {path: file for path, file in {**inherited, **own}.items() if not changes.is_deleted(file)}


def is_inherited(path: str) -> bool:
    """Whether the running agent would see a file of its parent at this path if it had none of its own."""
    return path in (_INHERITED.get() or {})


class StateBackend(SyncBackend):
    """Stores files in the `files` channel of the running graph."""

    blocking: ClassVar[bool] = False
    in_state: ClassVar[bool] = True

    def __init__(
        self,
        runtime: Any = None,
        *,
        allowed_prefixes: Sequence[str] = (),
        clock: Clock | None = None,
        prefix: str = "",
    ) -> None:
        self._runtime = runtime
        self._allowed = tuple(allowed_prefixes)
        self._clock = clock or SystemClock()
        self._prefix = prefix

    def bind(self, runtime: Any) -> StateBackend:
        """For a tool that is called outside of a graph: use the given runtime's files. The files of a running graph take precedence."""
        if self._runtime is not None or not isinstance(getattr(runtime, "state", None), Mapping) or _is_in_a_run():
            return self
        other = copy(self)  # of the same class: a subclass keeps its own verbs
        other._runtime = runtime
        return other

    def mounted_at(self, prefix: str) -> StateBackend:
        """The same backend at a mount: its files have the mount's prefix in state, so two mounts never collide."""
        other = copy(self)
        other._prefix = prefix.rstrip("/")
        return other

    def ls_info(self, path: str) -> list[FileInfo]:
        folder = self._resolve(path)
        return Listing(error=folder) if isinstance(folder, ErrorText) else tree.list_folder(self._files(), folder)

    def read(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        path = self._resolve_file(file_path)
        return path if isinstance(path, ErrorText) else tree.read_file(self._files(), path, offset, limit)

    def read_whole(self, file_path: str) -> bytes | ErrorText:
        path = self._resolve_file(file_path)
        if isinstance(path, ErrorText):
            return path
        files = self._files()
        return changes.text_of(files[path]).encode() if path in files else tree.missing_file(files, path)

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        folder = self._resolve("/" if path is None else path)
        return folder if isinstance(folder, ErrorText) else tree.search(self._files(), pattern, folder, glob)

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        folder = self._resolve(path)
        return Listing(error=folder) if isinstance(folder, ErrorText) else tree.find(self._files(), pattern, folder)

    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        path = self._resolve_file(file_path)
        if isinstance(path, ErrorText):
            return WriteResult(error=path)
        if problem := text.content_complaint(path, content):
            return WriteResult(error=problem)
        draft = self._draft()
        current = draft.text(path)
        if current is None and (problem := tree.placement_problem(draft.files, path)):
            return WriteResult(error=problem)
        if current is not None and not overwrite:
            return WriteResult(error=messages.exists(path))
        if expected_version is not None and (current is None or text.version_of(current) != expected_version):
            return WriteResult(error=messages.conflict(path))
        at = timestamp(self._clock)
        change = changes.put(content, base=draft.stored_version(path), at=at)
        update = {self._prefix + path: _with_whole(change, content, at)}
        return WriteResult(path=path, files_update=update, version=text.version_of(content))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        path = self._resolve_file(file_path)
        if isinstance(path, ErrorText):
            return EditResult(error=path)
        if problem := text.content_complaint(path, old_string) or text.content_complaint(path, new_string):
            return EditResult(error=problem)
        draft = self._draft()
        current = draft.text(path)
        if current is None:
            return EditResult(error=tree.placement_problem(draft.files, path) or messages.no_file(path))
        if expected_version is not None and text.version_of(current) != expected_version:
            return EditResult(error=messages.conflict(path))
        outcome = text.replace_exact(path, current, old_string, new_string, replace_all)
        if isinstance(outcome, ErrorText):
            return EditResult(error=outcome)
        edited, count = outcome
        base = draft.stored_version(path)
        at = timestamp(self._clock)
        if base is None:  # the file is inherited, so we store a whole copy in this agent's own state
            change: Mapping[str, Any] = changes.put(edited, base=None, at=at)
        else:
            change = changes.edit(old_string, new_string, replace_all, base=base, at=at)
        update = {self._prefix + path: _with_whole(change, edited, at)}
        return EditResult(path=path, files_update=update, occurrences=count, version=text.version_of(edited))

    def delete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        path = self._resolve_entry(file_path)
        if isinstance(path, ErrorText):
            return DeleteResult(error=path)
        draft = self._draft()
        doomed = tree.files_at(draft.files, path)
        if not doomed:
            return DeleteResult(error=messages.nothing_there(path))
        if problem := _version_complaint(draft, path, expected_version):
            return DeleteResult(error=problem)
        at = timestamp(self._clock)
        update = {self._prefix + each: self._deletion(draft, each, at) for each in doomed}
        return DeleteResult(path=path, files_update=update, count=len(doomed))

    def move(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        old, new = self._resolve_entry(source), self._resolve_entry(destination)
        if isinstance(old, ErrorText) or isinstance(new, ErrorText):
            return MoveResult(error=old if isinstance(old, ErrorText) else new)
        draft = self._draft()
        planned = tree.plan_move(draft.files, old, new, overwrite)
        if isinstance(planned, ErrorText):
            return MoveResult(error=planned)
        if problem := _version_complaint(draft, old, expected_version):
            return MoveResult(error=problem)
        at = timestamp(self._clock)
        update: dict[str, Any] = {}
        for before, after in planned:
            content = draft.text(before) or ""
            change = changes.put(content, base=draft.stored_version(after), at=at)
            update[self._prefix + after] = _with_whole(change, content, at)
            update[self._prefix + before] = self._deletion(draft, before, at)
        return MoveResult(path=new, files_update=update, count=len(planned))

    def _deletion(self, draft: Draft, path: str, at: str) -> Change:
        hides = is_inherited(self._prefix + path)
        return Change(changes.delete(base=draft.stored_version(path), at=at, hides=hides))

    def _draft(self) -> Draft:
        """The files after the earlier calls of this turn."""
        return Draft(self._own_files(), self._prefix, lambda own: self._shown(visible_files(own)))

    def _files(self) -> Mapping[str, StoredFile]:
        """The files that this backend shows, by their shown paths."""
        return self._shown(visible_files(self._own_files()))

    def _shown(self, files: Mapping[str, StoredFile]) -> Mapping[str, StoredFile]:
        if not self._prefix:
            return files
        start = self._prefix + "/"
        return {path[len(self._prefix) :]: file for path, file in files.items() if path.startswith(start)}

    def _own_files(self) -> Mapping[str, StoredFile] | None:
        if self._runtime is not None:
            return _merged_by_hand(self._runtime.state.get(CHANNEL))
        try:
            read = get_config()["configurable"][_READ_KEY]
        except (RuntimeError, KeyError):
            raise BackendError(
                "StateBackend works only while an agent runs. To give an agent files beforehand, pass them in its input: "
                "agent.invoke({'messages': [...], 'files': {'/notes.md': 'text'}})."
            ) from None
        found: Mapping[str, StoredFile] | None = read(CHANNEL, False)
        return found

    def _resolve(self, raw: str) -> str | ErrorText:
        return self._allow(paths.resolve(raw))

    def _resolve_entry(self, raw: str) -> str | ErrorText:
        return self._allow(paths.resolve_entry(raw))

    def _resolve_file(self, raw: str) -> str | ErrorText:
        return self._allow(paths.resolve_file(raw))

    def _allow(self, path: str | ErrorText) -> str | ErrorText:
        if isinstance(path, ErrorText):
            return path
        return paths.check_prefixes(path, self._allowed) or path


class Change(dict[str, Any]):
    """A change for the channel that also knows the resulting file, for code that puts `files_update` into a state's files by hand,
    without the channel's reducer. Only the change itself is stored."""

    whole: StoredFile | None = None
    """None if the file is deleted."""


def _with_whole(change: Mapping[str, Any], content: str, at: str) -> Change:
    made = Change(change)
    made.whole = {"content": text.split_lines(content), "created_at": at, "modified_at": at}
    return made


def _merged_by_hand(files: Mapping[str, Any] | None) -> Mapping[str, StoredFile] | None:
    """Resolve unapplied changes among the files to the files they produce."""
    if not files or not any(isinstance(file, Change) for file in files.values()):
        return files
    whole = {path: file.whole if isinstance(file, Change) else file for path, file in files.items()}
    return {path: file for path, file in whole.items() if file is not None}


def _is_in_a_run() -> bool:
    try:
        return _READ_KEY in get_config()["configurable"]
    except (RuntimeError, KeyError):
        return False


def _version_complaint(draft: Draft, path: str, expected: str | None) -> ErrorText | None:
    """A conflict if a version is expected, and the path is not a file at that version."""
    current = draft.text(path)
    if expected is None or (current is not None and text.version_of(current) == expected):
        return None
    return messages.conflict(path)
