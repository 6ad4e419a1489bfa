"""Where something stands in a document: on a page, on a slide, in some cells of a sheet, in a message."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

_NUMBERED = re.compile(r"(page|slide|message|line|row)s? (\d+)(?: to (\d+))?\b")


class Part(NamedTuple):
    """A part of a document. It reaches to the beginning of the next part."""

    start: int
    """Its offset in the document's text."""
    name: str
    """As a reader would call it: `page 3`, `slide 2`, `sheet Sales`, `message 4 (Ann Lee, 3 May 2025)`."""
    cells: str = ""
    """The cells of a sheet: `A5:F5`."""


def parts_between(parts: Sequence[Part], start: int, end: int) -> Sequence[Part]:
    """The parts that the text from `start` to `end` touches."""
    first = max(0, bisect_right(parts, start, key=_start) - 1)
    return parts[first : max(first + 1, bisect_right(parts, end - 1, key=_start))]


def place_of(parts: Sequence[Part], start: int, end: int) -> str:
    """The place of a passage, in words: `page 3`, `pages 3 to 4`, `sheet Sales, A5:F9`. Empty if the document has no parts."""
    touched = parts_between(parts, start, end)
    if not touched:
        return ""
    place = merge_parts(touched[0], touched[-1])
    return f"{place.name}, {place.cells}" if place.cells else place.name


def merge_parts(first: Part, last: Part) -> Part:
    """One part for everything from the first to the last."""
    if first.name == last.name:
        return first._replace(cells=_span(first.cells, last.cells))
    one, other = _NUMBERED.match(first.name), _NUMBERED.match(last.name)
    if one and other and one[1] == other[1]:
        return Part(first.start, f"{one[1]}s {one[2]} to {other[3] or other[2]}")
    return Part(first.start, f"{first.name} to {last.name}")


def _span(first: str, last: str) -> str:
    """`A5:F5` and `A9:F9` are `A5:F9`."""
    return f"{first.partition(':')[0]}:{last.rpartition(':')[2]}" if first and last and first != last else first


def _start(part: Part) -> int:
    return part.start
