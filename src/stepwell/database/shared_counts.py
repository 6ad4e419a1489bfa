"""Limits that apply to all servers of an installation together: open streams, and how often something may happen within a time window.
This module contains the protocol, and its implementation for one process.

```
take ─> open ─ give back ─> free      a dead server's streams are freed as soon as its heartbeat stops
count ─> 1, 2, 3 ... until the window ends, then from 1 again
```
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from stepwell.clock import Clock

_MAX_NAMES = 10_000

GiveBack = Callable[[], None]
"""Call it once, when the stream ends."""


@dataclass(frozen=True)
class Counted:
    """How often something has happened in the current window."""

    number: int
    left_s: float
    """Seconds until the window ends."""


class SharedCounts(Protocol):
    """Belongs to the event loop of its server."""

    async def take(self, owner: str, most: int) -> GiveBack | None:
        """Count one more open stream for this owner; `None` if that would exceed `most`, across all servers."""
        ...

    async def count(self, name: str, window_s: float, times: int = 1) -> Counted:
        """Count `times` more occurrences on this server. Returns the total across all servers in the current window; the first occurrence
        starts a new window."""
        ...


class ProcessCounts:
    """`SharedCounts` in memory, for a process that has its database to itself."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: Counter[str] = Counter()
        self._counted: OrderedDict[str, tuple[float, int]] = OrderedDict()

    async def take(self, owner: str, most: int) -> GiveBack | None:
        if self._open[owner] >= most:
            return None
        self._open[owner] += 1

        def give_back() -> None:
            self._open[owner] -= 1
            if not self._open[owner]:
                del self._open[owner]

        return give_back

    async def count(self, name: str, window_s: float, times: int = 1) -> Counted:
        now = self._clock.now().timestamp()
        ends, number = self._counted.pop(name, (0.0, 0))
        if ends <= now:
            ends, number = now + window_s, 0
        self._counted[name] = ends, number + times
        if len(self._counted) > _MAX_NAMES:
            self._counted.popitem(last=False)
        return Counted(number + times, ends - now)
