"""grep and glob over a tree on disk.

We search bytes first and decode only files with a hit, because most files have none. Every opened file is checked before it is read:
links, files with several names, special files and files that are not text are skipped.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from stepwell.backends.disk.folder import Folder
from stepwell.backends.disk.walk import Deadline, Walk
from stepwell.backends.patterns import ByteFinder, TextPattern, byte_finder
from stepwell.backends.protocol import FileInfo, GrepMatch, Listing, Matches
from stepwell.backends.tree import MAX_FOUND, MAX_MATCHES, found_note, matches_note

_BLOCK = 4 << 20
_KIND = 0o170000  # the file-type bits of a mode, the same everywhere Python runs
_LONGEST_LINE = 64 << 20


def file_row(path: str, status: os.stat_result) -> FileInfo:
    """A file's row in a listing."""
    return {
        "path": path,
        "is_dir": False,
        "size": status.st_size,
        "modified_at": _moment(status.st_mtime_ns),
        # The time of the last change of anything about the file, which no program can set, and another number for another file.
        "version": f"{status.st_ctime_ns:x}-{status.st_mtime_ns:x}-{status.st_ino:x}-{status.st_size:x}",
    }


# Cached, because formatting a time costs as much as reading it from the disk, and most files keep their time between two searches.
@lru_cache(maxsize=2 * MAX_FOUND)
def _moment(nanoseconds: int) -> str:
    try:
        whole = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    except (OverflowError, ValueError, OSError):  # a file may claim any time
        return ""
    return whole.replace(microsecond=nanoseconds // 1_000 % 1_000_000).isoformat()


def is_single(status: os.stat_result) -> bool:
    """Whether this is an ordinary file with one name."""
    return status.st_nlink == 1 and status.st_mode & _KIND == stat.S_IFREG


def find_files(walk: Walk, matches: Callable[[str], bool], shown: str, deadline: Deadline) -> Listing:
    """The files whose path relative to the start of the walk matches; `shown` is prepended to each path."""
    rows: list[FileInfo] = []
    for folder, below, names in walk:
        for name in names:
            if not matches(below + name):
                continue
            try:
                status = folder.stat(name)
            except OSError:
                continue
            if is_single(status):
                rows.append(file_row(f"{shown}{below}{name}", status))
        if len(rows) > MAX_FOUND:
            return Listing(rows[:MAX_FOUND], note=found_note())
    return Listing(rows, note=deadline.note() if deadline.hit else None)


def grep_tree(walk: Walk, wanted: TextPattern, passes: Callable[[str], bool] | None, shown: str, deadline: Deadline) -> Matches:
    """The matching lines in those files below the start of the walk that match a glob."""
    finder = byte_finder(wanted)
    rows: list[GrepMatch] = []
    for folder, below, names in walk:
        for name in names:
            if passes is not None and not passes(below + name):
                continue
            rows += grep_file(folder, name, f"{shown}{below}{name}", wanted, finder, deadline)
            if len(rows) > MAX_MATCHES:
                return Matches(rows[:MAX_MATCHES], note=matches_note())
            if deadline.passed():
                break
    return Matches(rows, note=deadline.note() if deadline.hit else None)


def grep_one(
    folder: Folder, name: str, path: str, wanted: TextPattern, passes: Callable[[str], bool] | None, deadline: Deadline
) -> Matches:
    """The matching lines of one file that was named directly, if it matches the glob."""
    if passes is not None and not passes(name):
        return Matches()
    rows = grep_file(folder, name, path, wanted, byte_finder(wanted), deadline)
    if len(rows) > MAX_MATCHES:
        return Matches(rows[:MAX_MATCHES], note=matches_note())
    return Matches(rows, note=deadline.note() if deadline.hit else None)


def grep_file(
    folder: Folder, name: str, path: str, wanted: TextPattern, finder: ByteFinder, deadline: Deadline
) -> Sequence[GrepMatch]:
    """One file's matching lines, at most one more than will be shown; empty if it is not a readable text file."""
    try:
        descriptor = folder.open(name)
    except OSError:
        return ()
    try:
        status = os.fstat(descriptor)
        if not is_single(status) or status.st_size == 0:
            return ()
        if status.st_size < _BLOCK:
            data = os.read(descriptor, status.st_size)
            return _rows(data, 1, path, wanted, finder, deadline) if finder(data, 0) >= 0 else ()
        return _rows_of_large(descriptor, path, wanted, finder, deadline)
    except (OSError, UnicodeDecodeError):
        return ()
    finally:
        os.close(descriptor)


def _rows(
    data: bytes, first_line: int, path: str, wanted: TextPattern, finder: ByteFinder, deadline: Deadline
) -> list[GrepMatch]:
    """Rows for the matching lines in a block of whole lines."""
    data.decode()  # a file with a hit must be text throughout
    rows: list[GrepMatch] = []
    number, counted, start = first_line, 0, 0
    while start < len(data) and len(rows) <= MAX_MATCHES:
        hit = finder(data, start)
        if hit < 0:
            break
        line_start = max(start, data.rfind(b"\n", start, hit) + 1)
        if line_start >= len(data):  # nothing follows the last newline
            break
        end = data.find(b"\n", hit)
        end = len(data) if end < 0 else end
        number += data.count(b"\n", counted, line_start)
        counted = line_start
        line = data[line_start:end].decode()
        if span := wanted.find(line):
            rows.append(
                {"path": path, "line_number": number, "line_content": line, "match_start": span[0], "match_end": span[1]}
            )
        elif deadline.passed():
            break
        start = end + 1
    return rows


def _rows_of_large(descriptor: int, path: str, wanted: TextPattern, finder: ByteFinder, deadline: Deadline) -> list[GrepMatch]:
    rows: list[GrepMatch] = []
    line = 1
    for data in _blocks_of_lines(descriptor):
        if finder(data, 0) >= 0:
            rows += _rows(data, line, path, wanted, finder, deadline)
        if len(rows) > MAX_MATCHES or deadline.passed():
            break
        line += data.count(b"\n")
    return rows


def _blocks_of_lines(descriptor: int) -> Iterator[bytes]:
    """A file in blocks that end at line ends, so that memory stays limited; only a giant line is cut."""
    rest = b""
    while block := os.read(descriptor, _BLOCK):
        data = rest + block
        cut = data.rfind(b"\n") + 1
        if cut == 0 and len(data) >= _LONGEST_LINE:
            cut = len(data)
        if cut:
            yield data[:cut]
        rest = data[cut:]
    if rest:
        yield rest
