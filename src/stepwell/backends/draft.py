"""The files of an agent's state as the earlier tool calls of the same turn leave them.

LangGraph applies the updates of a turn's calls after all of them have run, so a call finds the state before the turn. The updates that
the calls before it returned are known (`turn`), and a `Draft` applies them with the channel's own reducer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stepwell.backends import changes, text
from stepwell.backends.changes import StoredFile
from stepwell.backends.turn import earlier_updates

Shown = Callable[[Mapping[str, StoredFile]], Mapping[str, StoredFile]]
"""Picks the files that a backend shows from those in its agent's own state, by the paths that it shows."""


class Draft:
    """The files below `prefix` after the earlier calls. `own` are those in the agent's own state, by their whole paths."""

    def __init__(self, own: Mapping[str, StoredFile] | None, prefix: str, shown: Shown) -> None:
        updates = earlier_updates()
        self._own = changes.reduce_files(dict(own or {}), updates) if updates else own or {}
        self._prefix = prefix
        self.files = shown(self._own)
        """The files that are there, by their shown paths."""

    def text(self, path: str) -> str | None:
        """A file's text; None if there is no such file."""
        file = self.files.get(path)
        return None if file is None else changes.text_of(file)

    def stored_version(self, path: str) -> str | None:
        """The file's version in the channel when this call's change will be applied; None if the channel will not have the file."""
        file = self._own.get(self._prefix + path)
        return None if file is None or changes.is_deleted(file) else text.version_of(changes.text_of(file))
