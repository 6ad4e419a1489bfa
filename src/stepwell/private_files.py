"""Folders and files that only their owner may read: databases, keys, uploads, files of workspaces, evidence. `sync_folder` makes their
names survive a power cut.

Permissions are set explicitly and do not depend on the umask. On Windows, which has no such permissions, the user's own folder
protects the files.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

FOLDER = 0o700
FILE = 0o600


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, for the owner alone. Existing folders are not changed."""
    if folder.is_dir():
        return
    if not folder.parent.exists():
        make_private_folder(folder.parent)
    try:
        folder.mkdir(FOLDER)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return
    folder.chmod(FOLDER)


def open_private(file: Path) -> BinaryIO:
    """Create a file for the owner alone and open it for writing; raises `FileExistsError` if it exists."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), FILE)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, FILE)
    return os.fdopen(descriptor, "wb")


def close_to_others(place: Path) -> None:
    """Remove other users' permissions from an existing file or folder of ours. Links, folders that everybody shares (`/tmp`)
    and files of another user are not changed."""
    if os.name == "nt":
        return
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        status = place.lstat()
        mode = stat.S_IMODE(status.st_mode)
        shared = stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid() or mode & stat.S_ISVTX
        if mode & 0o077 and not shared:
            place.chmod(mode & ~0o077)


def others_may_read(file: Path) -> bool:
    """Whether other users of this machine have any permission on an existing file. Always false on Windows, where we cannot tell."""
    return os.name != "nt" and bool(file.stat().st_mode & 0o077)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a file newly created or renamed in it is still there after a power cut."""
    if sys.platform == "win32":  # Windows has no way to do this
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
