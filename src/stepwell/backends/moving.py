"""Moves files from one backend of a `CompositeBackend` to another: each whole text is copied, and then the old file is deleted.

```
look at both ends ──> copy every file ──> delete each old file, if it still has the text that was copied
                      └─ fails: copies are deleted again and replaced files put back, so nothing has changed
```

The steps may run again from the beginning (a device was asked in between, or the process was killed). So a file with exactly the text
that should be copied is taken for our own copy, and a folder for a half moved one if one end has every file of the other.

Nothing is moved into an agent's state from elsewhere. State is stored when the step has ended, and not at all if the run or the subagent
fails before, but the old file would be deleted at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stepwell.backends import messages, paths, text, tree
from stepwell.backends.mounts import Mount
from stepwell.backends.paths import PathError, Place
from stepwell.backends.protocol import DeleteResult, ErrorText, MoveResult, WriteResult
from stepwell.backends.steps import Steps

Call = Callable[..., Any]
"""Makes the request for a verb of a mount: `call(mount, verb, *arguments, **options)`."""

Rows = list[tuple[str, bool]]
"""Paths, and whether each is a folder."""


@dataclass(slots=True)
class Crossing:
    """A move from one mount to another. Paths are the caller's."""

    call: Call
    source: Mount
    destination: Mount
    old: str
    new: str
    overwrite: bool
    version_of: Callable[[str, str], str]
    """The version that the source gives to a text at a path."""
    may_undo: bool
    moves_folders: bool
    from_state: bool
    """Whether the source is in the agent's state, so that its deletion is stored together with a copy in state."""
    update: dict[str, Any] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    """The texts of overwritten files."""

    def steps(self, expected_version: str | None) -> Steps[Any, MoveResult]:
        """The whole move."""
        planned = yield from self._plan()
        if isinstance(planned, ErrorText):
            return MoveResult(error=planned)
        copied: dict[str, str] = {}
        for old, new in planned:
            content = yield from self._copy(old, new, expected_version)
            if isinstance(content, ErrorText):
                return MoveResult(error=(yield from self._undo(content)))
            copied[old] = content
        for number, (old, content) in enumerate(copied.items()):
            version = self.version_of(old, content)
            gone: DeleteResult = yield self.call(self.source, "delete", self.source.inner(old), expected_version=version)
            if gone.error is not None:
                problem = retell(gone.error, self.source) or ErrorText(gone.error)
                return MoveResult(
                    error=(yield from self._undo(problem)) if not number else problem, files_update=self._updates()
                )
            self.update.update(gone.files_update or {})
        return MoveResult(path=self.new, files_update=self._updates(), count=len(planned))

    def _plan(self) -> Steps[Any, list[tuple[str, str]] | ErrorText]:
        rows = yield from self._look(self.source, self.old)
        there = yield from self._look(self.destination, self.new)
        if isinstance(rows, ErrorText) or isinstance(there, ErrorText):
            return rows if isinstance(rows, ErrorText) else ErrorText(there)
        if not rows:
            return messages.moved_already(self.old, self.new) if there else messages.nothing_there(self.old)
        moves_file, is_file = _is_file(rows, self.old), _is_file(there, self.new)
        # Whether a file may be replaced is decided when its text is known: it may be our own copy.
        is_folder = bool(there) and not is_file
        problem = tree.landing_complaint(self.new, moves_file, True, is_file=is_file, is_folder=is_folder and moves_file)
        if problem:
            return problem
        if moves_file:
            return [(self.old, self.new)]
        planned = yield from self._plan_folder()
        if is_folder and not isinstance(planned, ErrorText) and not (yield from self._is_half_moved(planned)):
            return messages.taken_by_folder(self.new)
        self.overwrite = self.overwrite and not is_folder
        return planned

    def _plan_folder(self) -> Steps[Any, list[tuple[str, str]] | ErrorText]:
        if not self.moves_folders:
            return PathError(
                "Error: ", Place(self.old), " is a folder, and ", Place(self.new), " is stored far from it. Move its files."
            )
        for parent in paths.parents(self.new):
            if paths.is_within(parent, self.destination.path) and parent != self.destination.path:
                above = yield from self._look(self.destination, parent)
                if _is_file(above, parent):
                    return messages.below_file(self.new, parent)
        names = yield from self._files_below(self.source, self.old)
        if isinstance(names, ErrorText):
            return names
        renamed = [(name, self.new + name[len(self.old) :]) for name in names]
        too_long = next((error for _, name in renamed if (error := tree.length_complaint(self.new, name))), None)
        return too_long or renamed or messages.nothing_there(self.old)

    def _files_below(self, mount: Mount, folder: str) -> Steps[Any, list[str] | ErrorText]:
        found: Any = yield self.call(mount, "glob_info", "**/*", mount.inner(folder))
        if problem := getattr(found, "error", None):
            return retell(problem, mount) or ErrorText(problem)
        if getattr(found, "note", None):
            return PathError("Error: ", Place(folder), " has too many files to move at once. Move its folders one by one.")
        return [mount.outer(row["path"]) for row in found]

    def _is_half_moved(self, planned: list[tuple[str, str]]) -> Steps[Any, bool]:
        """Whether the destination looks like our own folder: cut off while copying, it has nothing else; cut off while deleting, it has
        everything. `_copy` refuses a file with another text."""
        there = yield from self._files_below(self.destination, self.new)
        if isinstance(there, ErrorText):
            return False
        wanted, found = {new for _, new in planned}, set(there)
        return found <= wanted or wanted <= found

    def _look(self, mount: Mount, path: str) -> Steps[Any, Rows | ErrorText]:
        """The rows of a file or a folder; none if there is nothing."""
        found: Any = yield self.call(mount, "ls_info", mount.inner(path))
        error = getattr(found, "error", None)
        if error is None:
            return [(mount.outer(row["path"]), bool(row.get("is_dir"))) for row in found]
        return [] if error == messages.no_folder(mount.inner(path)) else retell(error, mount) or ErrorText(error)

    def _copy(self, old: str, new: str, expected_version: str | None) -> Steps[Any, str | ErrorText]:
        """Copy one file, and return its text."""
        content = yield from self._read(self.source, old)
        if isinstance(content, ErrorText) or content is None:
            return content or messages.nothing_there(old)
        if expected_version is not None and self.version_of(old, content) != expected_version:
            return messages.conflict(old)
        inner = self.destination.inner(new)
        options = {"overwrite": True} if self.overwrite else {}
        before = (yield from self._read(self.destination, new)) if self.overwrite and self.may_undo else None
        if isinstance(before, ErrorText):
            return messages.cannot_put_back(new)
        result: WriteResult = yield self.call(self.destination, "write", inner, content, **options)
        if result.error is None:
            if result.files_update and not self.from_state:
                return messages.into_state(self.old, self.new)
            self.update.update(result.files_update or {})
            if not result.files_update:
                self._note_copy(new, before)
            return content
        if result.error == messages.exists(inner):
            if (yield from self._read(self.destination, new)) == content:
                return content
            return messages.taken(new) if new == self.new else messages.taken_by_folder(self.new)
        return retell(result.error, self.destination) or ErrorText(result.error)

    def _read(self, mount: Mount, path: str) -> Steps[Any, str | ErrorText | None]:
        """A file's text; None if there is no such file."""
        (found,) = yield self.call(mount, "download_files", [mount.inner(path)])
        if found.content is None:
            return None if found.error == "file_not_found" else retell(found.message, mount) or messages.forbidden(path)
        try:
            return str(found.content, "utf-8")
        except UnicodeDecodeError:
            return messages.not_text(path)

    def _note_copy(self, new: str, before: str | None) -> None:
        """Remember how to undo a copy, and what it replaced."""
        if before is not None:
            self.replaced[new] = before
        elif self.may_undo or not self.overwrite:
            self.made.append(new)

    def _undo(self, problem: ErrorText) -> Steps[Any, ErrorText]:
        """Delete the copies and put back what they replaced, so that nothing has changed; returns why."""
        self.update.clear()
        for path in self.made if self.may_undo else ():
            yield self.call(self.destination, "delete", self.destination.inner(path))
        for path, before in self.replaced.items():
            back: WriteResult = yield self.call(self.destination, "write", self.destination.inner(path), before, overwrite=True)
            if back.error:
                problem = ErrorText(f"{problem} (But {paths.show(path)} is replaced already and could not be put back.)")
        if self.made and not self.may_undo:
            return ErrorText(f"{problem} (A copy is at {paths.show(self.new)}; nothing was deleted.)")
        return problem

    def _updates(self) -> dict[str, Any] | None:
        return self.update or None


def _is_file(rows: Rows | ErrorText, path: str) -> bool:
    return rows == [(path, False)]


def retell(error: str | None, mount: Mount) -> ErrorText | None:
    """A backend's error, with its paths as the caller sees them below the mount."""
    if error is None:
        return None
    if not mount.path:
        return ErrorText(error) if not isinstance(error, ErrorText) else error
    if isinstance(error, paths.PathError):
        return error.below(mount.path)
    if isinstance(error, ErrorText):
        return error
    return ErrorText(f"{error} (From the backend at '{mount.path}/', whose paths start there.)")


def plain_version(path: str, content: str) -> str:
    """The version that most backends give to a text."""
    return text.version_of(content)
