"""Runs sync functions of users in a thread, for async code: hooks, checks, backends, functions that make graphs.

Our own functions can use `asyncio.to_thread`. What a user wrote may raise `StopIteration`, mostly from a `next(...)` that found nothing.
An asyncio future cannot hold that one, so whoever awaits it would wait forever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`asyncio.to_thread`, with a `StopIteration` raised as the `RuntimeError` that a coroutine would make of it."""

    def run() -> T:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:
            raise RuntimeError(
                f"StopIteration: {error}" if str(error) else "StopIteration, as of next() without a default"
            ) from error

    return await asyncio.to_thread(run)
