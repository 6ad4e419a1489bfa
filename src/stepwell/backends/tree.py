"""The reading verbs of backends that have their files in memory: a tree of text files is a mapping from path to `FileData`.

These are pure functions. They take paths that `paths.resolve` has accepted, and check patterns themselves. Storing, locking and checking
prefixes is the backend's job.

These rules also hold for the backend on disk, and the conformance suite checks them:

- Folders exist because there are files below them. Their rows end with `/`, have size 0 and no time.
- Rows are sorted by path. A file's size is that of its UTF-8 bytes.
- `glob` sees only files, and matches their paths relative to its folder; `grep` may start at a single file.
- A search that starts at a path that does not exist returns an error.

Searching five thousand files must be about as fast as a bare loop, so patterns are compiled once, and rows are built only for matches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from stepwell.backends import messages
from stepwell.backends.paths import MAX_PATH_BYTES, ROOT, is_within, parents, relative
from stepwell.backends.patterns import Endings, TextPattern, compile_glob, compile_text
from stepwell.backends.protocol import ErrorText, FileData, FileInfo, GrepMatch, Listing, Matches
from stepwell.backends.text import join_lines, number_lines

MAX_MATCHES = 1_000
MAX_FOUND = 10_000

Files = Mapping[str, FileData]


def list_folder(files: Files, path: str) -> Listing:
    """The direct children of a folder; a file is listed as itself."""
    prefix = _prefix(path)
    start = len(prefix)
    folders: set[str] = set()
    rows: list[FileInfo] = []
    for name in files:
        if not name.startswith(prefix):
            continue
        cut = name.find("/", start)
        if cut < 0:
            rows.append(file_row(name, files[name]))
        else:
            folders.add(name[: cut + 1])
    if not rows and not folders:
        return _lone_file(files, path)
    rows.extend(folder_row(folder) for folder in folders)
    return Listing(sorted(rows, key=_path_of))


def find(files: Files, pattern: object, path: str) -> Listing:
    """The files below a folder whose path relative to it matches a glob."""
    matches = compile_glob(pattern)
    if isinstance(matches, ErrorText):
        return Listing(error=matches)
    prefix = _prefix(path)
    start = len(prefix)
    if isinstance(matches, Endings):
        names = [name for name in files if name.endswith(matches.endings) and name.startswith(prefix)]
    elif path == ROOT:
        names = [name for name in files if matches(name[1:])]
    else:
        names = [name for name in files if name.startswith(prefix) and matches(name[start:])]
    if not names and (problem := _not_a_folder(files, path)):
        return Listing(error=problem)
    names.sort()
    rows = [file_row(name, files[name]) for name in names[:MAX_FOUND]]
    return Listing(rows, note=found_note() if len(names) > MAX_FOUND else None)


def search(files: Files, pattern: object, path: str, glob: object = None) -> Matches | ErrorText:
    """The matching lines in those files below a folder (or in the one file) that match a glob."""
    wanted = compile_text(pattern)
    if isinstance(wanted, ErrorText):
        return wanted
    passes = compile_glob(glob, anywhere=True) if glob is not None else None
    if isinstance(passes, ErrorText):
        return passes
    candidates = _candidates(files, path, passes)
    if not candidates and (problem := _not_there(files, path)):
        return problem
    names = sorted(_holding(candidates, wanted))
    rows: list[GrepMatch] = []
    for name in names:
        collect(rows, name, lines_of(files[name]), wanted)
        if len(rows) > MAX_MATCHES:
            return Matches(rows[:MAX_MATCHES], note=matches_note())
    return Matches(rows)


def read_file(files: Files, path: str, offset: int, limit: int) -> str:
    """A file's numbered lines, or an error."""
    data = files.get(path)
    if data is None:
        return missing_file(files, path)
    content: Sequence[str] = data["content"]
    return number_lines(path, content.split("\n") if isinstance(content, str) else content, offset, limit)


def missing_file(files: Files, path: str) -> ErrorText:
    """The error for a path that is not a file here."""
    return messages.is_folder(path) if is_folder(files, path) else messages.no_file(path)


def placement_problem(files: Files, path: str) -> ErrorText | None:
    """Why a file cannot be created at `path`: `path` is a folder, or something above it is a file."""
    if (parent := file_above(files, path)) is not None:
        return messages.below_file(path, parent)
    if is_folder(files, path):
        return messages.is_folder(path)
    return None


def files_at(files: Collection[str], path: str) -> list[str]:
    """The file at a path, or all files below the folder there, by path."""
    prefix = _prefix(path)
    return [path] if path in files else sorted(name for name in files if name.startswith(prefix))


def plan_move(files: Files, source: str, destination: str, overwrite: bool) -> list[tuple[str, str]] | ErrorText:
    """The old and the new path of each file that a move concerns, or why it cannot be made."""
    if problem := move_complaint(source, destination):
        return problem
    moving = files_at(files, source)
    if not moving:
        is_there = destination in files or is_folder(files, destination)
        return messages.moved_already(source, destination) if is_there else messages.nothing_there(source)
    if (parent := file_above(files, destination)) is not None:
        return messages.below_file(destination, parent)
    problem = landing_complaint(
        destination, source in files, overwrite, is_file=destination in files, is_folder=is_folder(files, destination)
    )
    if problem:
        return problem
    renamed = [(name, destination + name[len(source) :]) for name in moving]
    return next((too_long for _, name in renamed if (too_long := length_complaint(destination, name))), renamed)


def move_complaint(source: str, destination: str) -> ErrorText | None:
    """Why a move makes no sense in any tree."""
    if source == destination:
        return messages.same_place(source)
    return messages.into_itself(source, destination) if is_within(destination, source) else None


def landing_complaint(
    destination: str, moves_file: bool, overwrite: bool, *, is_file: bool, is_folder: bool
) -> ErrorText | None:
    """Why a file or a folder cannot be moved to where a file or a folder is."""
    if is_folder:
        return messages.taken_by_folder(destination)
    if not is_file:
        return None
    if not moves_file:
        return messages.folder_over_file(destination)
    return None if overwrite else messages.taken(destination)


def length_complaint(destination: str, path: str) -> ErrorText | None:
    """Why a path below a moved folder is too long; the error names the destination."""
    return messages.path_too_long(destination) if len(path.encode()) > MAX_PATH_BYTES else None


def file_above(files: Files, path: str) -> str | None:
    """The nearest ancestor of `path` that is a file, if any."""
    return next((parent for parent in parents(path) if parent in files), None)


def is_folder(files: Files, path: str) -> bool:
    """Whether there are files below `path`; the root is always a folder."""
    prefix = _prefix(path)
    return path == ROOT or any(name.startswith(prefix) for name in files)


def file_row(path: str, data: FileData) -> FileInfo:
    """A file's row in a listing."""
    text = join_lines(data["content"])
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return {"path": path, "is_dir": False, "size": size, "modified_at": data.get("modified_at", "")}


def folder_row(path: str) -> FileInfo:
    """A folder's row in a listing; `path` ends with a slash."""
    return {"path": path, "is_dir": True, "size": 0, "modified_at": ""}


def lines_of(data: FileData) -> Sequence[str]:
    """A file's lines as a reader counts them: the empty string after a final newline is not a line."""
    content: Sequence[str] = data["content"]
    lines = content.split("\n") if isinstance(content, str) else content
    return lines[:-1] if lines and lines[-1] == "" else lines


def found_note() -> str:
    """The note for a glob that was cut."""
    return f"Only the first {MAX_FOUND:,} files are shown. Narrow the pattern, or start in a subfolder."


def matches_note() -> str:
    """The note for a grep that was cut."""
    return f"Only the first {MAX_MATCHES:,} matches are shown. Narrow the pattern, the folder or the glob."


def _path_of(row: FileInfo) -> str:
    return row["path"]


def _prefix(path: str) -> str:
    return ROOT if path == ROOT else path + "/"


def _lone_file(files: Files, path: str) -> Listing:
    if path in files:
        return Listing([file_row(path, files[path])])
    return Listing() if path == ROOT else Listing(error=messages.no_folder(path))


def _not_a_folder(files: Files, path: str) -> ErrorText | None:
    return None if is_folder(files, path) else messages.no_folder(path)


def _not_there(files: Files, path: str) -> ErrorText | None:
    return None if path in files else _not_a_folder(files, path)


def _candidates(files: Files, path: str, passes: Callable[[str], bool] | None) -> Collection[tuple[str, FileData]]:
    """The files to search: the file at `path`, or those below the folder `path`. The glob is matched against relative paths."""
    if path in files:
        name = path.rpartition("/")[2]
        return [(path, files[path])] if passes is None or passes(name) else []
    prefix = _prefix(path)
    below = files.items() if path == ROOT else [item for item in files.items() if item[0].startswith(prefix)]
    return below if passes is None else [item for item in below if passes(relative(item[0], path))]


def _holding(candidates: Iterable[tuple[str, Any]], wanted: TextPattern) -> list[str]:
    """The files whose text can contain a match. One search of a whole text is far cheaper than one per line."""
    if wanted.literal is None:
        return [name for name, data in candidates if wanted.may_occur_in(join_lines(data["content"]))]
    literal, join = wanted.literal, "\n".join
    # Inlined: calling `join_lines` for each file would cost as much as the search.
    return [
        name for name, data in candidates if literal in (text if (text := data["content"]).__class__ is str else join(text))
    ]


def collect(rows: list[GrepMatch], path: str, lines: Sequence[str], wanted: TextPattern) -> None:
    """Append a row for each matching line, until there is one row too many."""
    for number, line in enumerate(lines, 1):
        if span := wanted.find(line):
            rows.append(
                {"path": path, "line_number": number, "line_content": line, "match_start": span[0], "match_end": span[1]}
            )
            if len(rows) > MAX_MATCHES:
                return
