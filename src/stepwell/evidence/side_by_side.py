"""Work side by side that ends together: if one part fails, the others are stopped and waited for before the failure is told.

With a bare `gather` they would go on: sending, paying and writing to the trail for a research that has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def side_by_side(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order; what the first part to fail raised, as it is and not in a group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
