"""Parts of a thread by path, for lists that show one line of each thread without fetching all of it.

`values.messages[-1].content` is: a key, a key, an item counted from the end, a key. What is not there is `null`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import re2

from stepwell.errors import InvalidRequestError

_STEP = re2.compile(r"\.?([^.\[\]]+)|\[(-?[0-9]{1,9})\]")
_PATH = re2.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[-?[0-9]{1,9}\])*")


def extract(whole: Any, paths: Mapping[str, str]) -> dict[str, Any]:
    """Alias -> what stands at its path."""
    return {alias: _at(whole, _steps(path)) for alias, path in paths.items()}


def _steps(path: str) -> list[str | int]:
    if not _PATH.fullmatch(path):
        raise InvalidRequestError(f"'{path}' is no path to extract. Write it like 'values.messages[-1].content'.")
    return [match.group(1) if match.group(1) is not None else int(match.group(2)) for match in _STEP.finditer(path)]


def _at(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, str) and isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list | tuple) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value
