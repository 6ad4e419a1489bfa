"""All rules about paths, in one place for all backends.

A path is virtual: `/` is the backend's own root, never the host's. These are pure functions, which touch no disk, so every backend accepts
the same strings. What is refused, and why:

| refused | because |
|---|---|
| `..` as a segment, also percent-encoded or in look-alike characters | it leads outside its folder |
| NUL, control and bidirectional characters, invisible spaces, lone surrogates | they hide what a name really is |
| drive letters, `\\\\host\\share`, `~`, `scheme://` | they are other systems' forms of paths |
| segments above 255 bytes, paths above 1,024 bytes | not every storage accepts them |

A backslash separates folders like a slash (`docs\\a.md` is `/docs/a.md`), so no file name contains one; in a pattern it is refused.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Self
from urllib.parse import unquote

from stepwell.backends.protocol import ErrorText

MAX_SEGMENT_BYTES = 255
MAX_PATH_BYTES = 1024
ROOT = "/"

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters of both blocks
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks
    "\u00ad\u200b\u2028\u2029\u2060-\u2064\ufeff\U000e0000-\U000e007f"  # invisible spaces, hyphens and tags, line separators
    "\ufffe\uffff"  # not characters; object stores list names in XML, which cannot contain them
    "\ud800-\udfff]"  # lone surrogates: no encoding can store them
)
_DRIVE = re.compile(r"[A-Za-z]:")
_SCHEME = re.compile(r"/*[A-Za-z][A-Za-z0-9+.-]*://")
_PLAIN = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}){1,8}", re.ASCII)
_WINDOWS_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))]
)
_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")


def resolve(raw: object) -> str | ErrorText:
    """The normal form of a path (`/a/b`, no trailing slash), or an error.

    A name without a leading slash is relative to the root; backslashes become slashes; empty segments and `.` are dropped.
    """
    if not isinstance(raw, str):
        return ErrorText(f"Error: a path must be text, not {type(raw).__name__}. Pass a path such as '/notes.md'.")
    # Nearly every path is plain; names in `_PLAIN` cannot start with a dot, so no plain path is a traversal.
    if _PLAIN.fullmatch(raw) and os.name != "nt":
        return raw
    slashed = raw if raw.startswith("\\\\") else raw.replace("\\", "/")
    return _complaint(slashed) or _normal(slashed)


def resolve_file(raw: object) -> str | ErrorText:
    """Like `resolve`, for verbs that need a file: the root is refused."""
    path = resolve(raw)
    if path == ROOT and not isinstance(path, ErrorText):
        return ErrorText(f"Error: {show(raw)} names the root folder, not a file. Give the file a name, such as '/notes.md'.")
    return path


def resolve_entry(raw: object) -> str | ErrorText:
    """Like `resolve`, for verbs that delete or move a file or a folder: the root is refused."""
    path = resolve(raw)
    if path == ROOT and not isinstance(path, ErrorText):
        return ErrorText(f"Error: {show(raw)} names the root folder, which cannot be deleted or moved. Name something in it.")
    return path


def resolve_pattern(raw: object) -> str | ErrorText:
    """A glob pattern without its leading slashes, or an error; the rules are the same as for paths."""
    if not isinstance(raw, str):
        return ErrorText(f"Error: a glob pattern must be text, not {type(raw).__name__}. Pass a pattern such as '**/*.md'.")
    if not raw.strip("/. "):
        return ErrorText("Error: the glob pattern is empty. Pass a pattern such as '**/*.md'.")
    return _complaint(raw) or "/".join(part for part in raw.split("/") if part not in ("", "."))


def check_prefixes(path: str, allowed: Sequence[str]) -> ErrorText | None:
    """An error if `path` (already resolved) is below none of the allowed prefixes; without prefixes everything is allowed."""
    if not allowed or any(is_within(path, prefix) for prefix in allowed):
        return None
    places = [part for prefix in allowed for part in (", ", Place(prefix))][1:]
    return PathError("Error: ", Place(path), " is outside the places open to you. Use a path below ", *places, ".")


def is_within(path: str, folder: str) -> bool:
    """Whether a resolved path is `folder` itself or below it."""
    folder = folder.rstrip("/")
    return path == folder or path.startswith(folder + "/") or not folder


def parents(path: str) -> Iterable[str]:
    """The folders above a resolved path, nearest first, without the root."""
    cut = path.rfind("/")
    while cut > 0:
        path = path[:cut]
        yield path
        cut = path.rfind("/")


def relative(path: str, folder: str) -> str:
    """A resolved path as seen from a folder above it."""
    return path[1:] if folder == ROOT else path[len(folder) + 1 :]


def show(raw: object) -> str:
    """A path quoted for a message: hidden characters escaped, long paths cut."""
    text = raw if isinstance(raw, str) else str(raw)
    if len(text) > 120:
        text = f"{text[:80]}…{text[-30:]}"
    return "'" + _HIDDEN.sub(lambda hit: f"\\u{ord(hit[0]):04x}", text) + "'"


class Place(str):
    """A path inside a message."""

    __slots__ = ()


class PathError(ErrorText):
    """A message that quotes paths, and can be rewritten for a reader who sees them below a mount."""

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Self:
        self = super().__new__(cls, "".join(show(part) if isinstance(part, Place) else part for part in parts))
        self.parts = parts
        return self

    def below(self, mount: str) -> PathError:
        """The same message with every path rewritten to lie below `mount` (a resolved folder)."""
        return PathError(*(Place(mount + part.rstrip("/")) if isinstance(part, Place) else part for part in self.parts))


def safe_name(raw: str) -> str:
    """A file name made from an external id (a tool call's, for example): only letters, digits, `_` and `-`, never empty."""
    return _UNSAFE_IN_NAME.sub("_", raw)[:100] or "_"


def _normal(raw: str) -> str:
    return ROOT + "/".join(part for part in raw.split("/") if part not in ("", "."))


def _complaint(raw: str) -> ErrorText | None:
    """The first thing that is wrong: with the whole string, otherwise with one of its segments; None if nothing is."""
    if _HIDDEN.search(raw):
        return ErrorText(f"Error: {show(raw)} holds a control or invisible character. Use visible characters only.")
    if "\\" in raw:
        return ErrorText(f"Error: {show(raw)} holds a backslash. Separate folders with '/', as in '/folder/file.md'.")
    if _SCHEME.match(raw) or raw.startswith("~"):
        return ErrorText(
            f"Error: {show(raw)} is not a path of this file system. Use one that starts at its root, as in '/folder/file.md'."
        )
    # The rest is checked on the normal form, so that a path that passed once passes again, even inside a mount.
    path = _normal(raw)
    if len(path.encode()) > MAX_PATH_BYTES:
        return ErrorText(f"Error: {show(raw)} is longer than {MAX_PATH_BYTES} bytes. Choose a shorter path.")
    for segment in path.split("/"):
        if segment and (problem := _segment_complaint(segment)):
            return ErrorText(f"Error: {show(raw)} {problem}")
    return None


def _segment_complaint(segment: str) -> str | None:
    if _climbs(segment):
        return "climbs out with '..'. Path traversal not allowed: use a path from the root, without '..'."
    if _DRIVE.match(segment):
        return "names a drive. Use a path from the root, as in '/folder/file.md'."
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        return f"has a name longer than {MAX_SEGMENT_BYTES} bytes. Choose a shorter name."
    if segment.isspace():
        return "has a name made of spaces. Give every folder and file a visible name."
    if os.name == "nt" and (segment.split(".")[0].lower() in _WINDOWS_DEVICES or segment[-1] in " ." or ":" in segment):
        return "has a name that Windows reserves. Choose another name."
    return None


def _climbs(segment: str) -> bool:
    """Whether a segment is `..`, or becomes one (or several segments) if carelessly decoded."""
    if segment == "..":
        return True
    if segment.isascii() and "%" not in segment:
        return False
    decoded = segment
    for _ in range(3):
        decoded = unicodedata.normalize("NFKC", unquote(decoded, errors="surrogateescape"))
        if decoded.strip() == ".." or "/" in decoded or "\\" in decoded or _HIDDEN.search(decoded):
            return True
    return False
