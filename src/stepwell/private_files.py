"""Folders and files that only their owner may read: databases, keys, uploads, files of workspaces, evidence.

The rights are set and do not depend on the umask. Where a system has no such rights (Windows), the user's own folder protects them.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

FOLDER = 0o700
FILE = 0o600


def make_private_folder(folder: Path) -> None:
    """Make a folder and whatever is missing above it, for the owner alone. What exists stays as it is."""
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
    """A new file to write to, for the owner alone; `FileExistsError` if there is one."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), FILE)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, FILE)
    return os.fdopen(descriptor, "wb")


def close_to_others(place: Path) -> None:
    """Take the rights of others from a file or folder of ours that exists. What belongs to somebody else, a link, and a folder that
    everybody shares (`/tmp`) are left alone."""
    if os.name == "nt":
        return
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        status = place.lstat()
        mode = stat.S_IMODE(status.st_mode)
        shared = stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid() or mode & stat.S_ISVTX
        if mode & 0o077 and not shared:
            place.chmod(mode & ~0o077)
