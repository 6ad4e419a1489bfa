"""JSON that a thread writes again and again, stored as its changes: the state in `values` events, in the thread's record, in results.

A *document* is such a text. It has a number within its thread and is stored either complete or as changes to an earlier document, its base:

```
1 complete ──> 2 changes ──> 3 changes ──> ...     a chain; a base always has a smaller number
```

A text consists of the fields of a JSON object, in order (or one field without a name if it isn't an object), and a change replaces one
stretch of one field. The text sent live and the text replayed later are the same by construction: nothing is read from checkpoints, and
reading a log needs no graph. This module is pure: it only handles numbers and bytes, and the event log stores them.

Rules to keep: documents go to the log in the order they were made, because otherwise a base would be missing. A message counts as unchanged
if it is the same object with the same content; the newest few are always compared in full, since middleware may edit the answer it just
received in place.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter, is_
from typing import Any, NamedTuple

import orjson
from langchain_core.messages import BaseMessage

from stepwell.database.marks import marks_of_fields
from stepwell.database.types import Document, NewEvent, StoredDocument
from stepwell.state.wire import encode

Key = str | None
Texts = dict[Key, bytearray]
"""A document's fields, as JSON, in order."""

SMALL = 1024
"""A text below this size is stored unchanged."""
_LOOK_BEHIND = 4096
_MAX_PACKED = 64 * 1024
_WINDOW, _MEMORY = -13, 5  # raw deflate that looks 8 kB back; zlib's defaults would spend most time on clearing memory
_NOTHING = b"\0"  # zlib rejects an empty dictionary
_NEWEST = 8
_LONGEST_CHAIN = 10_000
_STRETCH = 4096


class _Splice(NamedTuple):
    key: Key
    start: int
    end: int
    text: bytes


def pack(splices: Iterable[_Splice], texts: Mapping[Key, bytes | bytearray], order: list[Key] | None) -> bytes:
    """Changes as bytes. `texts` may be the fields before or after the changes, because the text in front of a splice is the same in
    both."""
    heads: list[Any] = []
    bodies: list[bytes] = []
    for key, start, end, text in splices:
        packed = _deflate(text, bytes(texts.get(key, b"")[max(0, start - _LOOK_BEHIND) : start]))
        bodies.append(text if packed is None else packed)
        heads.append([key, start, end, len(bodies[-1]), int(packed is not None)])
    return b"".join((orjson.dumps([heads, order]), b"\n", *bodies))


def apply(texts: Texts, changes: bytes) -> Texts:
    """The fields after the changes; the given fields may be modified."""
    head, body = changes.split(b"\n", 1)
    heads, order = orjson.loads(head)
    place = 0
    for key, start, end, size, packed in heads:
        text = texts.setdefault(key, bytearray())
        piece = body[place : place + size]
        text[start:end] = _inflate(piece, bytes(text[max(0, start - _LOOK_BEHIND) : start])) if packed else piece
        place += size
    return texts if order is None else {key: texts[key] for key in order}


def join(texts: Mapping[Key, bytes | bytearray]) -> bytes:
    """The whole text."""
    if None in texts:
        return bytes(texts[None])
    pieces: list[bytes | bytearray] = [b"{"]
    for key, text in texts.items():
        pieces += (orjson.dumps(key), b":", text, b",")
    pieces[-1:] = [b"}"] if texts else [b"{}"]
    return b"".join(pieces)  # one copy of the texts, which may be megabytes


@dataclass
class _Field:
    """One field as it was last written; for a list of messages, also the messages, and where the text of each ends."""

    text: bytearray = field(default_factory=bytearray)
    messages: list[BaseMessage] = field(default_factory=list)
    contents: list[Any] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def change(self, value: Any) -> tuple[int, int, bytes] | None:
        """Set a new value. Returns the stretch that differs and its new text, or `None`."""
        start, text = self._rest(value)
        before = bytes(self.text[start:])
        if before == text:
            return None
        same = _common_start(before, text)
        end = _common_end(before, text, min(len(before), len(text)) - same)
        splice = (start + same, len(self.text) - end, text[same : len(text) - end])
        self.text[splice[0] : splice[1]] = splice[2]
        return splice

    def _rest(self, value: Any) -> tuple[int, bytes]:
        """From where the text may differ, and the new text from there."""
        if not isinstance(value, list) or not value:
            self.messages, self.contents, self.ends = [], [], []
            return 0, encode(value)
        known = self._count_unchanged(value)
        if not all(isinstance(item, BaseMessage) for item in value[known:]):
            self.messages, self.contents, self.ends = [], [], []
            return 0, encode(value)
        pieces = [encode(message) for message in value[known:]]
        start = self.ends[known - 1] if known else 0
        self.messages[known:] = value[known:]
        self.contents[known:] = [message.content for message in value[known:]]
        del self.ends[known:]
        place = start
        for piece in pieces:
            place += len(piece) + 1  # the bracket or the comma before it
            self.ends.append(place)
        return start, (b"," if known else b"[") + b",".join(pieces) + b"]"

    def _count_unchanged(self, value: list[Any]) -> int:
        """How many messages at the front need no comparison."""
        same = _count_same(self.messages, value)
        same = _count_same(self.contents, list(map(attrgetter("content"), value[:same])))
        return max(0, same - _NEWEST)


@dataclass
class _Chain:
    number: int | None = None
    fields: dict[Key, _Field] = field(default_factory=dict)
    bytes_since_whole: int = 0
    length: int = 0


class DocumentBook:
    """Writes the documents of one lease, in the order of their numbers."""

    def __init__(
        self, newest: int = 0, values: tuple[int, Texts] | None = None, wants_text: Callable[[], bool] = lambda: True
    ) -> None:
        self._newest = self._stored = newest
        self._wants_text = wants_text
        self._chains: dict[str, _Chain] = {}
        self._templates: dict[str, tuple[int, bytes]] = {}
        if values:
            number, texts = values
            self._chains[VALUES] = _Chain(number, {key: _Field(text) for key, text in texts.items()})

    def write(self, chain: str, value: Any, *, small: int = SMALL) -> bytes | Document:
        """The value as JSON if it is small, otherwise as a change to the last value written to the same chain."""
        standing = self._chains.get(chain)
        if standing is None or standing.number is None:
            text = encode(value)
            if len(text) < small:
                return text
            standing = self._chains[chain] = _Chain()
        return self._change(standing, value, small)

    def write_values(self, values: Any) -> bytes | Document:
        """The values that a thread's record is to show, with their marks."""
        written = self.write(VALUES, values)
        if isinstance(written, bytes):
            return written
        fields = self._chains[VALUES].fields
        return written._replace(marks=marks_of_fields({key: each.text for key, each in fields.items()}))

    def event(self, name: str, chain: str, value: Any) -> NewEvent:
        """An event with the value as its data."""
        written = self.write(chain, value)
        return (
            NewEvent(name, written)
            if isinstance(written, bytes)
            else NewEvent(name, written.text or b"", StoredDocument(written))
        )

    def event_like(self, event: NewEvent, message_id: str) -> NewEvent:
        """The same event, stored as its difference from other events about the message, because much of what comes with each token of an
        answer is the same every time."""
        return event._replace(stored=self._like(f"{event.event} {message_id}", event.data))

    def event_grown(self, event: NewEvent, message_id: str) -> NewEvent:
        """The same event, stored as what it adds to the previous event; for answers whose whole text is sent again with each token."""
        written = self.write(f"{event.event} {message_id}", orjson.Fragment(event.data), small=0)
        return event if isinstance(written, bytes) else event._replace(stored=StoredDocument(written))

    def _like(self, template: str, text: bytes) -> StoredDocument | None:
        if (found := self._templates.get(template)) is not None:
            number, before = found
            start = _common_start(before, text)
            end = _common_end(before, text, min(len(before), len(text)) - start)
            if 2 * (start + end) >= len(text):
                return StoredDocument(Document(number, None, None), (start, end))
        if len(text) < SMALL // 8:
            return None
        self._newest += 1
        self._templates[template] = (self._newest, text)
        return StoredDocument(Document(self._newest, None, pack([_Splice(None, 0, 0, text)], {}, [None])), (len(text), 0))

    def go_back_to(self, number: int) -> None:
        """Documents of this book above this number did not reach the log, so use none of them as a base."""
        for chain in self._chains.values():
            if chain.number is not None and chain.number > max(number, self._stored):
                chain.number = None

    def _change(self, chain: _Chain, value: Any, small: int) -> bytes | Document:
        given = _fields_of(value)
        splices = []
        for key, item in given.items():
            splice = chain.fields.setdefault(key, _Field()).change(item)
            if splice is not None:
                splices.append(_Splice(key, *splice))
        order = None if list(chain.fields) == list(given) else list(given)
        if order is not None:
            chain.fields = {key: chain.fields[key] for key in order}
        size = sum(len(each.text) for each in chain.fields.values())
        if size < small:
            chain.number = None
            return self._join(chain)
        if chain.number is not None and not splices and order is None:
            return Document(chain.number, None, None, self._text(chain))
        return self._add(chain, splices, order, size)

    def _add(self, chain: _Chain, splices: list[_Splice], order: list[Key] | None, size: int) -> Document:
        self._newest += 1
        texts = {key: each.text for key, each in chain.fields.items()}
        changed = sum(len(splice.text) for splice in splices)
        chain.bytes_since_whole += changed
        chain.length += 1
        base = chain.number
        # The cost of reading grows with the chain's bytes, so a chain restarts once its changes are twice as long as its text.
        if base is None or 2 * changed > size or chain.bytes_since_whole > 2 * size or chain.length > _LONGEST_CHAIN:
            base, chain.bytes_since_whole, chain.length = None, 0, 0
            splices, order = [_Splice(key, 0, 0, bytes(text)) for key, text in texts.items()], list(texts)
        chain.number = self._newest
        return Document(self._newest, base, pack(splices, texts if base else {}, order), self._text(chain))

    def _text(self, chain: _Chain) -> bytes | None:
        return self._join(chain) if self._wants_text() else None

    def _join(self, chain: _Chain) -> bytes:
        return join({key: each.text for key, each in chain.fields.items()})


class GrowingText:
    """Encodes values that have much in common, such as those of a history, one after the other; common parts are encoded once."""

    def __init__(self) -> None:
        self._fields: dict[Key, _Field] = {}

    def show(self, value: Any) -> orjson.Fragment:
        """The value as JSON, to embed in a larger response."""
        given = _fields_of(value)
        for key, item in given.items():
            self._fields.setdefault(key, _Field()).change(item)
        return orjson.Fragment(join({key: self._fields[key].text for key in given}))


VALUES = "values"
"""The chain of the root graph's values; it continues from run to run."""


def _fields_of(value: Any) -> Mapping[Key, Any]:
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else {None: value}


def _count_same(one: list[Any], other: list[Any]) -> int:
    """How many items at the front are the same objects."""
    if all(map(is_, one, other)):  # the usual case, and several times faster than finding the difference
        return min(len(one), len(other))
    return next(index for index, same in enumerate(map(is_, one, other)) if not same)


def _common_start(one: bytes, other: bytes) -> int:
    """How many bytes are the same at the front."""
    most = min(len(one), len(other))
    place = 0
    while place < most and one[place : place + _STRETCH] == other[place : place + _STRETCH]:
        place += _STRETCH
    return place + _bisect(min(_STRETCH, most - place), lambda size: one[place : place + size] == other[place : place + size])


def _common_end(one: bytes, other: bytes, most: int) -> int:
    """How many bytes are the same at the end, at most `most`."""

    def same(done: int, size: int) -> bool:
        ends = len(one) - done, len(other) - done
        return one[ends[0] - size : ends[0]] == other[ends[1] - size : ends[1]]

    place = 0
    while place + _STRETCH <= most and same(place, _STRETCH):
        place += _STRETCH
    return place + _bisect(min(_STRETCH, most - place), lambda size: same(place, size))


def _bisect(most: int, holds: Callable[[int], bool]) -> int:
    """The largest size up to `most` for which `holds` is true. If it is true for one size, it must be true for all smaller ones."""
    low, high = 0, max(0, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _deflate(text: bytes, before: bytes) -> bytes | None:
    """The text, compressed with the preceding text as dictionary; `None` if that doesn't help."""
    if not 64 <= len(text) <= _MAX_PACKED:
        return None
    packer = zlib.compressobj(6, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=before or _NOTHING)
    packed = packer.compress(text) + packer.flush()
    return packed if len(packed) < len(text) else None


def _inflate(packed: bytes, before: bytes) -> bytes:
    unpacker = zlib.decompressobj(_WINDOW, zdict=before or _NOTHING)
    return unpacker.decompress(packed) + unpacker.flush()
