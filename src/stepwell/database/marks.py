"""Marks: short hashes of a thread's values, stored beside them, so that a search by values reads only the threads that may match.

There is one mark per key of the values. It stands for the key and its value if that is text, a number, true, false or null; otherwise for
the key and whether the value is a list or an object. Values that are equal in a search have the same mark (`1` and `1.0`). Values with the
same mark need not be equal, so the caller compares those of every thread that is found.

Values with very many keys have no marks, and neither do those that an older version stored. Such threads always count as possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import orjson

from stepwell.sql import Clause

MAX_MARKS = 64
_SIZE = 4
_LIST, _OBJECT = b"[", b"{"


def marks_of(text: bytes) -> str | None:
    """The marks of values in JSON. Values that are not an object match no search, so they get an empty text."""
    with suppress(orjson.JSONDecodeError):  # reading the values will tell
        values = orjson.loads(text)
        return _join((key, _kind(value)) for key, value in values.items()) if isinstance(values, dict) else ""
    return None


def marks_of_fields(fields: Mapping[str | None, bytes | bytearray]) -> str | None:
    """Like `marks_of`, for values in fields, each in JSON; a field without a name is not an object."""
    with suppress(orjson.JSONDecodeError):
        return _join((key, _kind_of_text(text)) for key, text in fields.items() if key is not None)
    return None


def may_hold(leaves: Iterable[tuple[Sequence[str], Any]]) -> Clause:
    """The condition on a row of `thread_values` that its values may have these values at these paths."""
    marks = [_mark(path[0], _OBJECT if len(path) > 1 else _kind(value)) for path, value in leaves]
    return Clause(f"(marks IS NULL OR ({' AND '.join(['marks LIKE ?'] * len(marks))}))", tuple(f"%{mark}%" for mark in marks))


def _join(kinds: Iterable[tuple[str, bytes]]) -> str | None:
    marks = [_mark(key, kind) for key, kind in kinds]
    return None if len(marks) > MAX_MARKS else "".join(marks)


def _mark(key: str, kind: bytes) -> str:
    name = key.encode("utf-8", "surrogatepass")
    return blake2b(b"%d %b%b" % (len(name), name, kind), digest_size=_SIZE).hexdigest() + " "


def _kind_of_text(text: bytes | bytearray) -> bytes:
    first = bytes(text[:1])
    return first if first in (_LIST, _OBJECT) else _kind(orjson.loads(text))


def _kind(value: Any) -> bytes:
    match value:
        case None | bool():
            return b"%b" % str(value).encode()
        case str():
            return b'"' + value.encode("utf-8", "surrogatepass")
        case int() | float():
            return b"#" + _number(value)
        case Mapping():
            return _OBJECT
        case _:
            return _LIST


def _number(value: float) -> bytes:
    try:
        return b"%d/%d" % value.as_integer_ratio()
    except (OverflowError, ValueError):  # not finite
        return str(value).encode()
