"""Compiles patterns from a model so that no input can make them slow: RE2 matches in linear time.

`re` must never see a pattern that a model or a user wrote, because `(a+)+$` on 26 characters keeps it busy for seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import re2

from stepwell.backends.paths import resolve_pattern
from stepwell.backends.protocol import ErrorText

MAX_PATTERN_CHARS = 1000
MAX_MEMORY_BYTES = 8 << 20

_META = re.compile(r"[\\^$.|?*+()\[\]{}]")
_WHOLE_TEXT = re.compile(r"\\[AzZQ]|\(\?[A-Za-z]*-")
_ENDING = re.compile(r"(?P<deep>(?:\*\*/)?)\*(?P<head>[^*?\[\]{}/]*)(?:\{(?P<choices>[^*?\[\]{}/]*)\})?")
_CHOICE = re.compile(r"\{[^*\[\]{}/]*\}")


class TextPattern:
    """A grep pattern. `literal` is its text if it has no special characters; otherwise `regex` is used."""

    __slots__ = ("_loose", "literal", "regex", "source")

    def __init__(self, source: str, regex: Any) -> None:
        self.source = source
        self.literal = source if not _META.search(source) else None
        self.regex = regex
        # In a whole text, ^ and $ must match at each line; a pattern with anchors for the whole text cannot be searched that way.
        self._loose = None if _WHOLE_TEXT.search(source) else _re2(f"(?m){source}")

    def may_occur_in(self, text: str) -> bool:
        """False if no line of a text can match. One search of the whole text saves a search of each line."""
        if self.literal is not None:
            return self.literal in text
        return self._loose is None or self._loose.search(_encodable(text)) is not None

    def find(self, line: str) -> tuple[int, int] | None:
        """Where the first match in a line starts and ends, in characters."""
        if self.literal is not None:
            start = line.find(self.literal)
            return None if start < 0 else (start, start + len(self.literal))
        hit = self.regex.search(_encodable(line))
        return hit.span() if hit else None


def _encodable(text: str) -> str:
    """Text that RE2 accepts: lone surrogates become question marks, so that positions stay the same."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


ByteFinder = Callable[[bytes, int], int]
"""Takes data and a start position; returns the position of the next possible match, or -1."""


def byte_finder(wanted: TextPattern) -> ByteFinder:
    """The fastest search through UTF-8 bytes that misses no matching line; a hit is only a candidate that must still be checked."""
    if wanted.literal is not None:
        needle = wanted.literal.encode()
        return lambda data, start: data.find(needle, start)
    if _WHOLE_TEXT.search(wanted.source):  # it has anchors for the whole text (here: a line), so every line must be checked
        return lambda data, start: start if start < len(data) else -1
    options = _options()
    options.never_nl = True  # a match stays within its line
    regex = re2.compile(f"(?m){wanted.source}", options)

    def find(data: bytes, start: int) -> int:
        hit = regex.search(data, start)
        return hit.start() if hit else -1

    return find


def compile_text(pattern: object) -> TextPattern | ErrorText:
    """A grep pattern, or an error."""
    if not isinstance(pattern, str) or not pattern:
        return ErrorText("Error: the grep pattern is empty. Pass the text or RE2 expression to look for.")
    if len(pattern) > MAX_PATTERN_CHARS:
        return ErrorText(
            f"Error: the grep pattern has {len(pattern):,} characters; at most {MAX_PATTERN_CHARS:,} are allowed. "
            "Search for a shorter part."
        )
    if "\n" in pattern:
        return ErrorText(
            "Error: the grep pattern holds a newline, and lines are searched one by one. Search for a part of one line."
        )
    try:
        return TextPattern(pattern, _re2(pattern))
    except (re2.error, UnicodeError):
        return ErrorText(
            f"Error: {pattern[:100]!r} is not a valid RE2 expression (no look-around, no back-references). "
            "Escape special characters with a backslash."
        )


class Endings:
    """The test for most globs: how a path ends. Code with thousands of paths uses `endings` directly, to save the calls."""

    __slots__ = ("endings",)

    def __init__(self, endings: tuple[str, ...]) -> None:
        self.endings = endings

    def __call__(self, path: str) -> bool:
        return path.endswith(self.endings)


def compile_glob(pattern: object, *, anywhere: bool = False) -> Callable[[str], bool] | ErrorText:
    """A test for relative paths. `**` crosses folders, `*` and `?` do not, `{a,b}` and `[abc]` match one of several.

    With `anywhere`, a pattern without a slash is matched against the last segment, as in `grep --include`.
    """
    checked = resolve_pattern(pattern)
    if isinstance(checked, ErrorText):
        return checked
    if len(checked) > MAX_PATTERN_CHARS:
        return ErrorText(f"Error: the glob pattern has {len(checked):,} characters; at most {MAX_PATTERN_CHARS:,} are allowed.")
    if (suffixes := _suffixes(checked, anywhere)) is not None:
        return Endings(suffixes)
    source = translate_glob(checked)
    if anywhere and "/" not in checked:
        source = "(?:.*/)?" + source
    try:
        return _glob_test(source, _has_no_choices(checked))
    except (re2.error, UnicodeError):
        return ErrorText(f"Error: {checked[:100]!r} is not a valid glob pattern. Use *, **, ?, [abc] and {{a,b}}.")


class GlobSet:
    """Several globs at once, however many: each path is matched in one pass.

    `below` says for each glob whether it also matches everything below what it matches, as a folder's name does.
    """

    __slots__ = ("_set", "_sources")

    def __init__(self, globs: Sequence[str], below: Sequence[bool]) -> None:
        # `**` at the end matches the folder's own children; `resolve_pattern` has checked the rest.
        sources = [translate_glob(glob) + ("(?:/.*)?" if deep else "") for glob, deep in zip(globs, below, strict=True)]
        self._sources = [_re2(f"(?s:{source})") for source in sources]
        self._set = re2.Set.FullMatchSet(_options())
        for source in [*sources, ".*"]:  # the last one always matches, and so shows that the set had enough memory
            self._set.Add(f"(?s:{source})")
        self._set.Compile()

    def first(self, path: str) -> int | None:
        """The first glob that matches a relative path."""
        found = self._set.Match(_encodable(path))
        last = len(self._sources)
        if last not in found:  # RE2 gave up; one expression alone needs no such memory
            return next((place for place, regex in enumerate(self._sources) if regex.fullmatch(_encodable(path))), None)
        place: int = min(found)
        return None if place == last else place


def translate_glob(pattern: str) -> str:
    """A glob as an RE2 expression that must match a whole relative path."""
    out: list[str] = []
    depth = 0
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if pattern.startswith("**/", position):
            out.append("(?:[^/]+/)*")
            position += 3
            continue
        if pattern.startswith("**", position):
            out.append(".*")
            position += 2
            continue
        if char == "[" and (closing := pattern.find("]", position + 2)) > 0:
            out.append(_bracket(pattern[position + 1 : closing]))
            position = closing + 1
            continue
        if char == "{" and "}" in pattern[position:]:
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)))
        position += 1
    return "".join(out)


def crosses_folders(segment: str) -> bool:
    """Whether the part of a glob between two slashes may match a slash itself, or belongs to something that does. When in doubt, yes."""
    if "**" in segment or "{" in segment:  # a choice may contain slashes
        return True
    opening = segment.find("[")
    while opening >= 0:
        closing = segment.find("]", opening + 2)
        if closing < 0 or _re2(_bracket(segment[opening + 1 : closing])).fullmatch("/"):
            return True  # a class that does not end here contains a slash
        opening = segment.find("[", closing)
    return False


def _bracket(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    body = inside[1:] if negated else inside
    escaped = body.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("^", "\\^")
    return f"[^/{escaped}]" if negated else f"[{escaped}]"


@lru_cache(maxsize=256)
def _glob_test(source: str, plain: bool) -> Callable[[str], bool]:
    regex = re.compile(f"(?s:{source})") if plain else _re2(f"(?s:{source})")
    return lambda path: regex.fullmatch(path) is not None


def _suffixes(pattern: str, anywhere: bool) -> tuple[str, ...] | None:
    """The endings of `**/*.md` or `**/*.{md,txt}`. Most globs look like this, and `endswith` is the fastest test."""
    hit = _ENDING.fullmatch(pattern)
    if hit is None or not (hit["deep"] or anywhere):
        return None
    return tuple(hit["head"] + choice for choice in (hit["choices"] or "").split(","))


def _has_no_choices(pattern: str) -> bool:
    """Whether `re` is safe for our translation of a glob; that is ten times faster than calling RE2 for each path.

    A slash ends every `*`, so with one star per segment there is no backtracking, and the time stays linear.
    """
    pattern = _CHOICE.sub("", pattern, count=1)
    if "[" in pattern or "{" in pattern:
        return False
    segments = pattern.split("/")
    return segments[:-1].count("**") <= 1 and all(part == "**" or part.count("*") <= 1 for part in segments)


@lru_cache(maxsize=256)
def _re2(pattern: str) -> Any:
    return re2.compile(pattern, _options())


def _options() -> Any:
    options = re2.Options()
    options.max_mem = MAX_MEMORY_BYTES
    options.log_errors = False
    return options
