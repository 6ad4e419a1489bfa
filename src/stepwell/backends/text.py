"""What all backends do with text: split it, number its lines, edit it, compute its version. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from stepwell.backends.paths import PathError, Place
from stepwell.backends.protocol import ErrorText

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

MAX_LINE_CHARS = 2000
MAX_FILE_CHARS = 10_000_000
LINE_NUMBER_WIDTH = 6


def split_lines(text: str) -> list[str]:
    """Lines as stored in `FileData.content`. The text is split only at newlines, so joining restores it exactly."""
    return text.split("\n")


def join_lines(content: Sequence[str] | str) -> str:
    """The text of a `FileData.content`; a plain string is accepted too."""
    return content if isinstance(content, str) else "\n".join(content)


def version_of(text: str) -> str:
    """A hash that identifies exactly this content."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def content_complaint(path: str, content: object) -> ErrorText | None:
    """Why this cannot be a file's text; None if it can."""
    if not isinstance(content, str):
        return PathError("Error: the content for ", Place(path), f" must be text, not {type(content).__name__}.")
    if len(content) > MAX_FILE_CHARS:
        return PathError(
            "Error: the content for ",
            Place(path),
            f" has {len(content):,} characters; at most {MAX_FILE_CHARS:,} fit. Split it into several files.",
        )
    if _LONE_SURROGATE.search(content):
        return PathError(
            "Error: the content for ", Place(path), " holds half of a character (a lone surrogate). Send whole characters."
        )
    return None


def number_lines(path: str, lines: Sequence[str], offset: int, limit: int) -> str | ErrorText:
    """Lines as `read` shows them: numbered from 1, with long lines cut, and with a final line that says how much is left."""
    total = len(lines) - 1 if lines and lines[-1] == "" else len(lines)
    if total <= 0:
        return "(the file is empty)"
    if problem := window_complaint(offset, limit):
        return problem
    return number_window(path, lines[offset : min(total, offset + limit)], offset, limit, total)


def window_complaint(offset: int, limit: int) -> ErrorText | None:
    """Why offset and limit are invalid for any file; None if they are valid."""
    if offset < 0 or limit <= 0:
        return ErrorText(f"Error: offset {offset} with limit {limit} shows nothing. offset counts from 0, limit from 1.")
    return None


def number_window(path: str, shown: Sequence[str], offset: int, limit: int, total: int | None) -> str | ErrorText:
    """Like `number_lines`, for lines that were already taken from the file. `total` is the number of lines in the file, if known."""
    if total is None and shown and shown[-1] == "":
        shown = shown[:-1]
    if total == 0 or (total is None and offset == 0 and not shown):
        return "(the file is empty)"
    if total is not None and offset >= total:
        return PathError(
            "Error: ", Place(path), f" has {total} lines; offset {offset} is beyond its end. Use an offset below {total}."
        )
    if not shown:
        return PathError("Error: ", Place(path), f" has no lines from offset {offset} on. Use a smaller offset.")
    end = offset + min(len(shown), limit)
    end = end if total is None else min(end, total)
    rows = [f"{number:{LINE_NUMBER_WIDTH}}\t{_cut(shown[number - 1 - offset])}" for number in range(offset + 1, end + 1)]
    if total is not None and end < total:
        rows.append(f"({total - end} more lines; go on with offset={end})")
    elif total is None and len(shown) >= limit:
        rows.append(f"(there may be more; go on with offset={end})")
    return "\n".join(rows)


def _cut(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    return f"{line[:MAX_LINE_CHARS]} (cut: the line has {len(line):,} characters)"


def edit_complaint(path: str, old: str, new: str) -> ErrorText | None:
    """Why an edit is invalid for any text; None if it is valid."""
    if not old:
        return PathError(
            "Error: old_string is empty. Quote the text in ",
            Place(path),
            " that should change, or create a file with write_file.",
        )
    if old == new:
        return PathError("Error: old_string and new_string are the same, so ", Place(path), " would not change.")
    return None


def replace_exact(path: str, text: str, old: str, new: str, replace_all: bool) -> tuple[str, int] | ErrorText:
    """The edited text and the number of replacements, or why the edit does not fit."""
    if problem := edit_complaint(path, old, new):
        return problem
    count = text.count(old)
    if count == 0:
        return PathError(
            "Error: old_string does not occur in ", Place(path), ". Read the file and quote it exactly, without line numbers."
        )
    if count > 1 and not replace_all:
        return PathError(
            f"Error: old_string occurs {count} times in ",
            Place(path),
            ". Quote more of the surrounding text, or set replace_all.",
        )
    if (size := len(text) + count * (len(new) - len(old))) > MAX_FILE_CHARS:
        return PathError(
            "Error: ", Place(path), f" would grow to {size:,} characters; at most {MAX_FILE_CHARS:,} fit. Edit less at once."
        )
    return text.replace(old, new), count
