"""Opens folders below a root in such a way that nothing on the path can lead outside.

Checking first and opening afterwards is a race: an attacker can swap a folder for a link in between. So the kernel decides while it
opens:

```
openat2(root, "a/b", BENEATH | NO_SYMLINKS | NO_MAGICLINKS)        Linux 5.6 and later: one call
└─ refused or missing: step by step, each open relative to the last,  every POSIX system; also finds *what* was wrong
   with O_NOFOLLOW | O_DIRECTORY
   └─ not available: `portable`                                      checked before and after; weaker
```

Links are refused wherever they point. If the path of the root itself contains links, that is the host's choice; they are resolved once.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Literal, Protocol

from stepwell.backends.disk.folder import Folder, HeldFolder, InTheWayError, folder_mode
from stepwell.backends.disk.portable import NamedTree

Containment = Literal["auto", "openat2", "walk", "portable"]

_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_ROOT_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_RESOLVE = 0x02 | 0x04 | 0x08  # NO_MAGICLINKS, NO_SYMLINKS, BENEATH
_OPENAT2 = 437  # the same number on every architecture that Python runs on


class Tree(Protocol):
    """The folders below one root."""

    def enter(self, segments: Sequence[str], *, create: bool = False) -> Folder:
        """Open the folder that the segments name from the root; with `create`, make missing folders."""
        ...


def tree_at(root: str, containment: Containment = "auto") -> Tree:
    """The tree with the strongest method of opening that this system has, or with the requested one."""
    if containment == "portable" or (containment == "auto" and not _has_descriptors()):
        return NamedTree(root)
    return HeldTree(root, beneath=containment != "walk")


class HeldTree:
    """The folders below a root, reached from descriptor to descriptor."""

    def __init__(self, root: str, *, beneath: bool = True) -> None:
        self._root = os.path.realpath(root)
        self._beneath = beneath

    def enter(self, segments: Sequence[str], *, create: bool = False) -> Folder:
        here = os.open(self._root, _ROOT_FLAGS)
        if not segments:
            return HeldFolder(here)
        try:
            there = self._at_once(here, segments)
        except OSError:
            return HeldFolder(_walk(here, segments, create))
        os.close(here)
        return HeldFolder(there)

    def _at_once(self, root: int, segments: Sequence[str]) -> int:
        open_beneath = _openat2() if self._beneath else None
        if open_beneath is None:
            raise OSError(errno.ENOSYS, "no openat2")
        try:
            return open_beneath(root, "/".join(segments))
        except OSError as error:
            if error.errno in (errno.ENOSYS, errno.EPERM):
                self._beneath = False  # an old kernel, or a sandbox that forbids the call: do not try again
            raise


def _walk(here: int, segments: Sequence[str], create: bool) -> int:
    """Returns the last folder's descriptor, and closes `here` and the descriptors in between."""
    for depth, name in enumerate(segments, 1):
        try:
            there = _step(here, name, depth, create)
        finally:
            os.close(here)
        here = there
    return here


def _step(here: int, name: str, depth: int, create: bool) -> int:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=here)
    except FileNotFoundError:
        if not create:
            raise
        with suppress(FileExistsError):  # another process may be faster; the code below checks what it made
            os.mkdir(name, folder_mode(os.fstat(here)), dir_fd=here)
        return _step(here, name, depth, create=False)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
            raise
    # Systems report a link with different errors, so we check what is there.
    if stat.S_ISREG(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
        raise InTheWayError(depth)
    raise PermissionError(errno.EPERM, "a link or a special file on the way")


def _has_descriptors() -> bool:
    needed = {os.open, os.stat, os.mkdir, os.unlink, os.rename, os.link}
    return (
        hasattr(os, "O_NOFOLLOW")
        and hasattr(os, "O_DIRECTORY")
        and needed <= os.supports_dir_fd
        and os.scandir in os.supports_fd
    )


@lru_cache(maxsize=1)
def _openat2() -> Callable[[int, str], int] | None:
    """A function that opens a folder strictly below another one, or None if the system has no such call."""
    if sys.platform != "linux":
        return None
    import ctypes

    class How(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    how = How(_FOLDER_FLAGS, 0, _RESOLVE)
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    pointer, size = ctypes.byref(how), ctypes.sizeof(how)

    def open_beneath(root: int, path: str) -> int:
        found: int = syscall(_OPENAT2, root, os.fsencode(path), pointer, size)
        if found < 0:
            raise OSError(ctypes.get_errno(), "openat2 refused")
        return found

    return open_beneath
