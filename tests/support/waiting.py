"""Waiting for a fact. A test never waits for a time: how long something takes is the machine's affair, and the time-out is only there to
tell "it has not happened yet" from "it never will"."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 120.0
_PAUSE_S = 0.02


def wait_until(fact: Callable[[], T], what: str) -> T:
    """Ask again and again until the answer is true, and give it; `what` says in the error what never came to pass."""
    until = time.monotonic() + PATIENCE_S
    while not (found := fact()):
        assert time.monotonic() < until, f"after {PATIENCE_S:g} s: {what}"
        time.sleep(_PAUSE_S)
    return found
