"""The documents of a user's device that came with a question, put together from their excerpts.

```
excerpts of one document  ─>  one text, in the order of `start`, with a blank line where the document has more
                              parts: each excerpt's place
                              pieces: which excerpt each stretch of the text is, to find a quote again on the device
```
A trail stores the excerpts with the question. The graph puts the documents together to store them as sources, `verify` to compare them with
those sources, and the server to lead from a quote to its document. So the result may depend on the excerpts alone.

A device counts offsets in characters (Python) or in UTF-16 units (a browser); the length of an excerpt's text shows which. If neither
fits, because a key was hidden in the text, a quote leads to the whole excerpt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from stepwell.research.audit.evidence import fit_parts
from stepwell.research.audit.ledger import plain_title
from stepwell.secrets.text import hide_secrets
from stepwell.tools.documents.parts import Part

MOST_EXCERPTS = 200
"""Passages are fewer; a passage of several rows has an excerpt for each, so that a quote leads to its own cells."""
MAX_EXCERPT_CHARS = 4_000
MAX_ALL_CHARS = 48_000
"""The most characters of all excerpts of a question together."""
MAX_LABEL_CHARS = 200
MAX_PLACE_CHARS = 200

_CELLS = re.compile(r"(sheet .+), ([A-Z]{1,3}\d{1,7}(?::[A-Z]{1,3}\d{1,7})?)")
_GAP = "\n\n"
Excerpt = Mapping[str, Any]
"""As a trail stores it: `id, document_id, label, place, text, start, end`."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Some text of a document on the device, with offsets as the device counts them."""

    snippet_id: str
    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """An excerpt, and where it begins in the document's text."""

    at: int
    excerpt: Excerpt

    @property
    def ends(self) -> int:
        return self.at + len(self.excerpt["text"])

    def offset_on_device(self, place: int) -> int | None:
        """What the device calls a place of the text; `None` if we cannot tell."""
        said, inside = self.excerpt["text"], max(0, place - self.at)
        measure = _measure(self.excerpt)
        return None if measure is None else self.excerpt["start"] + (inside if measure == "points" else _units(said[:inside]))


@dataclass(frozen=True, slots=True)
class DeviceDocument:
    """All that came along of a document."""

    document_id: str
    label: str
    title: str
    text: str
    parts: tuple[Part, ...]
    pieces: tuple[_Piece, ...]

    def may_be_called(self, title: str) -> bool:
        """Whether a source may have this title: the document's label, or that with a number (`documents_of`)."""
        begins, _, number = title.rpartition(", ")
        return title == self.label or (number.isdecimal() and begins == _shorten(self.label))

    def passage_at(self, start: int, end: int) -> Passage | None:
        """Where a quote of the text is on the device; `None` if we cannot tell."""
        begun = [piece for piece in self.pieces if piece.at <= start]
        if not begun:
            return None
        first = next((piece for piece in reversed(begun) if start < piece.ends), begun[-1])
        last = first if end <= first.ends else [piece for piece in self.pieces if piece.at < end][-1]
        begins, ends = first.offset_on_device(start), last.offset_on_device(end)
        return Passage(
            first.excerpt["id"],
            self.document_id,
            first.excerpt["start"] if begins is None else begins,
            last.excerpt["end"] if ends is None else ends,
        )


def documents_of(excerpts: Sequence[Excerpt], earlier: Sequence[Excerpt] = ()) -> list[DeviceDocument]:
    """The documents in the order in which they came. `earlier` are the excerpts of earlier questions, whose documents keep their titles."""
    titles = _name([*earlier, *excerpts])
    grouped: dict[str, list[Excerpt]] = {}
    for each in excerpts:
        grouped.setdefault(each["document_id"], []).append(each)
    return [_assemble(own, titles[name, _label(own[0])]) for name, own in grouped.items()]


def _name(excerpts: Sequence[Excerpt]) -> dict[tuple[str, str], str]:
    """A title for each document and label: the label, with a number if another document has the same."""
    titles: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for each in excerpts:
        label = _label(each)
        if (each["document_id"], label) not in titles:
            numbered = (f"{_shorten(label)}, {number}" for number in count(2))
            title = label if label not in taken else next(name for name in numbered if name not in taken)
            titles[each["document_id"], label] = title
            taken.add(title)
    return titles


def _label(excerpt: Excerpt) -> str:
    return plain_title(" ".join(excerpt["label"].split()))


def _shorten(label: str) -> str:
    """With room for a number, because a list of sources shows only so much of a title."""
    return label[: MAX_LABEL_CHARS - len(", 1000")]


def _assemble(excerpts: Sequence[Excerpt], title: str) -> DeviceDocument:
    document_id, label = excerpts[0]["document_id"], _label(excerpts[0])
    text = ""
    pieces: list[_Piece] = []
    newest: _Piece | None = None  # the piece with which the text ends
    for each in sorted(excerpts, key=lambda excerpt: (excerpt["start"], excerpt["end"])):
        at = _find_overlap(text, newest, each)
        if at is None:
            text += _GAP if text else ""
            at = len(text)
        piece = _Piece(at, each)
        if newest is None or piece.ends > newest.ends:
            text, newest = text + each["text"][len(text) - at :], piece
        pieces.append(piece)
    # Two excerpts may make a key that neither of them has. Without it, the text is another, and we no longer know what is where.
    if (hidden := hide_secrets(text)) != text:
        return DeviceDocument(document_id, label, title, hidden, (), ())
    return DeviceDocument(document_id, label, title, text, _parts(pieces), tuple(pieces))


def _find_overlap(text: str, newest: _Piece | None, excerpt: Excerpt) -> int | None:
    """Where in the text the excerpt begins, if the text already has its beginning, or ends just before it."""
    if newest is None or excerpt["start"] > newest.excerpt["end"] or None in (_measure(excerpt), _measure(newest.excerpt)):
        return None
    lead = excerpt["start"] - newest.excerpt["start"]
    is_points = _measure(newest.excerpt) == "points"
    at = newest.at + (lead if is_points else _points(newest.excerpt["text"], lead))
    return at if text[at : at + len(excerpt["text"])] == excerpt["text"][: len(text) - at] else None


def _parts(pieces: Sequence[_Piece]) -> tuple[Part, ...]:
    """A part for each excerpt, under its place; none if no excerpt has a place. An excerpt inside another one has no part."""
    if not any(piece.excerpt["place"] for piece in pieces):
        return ()
    found: list[Part] = []
    reached = 0
    for number, piece in enumerate(pieces, 1):
        if piece.ends > reached:
            reached = piece.ends
            place = piece.excerpt["place"] or f"passage {number}"
            cells = _CELLS.fullmatch(place)
            found.append(Part(piece.at, cells[1], cells[2]) if cells else Part(piece.at, place))
    return fit_parts(found)


def _measure(excerpt: Excerpt) -> Literal["points", "units"] | None:
    """How the device counts, as far as an excerpt shows it; both are the same for most texts."""
    length = excerpt["end"] - excerpt["start"]
    if length == len(excerpt["text"]):
        return "points"
    return "units" if length == _units(excerpt["text"]) else None


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _points(text: str, units: int) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore"))
