"""How many streams a user may hold open at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from stepwell.errors import LimitReachedError


class OpenStreams:
    """How many streams each owner holds open in this process."""

    def __init__(self, most_per_owner: int | None) -> None:
        self._most = most_per_owner
        self._open: Counter[str] = Counter()

    def take(self, owner: str) -> Callable[[], None]:
        """Count one more, or raise `LimitReachedError`. Call what it gives when the stream has ended; more than once is fine."""
        if self._most is not None and self._open[owner] >= self._most:
            raise LimitReachedError(f"You have {self._most} streams open, as many as allowed. Close one first.", 1)
        self._open[owner] += 1
        taken = [owner]

        def give_back(*_: Any) -> None:
            if taken:
                self._open[taken.pop()] -= 1
                if not self._open[owner]:
                    del self._open[owner]

        return give_back

    def count(self, owner: str) -> int:
        return self._open.get(owner, 0)
