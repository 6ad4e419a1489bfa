"""Walks the files below a folder, in the order of their paths, for searches.

The walk keeps two descriptors open however deep the tree is, and enters each folder through `Tree.enter`, so it does not follow a link
that appears meanwhile. It leaves out what cannot be used: links, special files, unfinished writes, and names that `paths` refuses.
Folders that cannot be opened are skipped, except the one where the walk starts, because the caller must explain that error.
The walk stops when its time is up.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from stepwell.backends.disk.folder import Folder
from stepwell.backends.disk.open import Tree
from stepwell.backends.disk.write import is_reserved
from stepwell.backends.paths import MAX_PATH_BYTES, MAX_SEGMENT_BYTES, resolve

SEARCH_TIMEOUT_S = 10.0

# Matches names joined by slashes. The quantifiers are possessive, so that a long odd name is not scanned twice.
_PLAIN_NAMES = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*+/++)*+", re.ASCII)


class Deadline:
    """When a search must stop."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, seconds: float = SEARCH_TIMEOUT_S) -> None:
        self._monotonic = monotonic
        self._end = monotonic() + seconds
        self._seconds = seconds
        self.hit = False

    def passed(self) -> bool:
        """Whether the time is up; once it is, `hit` stays set."""
        self.hit = self.hit or self._monotonic() >= self._end
        return self.hit

    def note(self) -> str:
        return f"The search was stopped after {self._seconds:g} s, so files may be missing. Start in a subfolder."


def usable_names(entries: Iterable[os.DirEntry[str]], above: str) -> list[str]:
    """The usable names in a folder, sorted by path; folders end with a slash. `above` is the folder's own path with its slash."""
    names: list[str] = []
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            names.append(entry.name)
        elif entry.is_dir(follow_symlinks=False):
            names.append(entry.name + "/")
    names.sort()
    fits = len(os.fsencode(above)) + MAX_SEGMENT_BYTES <= MAX_PATH_BYTES
    if fits and os.name != "nt" and _PLAIN_NAMES.fullmatch("/".join(names) + "/" if names else ""):
        return names
    return [name for name in names if _usable(name.rstrip("/"), above)]


def _usable(name: str, above: str) -> bool:
    return resolve(above + name) == above + name and not is_reserved(name)


class _Level:
    """A folder on the way down, and how many of its names are done."""

    __slots__ = ("below", "names", "used")

    def __init__(self, below: str, names: list[str]) -> None:
        self.below = below
        self.names = names
        self.used = 0

    def files(self) -> list[str]:
        """The files up to the next folder."""
        start = self.used
        while self.used < len(self.names) and self.names[self.used][-1] != "/":
            self.used += 1
        return self.names[start : self.used]


class Walk:
    """Iterates over (open folder, path relative to the start, names of files in it)."""

    def __init__(self, tree: Tree, start: Sequence[str], deadline: Deadline, *, max_depth: int | None = None) -> None:
        self._tree = tree
        self._start = tuple(start)
        self._deadline = deadline
        self._max_depth = max_depth
        self._folder: Folder | None = None
        self._folder_below: str | None = None

    def __iter__(self) -> Iterator[tuple[Folder, str, list[str]]]:
        try:
            yield from self._batches()
        finally:
            self._leave()

    def _batches(self) -> Iterator[tuple[Folder, str, list[str]]]:
        levels = self._descend("")
        while levels and not self._deadline.passed():
            level = levels[-1]
            files = level.files()
            if files and (folder := self._hold(level.below)):
                yield folder, level.below, files
            if level.used == len(level.names):
                levels.pop()
                continue
            child = level.below + level.names[level.used]
            level.used += 1
            if self._max_depth is None or len(levels) <= self._max_depth:
                levels += self._descend(child)

    def _descend(self, below: str) -> list[_Level]:
        """The level for a folder; empty if it cannot be read."""
        folder = self._hold(below)
        above = "/".join(("", *self._start, below))
        try:
            return [_Level(below, usable_names(folder.scan(), above))] if folder else []
        except OSError:
            if not below:
                raise
            return []

    def _hold(self, below: str) -> Folder | None:
        """The folder at this path. It stays open until another one is requested; if the walk returns to it, it is opened again."""
        if self._folder_below != below:
            self._leave()
            try:
                self._folder = self._tree.enter((*self._start, *below.split("/")[:-1]))
            except OSError:
                if not below:
                    raise
                return None
            self._folder_below = below
        return self._folder

    def _leave(self) -> None:
        folder, self._folder, self._folder_below = self._folder, None, None
        if folder is not None:
            folder.close()
