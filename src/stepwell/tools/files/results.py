"""What the model reads after a file operation: short, limited in size, and with a way to get the rest if something was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stepwell.backends.protocol import (
    DeleteResult,
    EditResult,
    ErrorText,
    FileInfo,
    GrepMatch,
    MoveResult,
    SearchMatch,
    WriteResult,
)
from stepwell.tools.files.blocks import Block, FileBlocks
from stepwell.tools.files.documents import DocumentText

MAX_CHARS = 60_000
"""About 15,000 tokens. Larger results are cut here, since sending them to a file would only copy files to files."""
MAX_MATCH_CHARS = 300


class Rendered(NamedTuple):
    text: str
    is_error: bool = False
    blocks: tuple[Block, ...] = ()
    """What the model looks at: images, pages."""

    @property
    def content(self) -> str | list[str | Block]:
        """The content of the message."""
        return [*self.blocks, {"type": "text", "text": self.text}] if self.blocks else self.text


def listing(rows: Sequence[FileInfo], args: Mapping[str, Any]) -> Rendered:
    """Rows of `ls`, one per line."""
    if error := getattr(rows, "error", None):
        return Rendered(error, is_error=True)
    # Rows of a third-party backend may have only the path.
    lines = [row["path"] if row.get("is_dir") else f"{row['path']} ({row.get('size', 0):,} bytes)" for row in rows]
    return _bounded(lines or ["(empty)"], "Narrow it with glob.", getattr(rows, "note", None))


def found(rows: Sequence[FileInfo], args: Mapping[str, Any]) -> Rendered:
    """Paths that `glob` found."""
    if error := getattr(rows, "error", None):
        return Rendered(error, is_error=True)
    lines = [row["path"] for row in rows] or [f"(no file matches {args['pattern']!r})"]
    return _bounded(lines, "Use a narrower pattern.", getattr(rows, "note", None))


def matches(rows: Sequence[GrepMatch] | str, args: Mapping[str, Any]) -> Rendered:
    """What `grep` found: lines grouped by file, only the paths, or the number of matching lines per file."""
    if isinstance(rows, str):
        return Rendered(rows, is_error=True)
    per_file = Counter(row["path"] for row in rows)
    match args.get("output_mode"):
        case "files_with_matches":
            lines = list(per_file)
        case "count":
            lines = [f"{path}: {count}" for path, count in per_file.items()]
        case _:
            lines = list(_lines_by_file(rows))
    return _bounded(lines or [f"(no line matches {args['pattern']!r})"], "Use a narrower pattern.", getattr(rows, "note", None))


def _lines_by_file(rows: Sequence[GrepMatch]) -> Iterator[str]:
    path = None
    for row in rows:
        if row["path"] != path:
            path = row["path"]
            yield path
        yield f"{row.get('line_number', row.get('line')):6}: {_around_match(row)}"


def passages(rows: Sequence[SearchMatch] | str, args: Mapping[str, Any]) -> Rendered:
    """What `search` found: each passage below its location."""
    if isinstance(rows, str):
        return Rendered(rows, is_error=True)
    lines = [
        f"{row['path']}{':' + str(row['line_number']) if row.get('line_number') else ''}\n{row['text'].strip()}\n"
        for row in rows
    ]
    return _bounded(lines or ["(nothing found)"], "Ask for fewer, or for something narrower.", getattr(rows, "note", None))


def text(result: str | FileBlocks, args: Mapping[str, Any]) -> Rendered:
    """Numbered lines from `read`. Output that is too long is cut at the end of a line."""
    if isinstance(result, FileBlocks):
        said = f"{result.about}\n{text(result.numbered, args).text}" if result.numbered else result.about
        return Rendered(said, blocks=tuple(result.blocks))
    if isinstance(result, ErrorText):
        return Rendered(result, is_error=True)
    if isinstance(result, DocumentText):
        return Rendered(f"{result.about}\n{text(str(result), args).text}")
    if len(result) <= MAX_CHARS:
        return Rendered(result)
    shown = result[: result.rfind("\n", 0, MAX_CHARS)]
    next_offset = args.get("offset", 0) + shown.count("\n") + 1
    return Rendered(f"{shown}\n(cut here; go on with offset={next_offset})")


def written(result: WriteResult, args: Mapping[str, Any]) -> Rendered:
    if result.error:
        return Rendered(result.error, is_error=True)
    return Rendered(f"Wrote {result.path} ({len(args['content']):,} characters).")


def edited(result: EditResult, args: Mapping[str, Any]) -> Rendered:
    if result.error:
        return Rendered(result.error, is_error=True)
    times = "1 replacement" if result.occurrences == 1 else f"{result.occurrences} replacements"
    return Rendered(f"Edited {result.path}: {times}.")


def deleted(result: DeleteResult, args: Mapping[str, Any]) -> Rendered:
    if result.error:
        return Rendered(result.error, is_error=True)
    return Rendered(f"Deleted {result.path}{_counted(result)}.")


def moved(result: MoveResult, args: Mapping[str, Any]) -> Rendered:
    if result.error:
        return Rendered(result.error, is_error=True)
    return Rendered(f"Moved {args['source']} to {result.path}{_counted(result)}.")


def _counted(result: DeleteResult | MoveResult) -> str:
    count = getattr(result, "count", None)  # deepagents' backends do not count
    return "" if count is None else " (1 file)" if count == 1 else f" ({count:,} files)"


def executed(answer: Any) -> Rendered:
    """A command's output, with its exit code unless that is 0."""
    if isinstance(answer, str):
        return Rendered(answer)
    code = getattr(answer, "exit_code", None)
    notes = [f"(exit code {code})"] if code else []
    notes += ["(the output was cut)"] if getattr(answer, "truncated", False) else []
    return Rendered("\n".join([str(getattr(answer, "output", "")) or "(no output)", *notes]), is_error=bool(code))


def _around_match(row: GrepMatch) -> str:
    """The line; for a long line, the part around the match."""
    line = str(row.get("line_content", row.get("text", "")))  # deepagents' backends use `line` and `text`
    if len(line) <= MAX_MATCH_CHARS:
        return line
    start = max(0, row.get("match_start", 0) - MAX_MATCH_CHARS // 3)
    part = line[start : start + MAX_MATCH_CHARS]
    return f"{'…' if start else ''}{part}{'…' if start + MAX_MATCH_CHARS < len(line) else ''}"


def _bounded(lines: Iterable[str], way_out: str, note: str | None) -> Rendered:
    kept: list[str] = []
    left = 0
    room = MAX_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            left += 1
        else:
            kept.append(line)
    if left:
        kept.append(f"({left:,} more lines. {way_out})")
    if note:
        kept.append(f"({note})")
    return Rendered("\n".join(kept))
