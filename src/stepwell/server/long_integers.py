"""Integers that 64 bits do not hold. A parser would make a float near them, and a checkpoint cannot keep them: they are refused,
never rounded.

The usual body has no number of so many digits, which is seen without parsing it; only then it is parsed once more to look.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_DIGITS_AS_ZEROS = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))
_MANY_DIGITS = b"0" * 19
"""As many as the first integer that is too large has."""
_MOST_DIGITS = 20


class _Long:
    """Stands for the integer in what is parsed."""


def may_hold_long_integer(body: bytes) -> bool:
    return _MANY_DIGITS in body.translate(_DIGITS_AS_ZEROS)


def place_of_long_integer(body: bytes) -> str | None:
    """Where the first that is too long stands, as `body` and the keys below it, joined by dots.

    What is no JSON has none: the parser that follows says so. The number itself is not told: it may be a secret.
    """
    try:
        value = json.loads(body, parse_int=_look)
    except ValueError:
        return None
    return next(_places_in(value), None)


def _look(digits: str) -> int | _Long:
    return 0 if len(digits) <= _MOST_DIGITS and -(2**63) <= int(digits) < 2**64 else _Long()


def _places_in(value: Any) -> Iterator[str]:
    waiting: list[tuple[str, Any]] = [("body", value)]
    while waiting:
        place, one = waiting.pop()
        if isinstance(one, _Long):
            yield place
        parts = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        waiting += [(f"{place}.{name}", part) for name, part in reversed(list(parts))]
