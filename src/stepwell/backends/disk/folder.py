"""An open folder on disk, and the operations on names directly in it.

`Folder` is the seam between the verbs and the host. An open `Folder` is always inside the root; each of its methods takes one name,
never a path, and never follows a link. There are two implementations:

| form | identified by | strength |
|---|---|---|
| `HeldFolder` | a file descriptor | still the same folder if any folder above it is moved or swapped |
| `portable.NamedFolder` | its path | checked before and after each step; for systems without folder descriptors |

Failures are `OSError`s, so that one place (`filesystem.explain`) can put them into words: `PermissionError` for what is never allowed,
`InTheWayError` for a file where a folder should be, `TooLargeError`, `ChangedError`.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from functools import lru_cache
from types import TracebackType
from typing import Any, Protocol, Self

# O_NONBLOCK, because opening a pipe must not wait for its other end. If a system lacks a flag, it does not need it.
READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_RENAME_NOREPLACE = 1
_CHUNK = 1 << 20


class InTheWayError(NotADirectoryError):
    """A file is where the path needs a folder."""

    def __init__(self, depth: int) -> None:
        super().__init__(errno.ENOTDIR, "a file is in the way")
        self.depth = depth
        """The number of path segments that lead to that file."""


class TooLargeError(OSError):
    """A file has more bytes than may be read at once."""

    def __init__(self, size: int) -> None:
        super().__init__(errno.EFBIG, "the file is too large")
        self.size = size


class ChangedError(OSError):
    """A file has changed since it was read."""


def file_mode(folder: os.stat_result) -> int:
    """The mode of a new file. Users who may not look into its folder may not read the file either; the umask removes more rights."""
    return folder.st_mode & 0o666


def folder_mode(above: os.stat_result) -> int:
    """The mode of a new folder, by the same rule as `file_mode`."""
    return above.st_mode & 0o777


class Folder(Protocol):
    """A folder, open until `close`, and its direct children."""

    def scan(self) -> list[os.DirEntry[str]]: ...

    def stat(self, name: str) -> os.stat_result: ...

    def open(self, name: str) -> int:
        """A descriptor for reading. The caller must check what was opened (see `check_regular`)."""
        ...

    def create(self, name: str) -> int:
        """A descriptor for writing to a new, empty file."""
        ...

    def replace(self, source: str, target: str) -> None: ...

    def place(self, source: str, target: str) -> None:
        """Rename to a name that must be free; raises `FileExistsError` if another writer was faster."""
        ...

    def remove(self, name: str) -> None: ...

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""
        ...

    def hand_over(self, name: str, there: Any, target: str, *, replace: bool) -> None:
        """Rename to a name in another open folder of the same tree. That name must be free, unless a file may be replaced."""
        ...

    def writable(self, name: str) -> bool: ...

    def sync(self) -> None:
        """Make the folder's own entries survive a power cut, if the system can."""
        ...

    def identity(self) -> tuple[int, int]: ...

    def descriptor(self) -> int | None:
        """A descriptor for an advisory lock, if there is one."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


def check_regular(status: os.stat_result) -> None:
    """Raise an error unless this is an ordinary file with one name. If a file has a second name, that may be outside the root."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder")
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise PermissionError(errno.EPERM, "a link or a special file")


def read_bytes(folder: Folder, name: str, limit: int) -> bytes:
    """All bytes of a file, or an error."""
    check_regular(folder.stat(name))  # first, because merely opening a device can trigger it
    descriptor = folder.open(name)
    try:
        status = os.fstat(descriptor)
        check_regular(status)
        if status.st_size > limit:
            raise TooLargeError(status.st_size)
        parts = []
        total = 0
        while total <= limit and (part := os.read(descriptor, min(_CHUNK, limit + 1))):
            parts.append(part)
            total += len(part)
        if total > limit:
            raise TooLargeError(total)
        return b"".join(parts)
    finally:
        os.close(descriptor)


class HeldFolder:
    """A folder held by its descriptor."""

    __slots__ = ("_fd",)

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor

    def scan(self) -> list[os.DirEntry[str]]:
        with os.scandir(self._fd) as entries:
            return list(entries)

    def stat(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self._fd, follow_symlinks=False)

    def open(self, name: str) -> int:
        return os.open(name, READ_FLAGS, dir_fd=self._fd)

    def create(self, name: str) -> int:
        return os.open(name, CREATE_FLAGS, file_mode(os.fstat(self._fd)), dir_fd=self._fd)

    def replace(self, source: str, target: str) -> None:
        os.replace(source, target, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def place(self, source: str, target: str) -> None:
        if _rename_to_free(self._fd, source, self._fd, target):
            return
        # Also used if the file system lacks that call. For a moment the file has two names, so readers refuse it.
        os.link(source, target, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)
        os.unlink(source, dir_fd=self._fd)

    def remove(self, name: str) -> None:
        os.unlink(name, dir_fd=self._fd)

    def remove_folder(self, name: str) -> None:
        os.rmdir(name, dir_fd=self._fd)

    def hand_over(self, name: str, there: Any, target: str, *, replace: bool) -> None:
        if not replace:
            if _rename_to_free(self._fd, name, there.descriptor(), target):
                return
            require_free(there, target)
        os.rename(name, target, src_dir_fd=self._fd, dst_dir_fd=there.descriptor())

    def writable(self, name: str) -> bool:
        return os.access(name, os.W_OK, dir_fd=self._fd)

    def sync(self) -> None:
        with suppress(OSError):  # some file systems cannot sync a folder, and have nothing to sync
            os.fsync(self._fd)

    def identity(self) -> tuple[int, int]:
        status = os.fstat(self._fd)
        return status.st_dev, status.st_ino

    def descriptor(self) -> int | None:
        return self._fd

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def require_free(folder: Folder, name: str) -> None:
    """Raise `FileExistsError` if there is anything of this name."""
    try:
        folder.stat(name)
    except FileNotFoundError:
        return
    raise FileExistsError(errno.EEXIST, "it exists already")


def _rename_to_free(source_fd: int, source: str, target_fd: int, target: str) -> bool:
    """Rename in one call that never overwrites. False if it did not work, or if the system lacks that call."""
    rename = _renameat2()
    return rename is not None and rename(source_fd, os.fsencode(source), target_fd, os.fsencode(target), _RENAME_NOREPLACE) == 0


@lru_cache(maxsize=1)
def _renameat2() -> Any:
    """Linux's rename that never overwrites, or None."""
    if sys.platform != "linux":
        return None
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function
