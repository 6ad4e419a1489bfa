"""Maps a path to a spot on disk, and to how that spot is shown.

`paths` checks the text; this module adds what only a tree on disk has: a root, the mode that uses the host's own paths, and the names
of unfinished writes. It touches the disk only once, to check that the root is a folder.

| | `/notes/a.md` means | is shown as |
|---|---|---|
| `virtual_mode=True` | `notes/a.md` below the root | `/notes/a.md` |
| `virtual_mode=False` | refused, unless the root is `/` or `/notes` | as typed; `a.md` and `/` are relative to the root |
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stepwell.backends import messages, paths
from stepwell.backends.disk.write import is_reserved
from stepwell.backends.protocol import ErrorText
from stepwell.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Spot:
    """A valid path: how it is shown, and its segments from the root."""

    shown: str
    segments: tuple[str, ...]

    @property
    def folder(self) -> tuple[str, ...]:
        return self.segments[:-1]

    @property
    def name(self) -> str:
        return self.segments[-1]

    @property
    def below(self) -> str:
        """The prefix with which the names of this folder's children are shown."""
        return self.shown.rstrip("/") + "/"

    @property
    def inner(self) -> str:
        """The path as seen from the root, in either mode."""
        return "/" + "".join(f"{segment}/" for segment in self.segments)

    def shown_at(self, depth: int) -> str:
        """How the first `depth` segments are shown."""
        return "/".join(self.shown.split("/")[: depth - len(self.segments)]) if depth < len(self.segments) else self.shown


class Spots:
    """Turns the paths that a model types into places below one root."""

    def __init__(self, root_dir: str | Path | None, virtual_mode: bool, allowed_prefixes: Sequence[str]) -> None:
        given = os.path.abspath(os.curdir if root_dir is None else root_dir)
        self.root = os.path.realpath(given)
        if not os.path.isdir(self.root):
            raise ConfigurationError(
                f"FilesystemBackend: root_dir {str(root_dir)!r} is not a folder. Create it first, or pass one that exists."
            )
        # Empty in virtual mode, where paths are shown without a prefix.
        self._prefix = "" if virtual_mode else _host_prefix(given)
        self._real_prefix = "" if virtual_mode else self.root.rstrip("/")
        self._virtual = virtual_mode
        self._allowed = tuple(_checked_prefix(prefix) for prefix in allowed_prefixes)

    def resolve(self, raw: object) -> Spot | ErrorText:
        """The spot for a path, or an error."""
        checked = paths.resolve(raw)
        shown = checked if self._virtual or isinstance(checked, ErrorText) else self._below_root(raw, checked)
        if isinstance(shown, ErrorText):
            return shown
        if problem := paths.check_prefixes(shown, self._allowed):
            return problem
        inner = shown[len(self._prefix) :].strip("/")
        spot = Spot(shown, tuple(inner.split("/")) if inner else ())
        if any(segment[0] == "." and is_reserved(segment) for segment in spot.segments):
            return messages.forbidden(shown)
        return spot

    def resolve_file(self, raw: object) -> Spot | ErrorText:
        """Like `resolve`, for verbs that need a file: the root is refused."""
        checked = paths.resolve_file(raw)
        if isinstance(checked, ErrorText):
            return checked
        spot = self.resolve(raw)
        if isinstance(spot, Spot) and not spot.segments:
            return messages.is_folder(spot.shown)
        return spot

    def resolve_entry(self, raw: object) -> Spot | ErrorText:
        """Like `resolve`, for verbs that delete or move: the root is refused."""
        checked = paths.resolve_entry(raw)
        if isinstance(checked, ErrorText):
            return checked
        spot = self.resolve(raw)
        return paths.resolve_entry("/") if isinstance(spot, Spot) and not spot.segments else spot  # type: ignore[return-value]

    def _below_root(self, raw: object, path: str) -> str | ErrorText:
        root = self._prefix or paths.ROOT
        if path == paths.ROOT:
            return root
        if not str(raw).startswith("/"):
            return self._prefix + path
        if paths.is_within(path, root):
            return path
        if paths.is_within(path, self._real_prefix):  # the root was given through a link; both names are valid
            return self._prefix + path[len(self._real_prefix) :]
        return paths.check_prefixes(path, (root,)) or path


def _host_prefix(given: str) -> str:
    """The root as the host writes it, without a trailing slash."""
    if os.name == "nt" or paths.resolve(given) != given:
        raise ConfigurationError(
            "FilesystemBackend: this root_dir cannot be shown with virtual_mode=False, because its own path is not one that "
            "an agent may type. Use virtual_mode=True."
        )
    return given.rstrip("/")


def _checked_prefix(prefix: str) -> str:
    checked = paths.resolve(prefix)
    if isinstance(checked, ErrorText):
        raise ConfigurationError(f"FilesystemBackend: allowed_prefixes cannot hold this path. {checked}")
    return checked
