"""Files on disk, below one folder and never outside it.

`FilesystemBackend` defines what each verb means; the modules of `disk` do the work: `spots` (what a path means), `open` (how a folder is
reached), `folder` (what can be done in it), `write` (atomic changes, locks), `entries` (delete, move), `walk` and `search` (grep, glob).

Rules to keep: every path goes through `disk.spots`, every open through `Tree.enter`, and every `OSError` through `explain`, which
never repeats what the system said about a path.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from stepwell.backends import messages, text, tree
from stepwell.backends.disk import entries
from stepwell.backends.disk import search as disk_search
from stepwell.backends.disk import write as disk_write
from stepwell.backends.disk.folder import ChangedError, Folder, InTheWayError, TooLargeError, check_regular, read_bytes
from stepwell.backends.disk.open import Containment, tree_at
from stepwell.backends.disk.spots import Spot, Spots
from stepwell.backends.disk.walk import Deadline, Walk, usable_names
from stepwell.backends.paths import MAX_PATH_BYTES, PathError, Place
from stepwell.backends.patterns import TextPattern, compile_glob, compile_text
from stepwell.backends.protocol import (
    DEFAULT_READ_LIMIT,
    DeleteResult,
    EditResult,
    ErrorText,
    FileInfo,
    GrepMatch,
    Listing,
    MoveResult,
    WriteResult,
)
from stepwell.backends.sync_async import SyncBackend
from stepwell.clock import Clock, SystemClock

MAX_EDIT_ATTEMPTS = 5
"""How often an edit is tried if a program that does not use our lock keeps changing the file meanwhile."""

# The errors for a link found while opening, a socket or a device without a driver, and a file system mounted read-only.
_REFUSALS = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.ENODEV, errno.EROFS)


class FilesystemBackend(SyncBackend):
    """Stores files below `root_dir` (default: the current folder).

    With `virtual_mode`, the default, paths start at that root, so that a model sees nothing of the host; without it they are the host's
    own paths, and only those below `root_dir` are allowed. `max_file_size_mb` is deepagents' name for `max_file_bytes`. `fsync` makes each
    write survive a power cut. `containment` selects how paths are kept below the root; "auto" uses the strongest method available.
    """

    blocking: ClassVar[bool] = True

    def __init__(
        self,
        root_dir: str | Path | None = None,
        virtual_mode: bool = True,
        *,
        allowed_prefixes: Sequence[str] = (),
        max_file_bytes: int = 10_000_000,
        max_file_size_mb: float | None = None,
        clock: Clock | None = None,
        fsync: bool = False,
        containment: Containment = "auto",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spots = Spots(root_dir, virtual_mode, allowed_prefixes)
        self._tree = tree_at(self._spots.root, containment)
        self._locks = disk_write.FolderLocks(monotonic)
        self._max_bytes = max_file_bytes if max_file_size_mb is None else int(max_file_size_mb * 1024 * 1024)
        self._clock = clock or SystemClock()
        self._fsync = fsync
        self._monotonic = monotonic

    @property
    def root(self) -> Path:
        """The folder on this machine."""
        return Path(self._spots.root)

    def canonical_path(self, path: str) -> str | ErrorText:
        """The one path under which a file is shown. With `virtual_mode=False`, a file has several."""
        spot = self._spots.resolve(path)
        return spot if isinstance(spot, ErrorText) else spot.shown

    def ls_info(self, path: str) -> list[FileInfo]:
        spot = self._spots.resolve(path)
        if isinstance(spot, ErrorText):
            return Listing(error=spot)
        try:
            lone = self._file_at(spot)
            return Listing([disk_search.file_row(spot.shown, lone)]) if lone else self._list(spot)
        except (OSError, UnicodeError) as error:
            return Listing(error=explain(error, spot, messages.no_folder(spot.shown)))

    def read(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        spot = self._spots.resolve_file(file_path)
        if isinstance(spot, ErrorText):
            return spot
        data = self._bytes_at(spot)
        if isinstance(data, ErrorText):
            return data
        try:
            content = data.decode()
        except UnicodeDecodeError:
            return messages.not_text(spot.shown)
        return text.number_lines(spot.shown, text.split_lines(content), offset, limit)

    def read_whole(self, file_path: str) -> bytes | ErrorText:
        spot = self._spots.resolve_file(file_path)
        return spot if isinstance(spot, ErrorText) else self._bytes_at(spot)

    def mode_of(self, file_path: str) -> int | None:
        """The permission bits of a file; None if there is none."""
        spot = self._spots.resolve_file(file_path)
        try:
            found = None if isinstance(spot, ErrorText) else self._status(spot)
        except (OSError, UnicodeError):
            return None
        return None if found is None else stat.S_IMODE(found.st_mode) & 0o777

    def links_below(self, path: str) -> list[str]:
        """The symbolic links in a folder and below, which no tool shows or follows."""
        spot = self._spots.resolve_entry(path)
        try:
            found = [] if isinstance(spot, ErrorText) else entries.survey(self._tree, spot.segments).links
        except (OSError, UnicodeError):
            return []
        return [f"{path.rstrip('/')}/{link}" for link in sorted(found)]

    def write_whole(self, file_path: str, content: bytes, *, mode: int | None = None) -> WriteResult:
        """Store bytes of any kind, overwriting what is there; a new file gets the `mode`. For programs: a model writes text."""
        spot = self._spots.resolve_file(file_path)
        if isinstance(spot, ErrorText):
            return WriteResult(error=spot)
        try:
            with self._tree.enter(spot.folder, create=True) as folder, self._locks.hold(folder):
                self._put(folder, spot, content, disk_write.existing(folder, spot.name), None, True, mode)
        except (OSError, UnicodeError) as error:
            return WriteResult(error=explain(error, spot, messages.no_file(spot.shown), changing=True))
        return WriteResult(path=spot.shown)

    async def awrite_whole(self, file_path: str, content: bytes, *, mode: int | None = None) -> WriteResult:
        return await asyncio.to_thread(self.write_whole, file_path, content, mode=mode)

    def _bytes_at(self, spot: Spot) -> bytes | ErrorText:
        try:
            with self._tree.enter(spot.folder) as folder:
                return read_bytes(folder, spot.name, self._max_bytes)
        except (OSError, UnicodeError) as error:
            return explain(error, spot, messages.no_file(spot.shown), self._max_bytes)

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        spot = self._spots.resolve("/" if path is None else path)
        if isinstance(spot, ErrorText):
            return spot
        wanted = compile_text(pattern)
        if isinstance(wanted, ErrorText):
            return wanted
        passes = None if glob is None else compile_glob(glob, anywhere=True)
        if isinstance(passes, ErrorText):
            return passes
        try:
            return self._grep(spot, wanted, passes)
        except (OSError, UnicodeError) as error:
            return explain(error, spot, messages.no_folder(spot.shown))

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        spot = self._spots.resolve(path)
        if isinstance(spot, ErrorText):
            return Listing(error=spot)
        matches = compile_glob(pattern)
        if isinstance(matches, ErrorText):
            return Listing(error=matches)
        try:
            if self._file_at(spot):
                return Listing(error=messages.no_folder(spot.shown))
            depth = None if "**" in pattern else pattern.count("/")
            deadline = Deadline(self._monotonic)
            walk = Walk(self._tree, spot.segments, deadline, max_depth=depth)
            return disk_search.find_files(walk, matches, spot.below, deadline)
        except (OSError, UnicodeError) as error:
            return Listing(error=explain(error, spot, messages.no_folder(spot.shown)))

    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        spot = self._spots.resolve_file(file_path)
        if isinstance(spot, ErrorText):
            return WriteResult(error=spot)
        if problem := self._content_complaint(spot, content):
            return WriteResult(error=problem)
        try:
            problem = self._write(spot, content, overwrite, expected_version)
        except (OSError, UnicodeError) as error:
            gone = messages.unavailable(spot.shown, "its folder is gone")
            problem = explain(
                error,
                spot,
                gone if expected_version is None else messages.conflict(spot.shown),
                self._max_bytes,
                changing=True,
            )
        if problem:
            return WriteResult(error=problem)
        return WriteResult(path=spot.shown, version=text.version_of(content))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        spot = self._spots.resolve_file(file_path)
        if isinstance(spot, ErrorText):
            return EditResult(error=spot)
        for part in (old_string, new_string):
            if problem := text.content_complaint(spot.shown, part):
                return EditResult(error=problem)
        for _ in range(MAX_EDIT_ATTEMPTS):
            try:
                return self._edit(spot, old_string, new_string, replace_all, expected_version)
            except ChangedError:
                continue
            except (OSError, UnicodeError) as error:
                missing = messages.no_file(spot.shown)
                return EditResult(error=explain(error, spot, missing, self._max_bytes, changing=True))
        return EditResult(error=messages.conflict(spot.shown))

    def delete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        spot = self._spots.resolve_entry(file_path)
        if isinstance(spot, ErrorText):
            return DeleteResult(error=spot)
        try:
            count = entries.delete_entry(self._tree, self._locks, spot.segments, self._version_check(spot, expected_version))
        except (OSError, UnicodeError) as error:
            return DeleteResult(error=explain(error, spot, messages.nothing_there(spot.shown), self._max_bytes))
        return DeleteResult(path=spot.shown, count=count)

    def move(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        old, new = self._spots.resolve_entry(source), self._spots.resolve_entry(destination)
        if isinstance(old, ErrorText) or isinstance(new, ErrorText):
            return MoveResult(error=old if isinstance(old, ErrorText) else new)  # type: ignore[arg-type]
        try:
            count = self._check_move(old, new, overwrite)
        except (OSError, UnicodeError) as error:
            return MoveResult(error=explain(error, old, messages.nothing_there(old.shown)))
        if isinstance(count, ErrorText):
            return MoveResult(error=count)
        try:
            checked = self._version_check(old, expected_version)
            entries.move_entry(self._tree, self._locks, old.segments, new.segments, overwrite, checked)
        except FileExistsError:
            return MoveResult(error=messages.taken(new.shown))
        except (OSError, UnicodeError) as error:
            return MoveResult(error=explain(error, old, messages.nothing_there(old.shown), self._max_bytes))
        return MoveResult(path=new.shown, count=count)

    def _check_move(self, old: Spot, new: Spot, overwrite: bool) -> int | ErrorText:
        """How many files a move concerns, or why it cannot be made."""
        if problem := tree.move_complaint(old.shown, new.shown):
            return problem
        try:
            source = self._status(old)
        except NotADirectoryError:
            source = None
        try:
            target = self._status(new)
        except OSError as error:
            gone = messages.nothing_there(old.shown)
            return explain(error, new, gone, changing=True) if source else gone
        if source is None:
            return messages.moved_already(old.shown, new.shown) if target else messages.nothing_there(old.shown)
        moves_file = not stat.S_ISDIR(source.st_mode)
        if moves_file:
            check_regular(source)
        is_folder = target is not None and stat.S_ISDIR(target.st_mode)
        is_file = target is not None and not is_folder
        if problem := tree.landing_complaint(new.shown, moves_file, overwrite, is_file=is_file, is_folder=is_folder):
            return problem
        if moves_file:
            return 1
        found = entries.survey(self._tree, old.segments)
        if len(new.below.encode()) + found.longest > MAX_PATH_BYTES:
            return messages.path_too_long(new.shown)
        return found.files

    def _status(self, spot: Spot) -> os.stat_result | None:
        """The status of what is at a spot; None if nothing is. Raises `InTheWayError` for a path below a file."""
        try:
            with self._tree.enter(spot.folder) as folder:
                return folder.stat(spot.name)
        except FileNotFoundError:
            return None

    def _version_check(self, spot: Spot, expected: str | None) -> Callable[[Folder], None]:
        """Raises `ChangedError` if a version is expected, and the spot is not a file at that version."""

        def check(folder: Folder) -> None:
            if expected is None:
                return
            try:
                version = _version_of(read_bytes(folder, spot.name, self._max_bytes))
            except (IsADirectoryError, TooLargeError):
                version = None
            if version != expected:
                raise ChangedError("changed in between")

        return check

    def _file_at(self, spot: Spot) -> os.stat_result | None:
        """The status of the file at a spot; None if a folder is there. Raises `OSError` if neither is."""
        if not spot.segments:
            return None
        with self._tree.enter(spot.folder) as folder:
            status = folder.stat(spot.name)
        if stat.S_ISDIR(status.st_mode):
            return None
        check_regular(status)
        return status

    def _list(self, spot: Spot) -> Listing:
        rows = Listing()
        with self._tree.enter(spot.segments) as folder:
            for name in usable_names(folder.scan(), spot.inner):
                if name[-1] == "/":
                    rows.append(tree.folder_row(spot.below + name))
                    continue
                try:
                    status = folder.stat(name)
                except FileNotFoundError:
                    continue  # deleted since the folder was read
                if disk_search.is_single(status):
                    rows.append(disk_search.file_row(spot.below + name, status))
        return rows

    def _grep(self, spot: Spot, wanted: TextPattern, passes: Callable[[str], bool] | None) -> list[GrepMatch]:
        deadline = Deadline(self._monotonic)
        if self._file_at(spot):
            with self._tree.enter(spot.folder) as folder:
                return disk_search.grep_one(folder, spot.name, spot.shown, wanted, passes, deadline)
        walk = Walk(self._tree, spot.segments, deadline)
        return disk_search.grep_tree(walk, wanted, passes, spot.below, deadline)

    def _write(self, spot: Spot, content: str, overwrite: bool, expected_version: str | None) -> ErrorText | None:
        with self._tree.enter(spot.folder, create=expected_version is None) as folder, self._locks.hold(folder):
            before = disk_write.existing(folder, spot.name)
            if before is not None and not overwrite:
                return messages.exists(spot.shown)
            read = None
            if expected_version is not None:
                read = read_bytes(folder, spot.name, self._max_bytes)
                if _version_of(read) != expected_version:
                    return messages.conflict(spot.shown)
            self._put(folder, spot, content, before, read, overwrite)
        return None

    def _edit(self, spot: Spot, old: str, new: str, replace_all: bool, expected_version: str | None) -> EditResult:
        with self._tree.enter(spot.folder) as folder, self._locks.hold(folder):
            before = disk_write.existing(folder, spot.name)
            read = read_bytes(folder, spot.name, self._max_bytes)
            try:
                current = read.decode()
            except UnicodeDecodeError:
                return EditResult(error=messages.not_text(spot.shown))
            if expected_version is not None and text.version_of(current) != expected_version:
                return EditResult(error=messages.conflict(spot.shown))
            outcome = text.replace_exact(spot.shown, current, old, new, replace_all)
            if isinstance(outcome, ErrorText):
                return EditResult(error=outcome)
            edited, count = outcome
            if problem := self._content_complaint(spot, edited):
                return EditResult(error=problem)
            self._put(folder, spot, edited, before, read, True)
        return EditResult(path=spot.shown, occurrences=count, version=text.version_of(edited))

    def _put(
        self,
        folder: Folder,
        spot: Spot,
        content: str | bytes,
        before: os.stat_result | None,
        read: bytes | None,
        replace: bool,
        mode: int | None = None,
    ) -> None:
        modified_ns = int(self._clock.now().timestamp() * 1_000_000) * 1000
        disk_write.put(
            folder,
            spot.name,
            content.encode() if isinstance(content, str) else content,
            before=before,
            read=read,
            replace=replace,
            modified_ns=modified_ns,
            fsync=self._fsync,
            mode=mode,
        )

    def _content_complaint(self, spot: Spot, content: object) -> ErrorText | None:
        if problem := text.content_complaint(spot.shown, content):
            return problem
        size = len(str(content).encode())
        if size <= self._max_bytes:
            return None
        return PathError(
            "Error: the content for ",
            Place(spot.shown),
            f" has {size:,} bytes; at most {self._max_bytes:,} fit. Split it into several files.",
        )


def explain(error: Exception, spot: Spot, missing: ErrorText, limit: int = 0, *, changing: bool = False) -> ErrorText:
    """The disk's error in words for the model. `missing` is the message if there is nothing at the spot."""
    match error:
        case InTheWayError() if changing:
            return messages.below_file(spot.shown, spot.shown_at(error.depth))
        case FileNotFoundError() if not spot.segments:
            return messages.unavailable(spot.shown, "its folder is gone")
        case FileNotFoundError() | NotADirectoryError():
            return missing
        case IsADirectoryError():
            return messages.is_folder(spot.shown)
        case FileExistsError():
            return messages.exists(spot.shown)
        case ChangedError():
            return messages.conflict(spot.shown)
        case TooLargeError():
            return messages.too_large(spot.shown, error.size, limit)
        case TimeoutError():
            return messages.unavailable(spot.shown, "others keep writing to its folder")
        case PermissionError():
            return messages.forbidden(spot.shown)
        case OSError() if error.errno in _REFUSALS:
            return messages.forbidden(spot.shown)
        case OSError() if error.errno is not None:
            return messages.unavailable(spot.shown, os.strerror(error.errno).lower())
    return messages.unavailable(spot.shown, "the disk did not answer as expected")


def _version_of(data: bytes) -> str | None:
    """The version of a file's text; None if it is not text."""
    try:
        return text.version_of(data.decode())
    except UnicodeDecodeError:
        return None
