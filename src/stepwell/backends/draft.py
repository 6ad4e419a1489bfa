"""The files of an agent's state as the earlier tool calls of the same turn will leave them.

LangGraph applies the updates of a turn's calls after all of them have run, so a call finds the state before the turn. What the calls
before it asked for is known (`turn`), and a `Draft` carries it out on paper. A call that would be refused changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.backends import changes, text, tree
from stepwell.backends.changes import StoredFile
from stepwell.backends.protocol import ErrorText
from stepwell.backends.turn import PlannedChange, earlier_changes


class Draft:
    """The files below `prefix`, by the paths that a backend shows, after the earlier calls. `own` are those in the agent's own state, by
    their whole paths; the rest are its parent's."""

    def __init__(self, files: Mapping[str, StoredFile], prefix: str, own: Mapping[str, StoredFile]) -> None:
        self.files = files
        """The files that are there. The content of a changed one is in `text`."""
        self._prefix = prefix
        self._own = own
        self._texts: dict[str, str | None] = {}
        for change in earlier_changes():
            self._carry_out(change)

    def text(self, path: str) -> str | None:
        """A file's text; None if there is no such file."""
        if path in self._texts:
            return self._texts[path]
        file = self.files.get(path)
        return None if file is None else changes.text_of(file)

    def is_own(self, path: str) -> bool:
        """Whether the file is in the agent's own state."""
        return self._prefix + path in self._own

    def is_changed(self, path: str) -> bool:
        """Whether an earlier call changed the file. A refused call changed nothing."""
        return path in self._texts

    def _carry_out(self, change: PlannedChange) -> None:
        path = self._inner(change.path)
        if change.destination is not None:
            self._move(path, self._inner(change.destination), change.overwrite)
        elif path is None:
            return
        elif change.new is None:
            for each in tree.files_at(self.files, path):
                self._set(each, None)
        elif change.old is not None:
            self._edit(path, change.old, change.new, change.replace_all)
        elif path in self.files:
            if change.overwrite:
                self._set(path, change.new)
        elif not tree.placement_problem(self.files, path):
            self._set(path, change.new)

    def _edit(self, path: str, old: str, new: str, replace_all: bool) -> None:
        current = self.text(path)
        outcome = None if current is None else text.replace_exact(path, current, old, new, replace_all)
        if outcome is not None and not isinstance(outcome, ErrorText):
            self._set(path, outcome[0])

    def _move(self, source: str | None, destination: str | None, overwrite: bool) -> None:
        if source is None:
            return  # from another backend: its text is not known here, and the file is there in the next turn
        if destination is None:
            for each in tree.files_at(self.files, source):
                self._set(each, None)
            return
        planned = tree.plan_move(self.files, source, destination, overwrite)
        for old, new in () if isinstance(planned, ErrorText) else planned:
            moved = self.text(old)
            self._set(old, None)
            self._set(new, moved)

    def _set(self, path: str, content: str | None) -> None:
        if not self._texts:
            self.files = dict(self.files)
        self._texts[path] = content
        assert isinstance(self.files, dict)  # noqa: S101 - copied above
        if content is None:
            self.files.pop(path, None)
        else:
            self.files[path] = {"content": [], "created_at": "", "modified_at": ""}

    def _inner(self, path: str) -> str | None:
        return path[len(self._prefix) :] if path.startswith(self._prefix + "/") else None
