"""How the time of something grows with its size. No test knows how fast the machine is, so nothing here counts in seconds.

Both sizes are measured in the same process, in CPU time, at their best of some rounds. Eight times the size may take 24 times as
long: a line passes with room to spare for a busy machine, a square (64 times) does not. Choose sizes at which a square would hurt:
below a millisecond nothing can be told apart. How fast something is belongs in `benchmarks/`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
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
        if _is_linear(small_s, large_s):
            return
    raise AssertionError(_explain(small_s, large_s))


async def assert_linear_async(work: Callable[[T], Awaitable[object]], small: T, large: T) -> None:
    """The same for something that is awaited, with both sizes made by the caller."""
    small_s = large_s = float("inf")
    for _ in range(ROUNDS):
        small_s, large_s = min(small_s, await _awaited_s(work, small)), min(large_s, await _awaited_s(work, large))
        if _is_linear(small_s, large_s):
            return
    raise AssertionError(_explain(small_s, large_s))


def cpu_s(work: Callable[[T], object], given: T) -> float:
    """The CPU seconds of this process for one call."""
    with _no_collection():
        began = time.process_time()
        work(given)
        return time.process_time() - began


def unit_s() -> float:
    """What this machine takes now for a fixed piece of work: a measure for what has only one size."""
    return min(cpu_s(lambda most: sum(number % 7 for number in range(most)), 100_000) for _ in range(ROUNDS))


async def _awaited_s(work: Callable[[T], Awaitable[object]], given: T) -> float:
    with _no_collection():
        began = time.process_time()
        await work(given)
        return time.process_time() - began


@contextmanager
def _no_collection() -> Iterator[None]:
    """Garbage that other tests have made is not collected, and counted, now."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _is_linear(small_s: float, large_s: float) -> bool:
    return large_s <= MOST * max(small_s, SHORTEST_S)


def _explain(small_s: float, large_s: float) -> str:
    return f"{TIMES} times the size takes {large_s / small_s:.0f} times as long ({small_s:.4f} s, {large_s:.4f} s)"
