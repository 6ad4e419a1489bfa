"""The JSON that hashes are computed from: each value has exactly one sequence of bytes.

Keys sorted, no spaces, UTF-8, no unnecessary escapes. Instead of guessing, we reject fractions, because languages print them differently;
integers that other readers round; keys that are not text; and text that is not Unicode.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from stepwell.errors import EvidenceError

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 64


def canonical(value: Any) -> bytes:
    """The bytes of a value; `EvidenceError` names the first invalid place."""
    _check(value, "data")
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check(value: Any, place: str, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise EvidenceError(f"{place[:100]} lies more than {MAX_DEPTH} levels deep. Store it as bytes instead.")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise EvidenceError(f"{place} is a number of more than 53 bits, which other readers round. Write it as text.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise EvidenceError(f"{place} has the key {key!r}, which is not text.")
            _check_text(key, place)
            _check(inner, f"{place}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            _check(inner, f"{place}[{position}]", depth + 1)
    elif isinstance(value, float):
        raise EvidenceError(f"{place} is a fraction, which languages print differently. Write it as text or in smaller units.")
    else:
        raise EvidenceError(f"{place} is a {type(value).__name__}; a trail holds text, integers, lists and objects.")


def _check_text(text: str, place: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EvidenceError(f"{place} holds half a character (a lone surrogate). Replace it before storing.") from error
