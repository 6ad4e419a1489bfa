"""Deletes and moves files and whole folders on disk.

```
delete a folder   survey it ──> rename it to a reserved name, so that it is gone at once ──> remove what is in it, from the bottom up
move              look at both ends ──> one rename, which never replaces anything unless that was asked for
```

Links are removed or moved as links; nothing is done to what they point to. A deletion that was cut off leaves a folder with a reserved
name, which nobody sees; the next deletion of a folder beside it removes it too.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress

from stepwell.backends.disk.folder import Folder
from stepwell.backends.disk.open import Tree
from stepwell.backends.disk.write import FolderLocks, existing, is_reserved, reserved_name

_TRIES = 5
"""How often a folder is emptied again because somebody writes to it meanwhile."""


class Survey:
    """What is below a folder: how many files, the length of the longest path, in bytes, and the paths of links."""

    def __init__(self) -> None:
        self.files = 0
        self.longest = 0
        self.links: list[str] = []


def survey(tree: Tree, start: Sequence[str], *, removing: bool = False) -> Survey:
    """Look at everything below a folder. With `removing`, raises `PermissionError` for what may not be removed."""
    found = Survey()
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        below = waiting.pop()
        length = sum(len(os.fsencode(name)) + 1 for name in below)
        with tree.enter((*start, *below)) as folder:
            if removing and not folder.writable("."):
                raise PermissionError(errno.EPERM, "a folder that may not be changed")
            for entry in folder.scan():
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((*below, entry.name))
                elif entry.is_symlink():
                    found.links.append("/".join((*below, entry.name)))
                elif entry.is_file(follow_symlinks=False) and not is_reserved(entry.name):
                    found.files += 1
                    found.longest = max(found.longest, length + len(os.fsencode(entry.name)))
                    if removing and not folder.writable(entry.name):
                        raise PermissionError(errno.EPERM, "a file that may not be changed")
    return found


def delete_entry(tree: Tree, locks: FolderLocks, segments: Sequence[str], check_file: Callable[[Folder], None]) -> int:
    """Delete a file or a folder, and return the number of files. `check_file` raises if the file at this name must stay."""
    *above, name = segments
    with tree.enter(above) as folder, locks.hold(folder):
        if not stat.S_ISDIR(folder.stat(name).st_mode):
            existing(folder, name)
            check_file(folder)
            folder.remove(name)
            folder.sync()
            return 1
        check_file(folder)
        found = survey(tree, segments, removing=True)
        doomed = reserved_name()
        folder.replace(name, doomed)
        folder.sync()
        left = [entry.name for entry in folder.scan() if is_reserved(entry.name) and entry.is_dir(follow_symlinks=False)]
    for each in left:
        try:
            _remove_tree(tree, (*above, each))
        except OSError:
            if each == doomed:
                _put_back(tree, above, doomed, name)
                raise
    return found.files


def move_entry(
    tree: Tree,
    locks: FolderLocks,
    source: Sequence[str],
    destination: Sequence[str],
    overwrite: bool,
    check_file: Callable[[Folder], None],
) -> None:
    """Rename a file or a folder. Raises `FileExistsError` if the destination is not free, unless it may be replaced."""
    *above, name = source
    *target_above, target = destination
    with (
        tree.enter(above) as here,
        tree.enter(target_above, create=True) as there,
        locks.hold_both(here, there),
    ):
        if not stat.S_ISDIR(here.stat(name).st_mode):
            existing(here, name)
        check_file(here)
        if overwrite:
            existing(there, target)
        here.hand_over(name, there, target, replace=overwrite)
        here.sync()
        there.sync()


def _remove_tree(tree: Tree, start: Sequence[str]) -> None:
    """Remove a folder and everything in it. What another process has removed already is no error."""
    waiting: list[tuple[tuple[str, ...], int]] = [(tuple(start), 0)]
    while waiting:
        here, tries = waiting.pop()
        with suppress(FileNotFoundError):
            if tries:
                try:
                    with tree.enter(here[:-1]) as above:
                        above.remove_folder(here[-1])
                    continue
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or tries > _TRIES:
                        raise
            waiting.append((here, tries + 1))
            waiting += [((*here, name), 0) for name in _empty(tree, here)]


def _empty(tree: Tree, here: Sequence[str]) -> list[str]:
    """Remove what is directly in a folder and is no folder; returns the names of the folders in it."""
    folders: list[str] = []
    with tree.enter(here) as folder:
        for entry in folder.scan():
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                with suppress(FileNotFoundError):
                    folder.remove(entry.name)
    return folders


def _put_back(tree: Tree, above: Sequence[str], doomed: str, name: str) -> None:
    """Show what could not be removed under its old name, unless somebody has taken that."""
    with suppress(OSError), tree.enter(above) as folder:
        folder.hand_over(doomed, folder, name, replace=False)
