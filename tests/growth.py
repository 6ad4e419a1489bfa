"""How the time of something grows with its size. No test knows how fast the machine is, so nothing here counts in seconds.

Both sizes are measured in the same process, in CPU time, at their best of some rounds. Eight times the size may take 24 times as
long: a line passes with room to spare for a busy machine, a square (64 times) does not. Choose sizes at which a square would hurt:
below a millisecond nothing can be told apart. How fast something is belongs in `benchmarks/`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
TIMES = 8
MOST = 3 * TIMES
ROUNDS = 6
SHORTEST_S = 0.001
"""A shorter time is noise and counts as this much."""


def assert_linear(work: Callable[[T], object], make: Callable[[int], T], size: int) -> None:
    """Fail if `work` on something `TIMES` as large as `size` takes far more than `TIMES` as long; `make` makes it, unmeasured."""
    small, large = make(size), make(TIMES * size)
    small_s = large_s = float("inf")
    for _ in range(ROUNDS):
        small_s, large_s = min(small_s, cpu_s(work, small)), min(large_s, cpu_s(work, large))
        if large_s <= MOST * max(small_s, SHORTEST_S):
            return
    raise AssertionError(
        f"{TIMES} times the size takes {large_s / small_s:.0f} times as long ({small_s:.4f} s, {large_s:.4f} s)"
    )


def cpu_s(work: Callable[[T], object], given: T) -> float:
    """The CPU seconds of this process for one call. A collection of garbage made elsewhere would be counted too, so none is made."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        began = time.process_time()
        work(given)
        return time.process_time() - began
    finally:
        if collecting:
            gc.enable()
