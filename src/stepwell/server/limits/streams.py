"""Limits how many streams a user may have open at a time, over all servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from stepwell.database.shared_counts import SharedCounts
from stepwell.errors import LimitReachedError


class OpenStreams:
    """Counts the streams of each owner: here those of this process and, if there is a limit, in `counts` those of all servers."""

    def __init__(self, most_per_owner: int | None, counts: SharedCounts) -> None:
        self._most = most_per_owner
        self._counts = counts
        self._open: Counter[str] = Counter()

    async def take(self, owner: str) -> Callable[[], None]:
        """Count one more stream, or raise `LimitReachedError`. Call the returned function when the stream has ended; it may be called
        twice."""
        give_back_shared = None if self._most is None else await self._counts.take(owner, self._most)
        if give_back_shared is None and self._most is not None:
            raise LimitReachedError(f"You have {self._most} streams open, which is the limit. Close one first.", 1)
        self._open[owner] += 1
        taken = [give_back_shared]

        def give_back(*_: Any) -> None:
            if taken:
                self._open[owner] -= 1
                if not self._open[owner]:
                    del self._open[owner]
                if (shared := taken.pop()) is not None:
                    shared()

        return give_back

    def count(self, owner: str) -> int:
        return self._open.get(owner, 0)
