"""Measures a JSON text: its depth and its number of values; and finds integers and lists of messages that are too long. Pure functions.

Depth and values are measured *before* anything parses the text: a recursive parser must not meet a thousand brackets, and a graph needs
seconds to convert a hundred thousand tiny objects, however few bytes they have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import orjson

_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_DIGITS_AS_ZEROS = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))
_MANY_DIGITS = b"0" * 19
"""As many digits as the smallest integer that is too long."""
_MOST_DIGITS = 20
_PLACE_CHARS = 200
_MESSAGES = ("messages", "input")
"""Names of lists that become messages; `input` itself is such a list in a graph whose state is only messages."""


def measure_json(body: bytes) -> tuple[int, int]:
    """The depth of brackets outside strings, and the number of values, counted as opening brackets and commas. Linear, without
    recursion; the parser reports text that is not JSON."""
    # Remove escaped backslashes first, then escaped quotes: the remaining quotes alternately open and close strings.
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(unescaped.split(b'"')[::2])
    brackets = outside.translate(_STEPS, _NO_BRACKETS)
    depth = max(accumulate(memoryview(brackets).cast("b")), default=0)
    return depth, brackets.count(b"\x01") + outside.count(b",")


def may_be_over(body: bytes, most_depth: int, most_items: int) -> bool:
    """A cheap check whether depth or values can exceed the limits at all. It also counts what is inside strings."""
    opening = body.count(b"[") + body.count(b"{")
    return opening > most_depth or opening + body.count(b",") > most_items


def place_of_many_messages(body: bytes, most: int) -> str | None:
    """The path of a list with more than `most` messages, as keys joined by dots. `None` if there is none, or if the body is not JSON,
    which the parser reports."""
    try:
        value = orjson.loads(body)
    except ValueError:
        return None
    return next((place for place, one in _walk(value) if _is_messages(place, one) and len(one) > most), None)


def _is_messages(place: str, value: Any) -> bool:
    return isinstance(value, list) and place.rpartition(".")[2] in _MESSAGES


class _Long:
    """Replaces an integer that is too long in the parsed value."""


def may_hold_long_integer(body: bytes) -> bool:
    """A cheap check without parsing: few bodies have a number with so many digits. Only those are parsed an extra time."""
    return _MANY_DIGITS in body.translate(_DIGITS_AS_ZEROS)


def place_of_long_integer(body: bytes) -> str | None:
    """The path of the first integer that is too long, as `body` and the keys below it, joined by dots.

    `None` for text that is not JSON, which the parser reports. We do not report the number itself, because it may be a secret.
    """
    try:
        value = json.loads(body, parse_int=_look)
    except ValueError:
        return None
    return next((place for place, one in _walk(value) if isinstance(one, _Long)), None)


def _look(digits: str) -> int | _Long:
    return 0 if len(digits) <= _MOST_DIGITS and -(2**63) <= int(digits) < 2**64 else _Long()


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Every value in order, with only the end of its path: a key may be as long as a body and have many values below it."""
    waiting: list[tuple[str, Any]] = [("body", value)]
    while waiting:
        place, one = waiting.pop()
        yield place, one
        waiting += [(f"{place}.{name}"[-_PLACE_CHARS:], part) for name, part in reversed(_parts(one))]


def _parts(value: Any) -> list[tuple[str | int, Any]]:
    """The values inside a value, by name. LangGraph reads a list of pairs as an object: the first item of a pair names the second."""
    if isinstance(value, dict):
        return list(value.items())
    if not isinstance(value, list):
        return []
    if len(value) == 2 and isinstance(value[0], str):
        return [(0, value[0]), (value[0], value[1])]
    return list(enumerate(value))
