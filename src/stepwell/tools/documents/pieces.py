"""Puts the text of a document together from its pieces, and remembers where each part begins.

A reader yields pieces one by one, so this is the only place that has to know how long a text may be and when the time is up.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from stepwell.tools.documents.parts import Part, merge_parts
from stepwell.tools.documents.visible import normalise, one_line

MOST_CHARACTERS = 4_000_000
MOST_PARTS = 5_000
_CHECK_EVERY = 64
"""After how many pieces we look at the clock."""


class Piece(NamedTuple):
    """A paragraph or several of them. With a name, a new part of the document begins here."""

    text: str
    name: str = ""
    cells: str = ""


@dataclass
class Document:
    """What a reader found. `notes` is complete once the pieces have been read."""

    pieces: Iterable[Piece]
    title: str = ""
    notes: list[str] = field(default_factory=list)


class Composed(NamedTuple):
    text: str
    parts: tuple[Part, ...]
    is_whole: bool


def compose(pieces: Iterable[Piece], deadline: float = float("inf"), most: int = MOST_CHARACTERS) -> Composed:
    """One normalised text, with a blank line between pieces. A part without words begins where the next one does."""
    texts: list[str] = []
    parts: list[Part] = []
    length, is_whole = 0, True
    for count, piece in enumerate(pieces):
        if length > most or (count % _CHECK_EVERY == 0 and time.monotonic() > deadline):
            is_whole = False
            break
        text = _normalise(piece.text)
        if piece.name:
            parts.append(Part(length, _on_one_line(piece.name), piece.cells))
        if text:
            texts.append(text)
            length += len(text) + 2
    text = "\n\n".join(texts)
    if len(text) > most:
        text, is_whole = text[:most].rstrip(), False
    return Composed(text, tuple(_thin([part for part in parts if part.start <= len(text)])), is_whole)


def _normalise(text: str) -> str:
    # Most rows of a sheet are one line of plain ASCII, which is normal already.
    return text.strip() if text.isascii() and text.isprintable() else normalise(text)


def _on_one_line(name: str) -> str:
    return name if name.isascii() and name.isprintable() else one_line(name)


def _thin(parts: list[Part]) -> list[Part]:
    """At most `MOST_PARTS` parts: beyond that, several neighbours share one. Rows of one sheet are joined first, so that they keep their
    cells; if there are too many sheets for that, any neighbours are."""
    if len(parts) <= MOST_PARTS:
        return parts
    joined = [part for _, group in groupby(parts, key=_sheet) for part in _join(list(group), _share(parts))]
    return joined if len(joined) <= MOST_PARTS else list(_join(joined, _share(joined)))


def _share(parts: Sequence[Part]) -> int:
    return -(-len(parts) // MOST_PARTS)


def _sheet(part: Part) -> str:
    return part.name if part.cells else ""


def _join(parts: Sequence[Part], share: int) -> Iterator[Part]:
    for start in range(0, len(parts), share):
        yield merge_parts(parts[start], parts[min(start + share, len(parts)) - 1])
