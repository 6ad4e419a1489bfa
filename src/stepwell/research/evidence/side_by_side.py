"""Concurrent work that ends together: if one part fails, the others are cancelled and awaited before the error is raised.

With a bare `gather`, the others would continue to send, pay and write to the trail for a research that has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def side_by_side(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order. Raises the first error itself, not an exception group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
