"""Containment for systems that cannot open a file relative to a folder (Windows).

It is weaker than `open.HeldTree`, and only used where that is not available: a path is checked, used, and checked again. An attacker who
can swap folders of the host between two checks may get one operation through, which is then reported as refused. Links that were in the
tree before never get through.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from stepwell.backends.disk.folder import CREATE_FLAGS, READ_FLAGS, Folder, InTheWayError, file_mode, folder_mode, require_free


class NamedTree:
    """The folders below a root, reached by their paths."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    def enter(self, segments: Sequence[str], *, create: bool = False) -> Folder:
        path = self._root
        for depth, segment in enumerate(segments, 1):
            path = os.path.join(path, segment)
            if create and not os.path.lexists(path):
                _make(path)
            _check_folder(os.lstat(path), depth)
        folder = NamedFolder(path)
        folder.check()
        return folder


class NamedFolder:
    """A folder known by its path; nothing is kept open."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def check(self) -> None:
        """Raise if a link has replaced any folder on the way here."""
        if os.path.normcase(os.path.realpath(self._path)) != os.path.normcase(self._path):
            raise PermissionError(errno.EPERM, "a link on the way")

    def scan(self) -> list[os.DirEntry[str]]:
        self.check()
        with os.scandir(self._path) as entries:
            found = list(entries)
        self.check()
        return found

    def stat(self, name: str) -> os.stat_result:
        self.check()
        return os.lstat(self._at(name))

    def open(self, name: str) -> int:
        self.check()
        return self._check_descriptor(os.open(self._at(name), READ_FLAGS), name)

    def create(self, name: str) -> int:
        self.check()
        return self._check_descriptor(os.open(self._at(name), CREATE_FLAGS, file_mode(os.stat(self._path))), name)

    def replace(self, source: str, target: str) -> None:
        self.check()
        os.replace(self._at(source), self._at(target))
        self.check()

    def place(self, source: str, target: str) -> None:
        self.check()
        if os.name == "nt":
            os.rename(self._at(source), self._at(target))  # on Windows this fails if the target exists
        else:
            os.link(self._at(source), self._at(target), follow_symlinks=False)
            os.unlink(self._at(source))
        self.check()

    def remove(self, name: str) -> None:
        self.check()
        os.unlink(self._at(name))

    def remove_folder(self, name: str) -> None:
        self.check()
        os.rmdir(self._at(name))

    def hand_over(self, name: str, there: Any, target: str, *, replace: bool) -> None:
        self.check()
        there.check()
        if not replace:
            require_free(there, target)
        (os.replace if replace else os.rename)(self._at(name), there._at(target))
        self.check()
        there.check()

    def writable(self, name: str) -> bool:
        return os.access(self._at(name), os.W_OK)

    def sync(self) -> None:
        """Do nothing, because these systems cannot sync a folder."""

    def identity(self) -> tuple[int, int]:
        status = os.lstat(self._path)
        return status.st_dev, status.st_ino

    def descriptor(self) -> int | None:
        return None

    def close(self) -> None:
        """Do nothing, because nothing is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _at(self, name: str) -> str:
        return os.path.join(self._path, name)

    def _check_descriptor(self, descriptor: int, name: str) -> int:
        """Return the descriptor if it really belongs to the name in this folder."""
        try:
            self.check()
            if not os.path.samestat(os.fstat(descriptor), os.lstat(self._at(name))):
                raise PermissionError(errno.EPERM, "swapped while it was opened")
        except OSError:
            os.close(descriptor)
            raise
        return descriptor


def _make(path: str) -> None:
    with suppress(FileExistsError):  # another process may be faster; the result is checked next
        os.mkdir(path, folder_mode(os.stat(os.path.dirname(path))))


def _check_folder(status: os.stat_result, depth: int) -> None:
    if stat.S_ISREG(status.st_mode):
        raise InTheWayError(depth)
    if not stat.S_ISDIR(status.st_mode):
        raise PermissionError(errno.EPERM, "a link or a special file on the way")
