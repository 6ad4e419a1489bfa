"""What is limited for an installation as a whole, however many servers it has: streams that are open, and what may happen so many
times in a while. A seam, and its implementation for one process.

```
take ─> open ─ give back ─> free      a server that dies gives back all of its own, as soon as it is not heard of any more
count ─> 1, 2, 3 ... until the while is over, then anew
```
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from stepwell.clock import Clock

_MOST_NAMES = 10_000

GiveBack = Callable[[], None]
"""Call it once, when the stream has ended."""


@dataclass(frozen=True)
class Counted:
    """How often something has happened in the while that is under way."""

    number: int
    left_s: float
    """Until it is counted anew."""


class SharedCounts(Protocol):
    """Belongs to the event loop of its server."""

    async def take(self, owner: str, most: int) -> GiveBack | None:
        """One more stream of this owner is open here; `None` when that would be more than `most`, on all servers together."""
        ...

    async def count(self, name: str, window_s: float, times: int = 1) -> Counted:
        """It has happened so many times more, on this server. Gives how often on all of them; the first time begins a new while."""
        ...


class ProcessCounts:
    """`SharedCounts` of a process that has its database to itself: in memory."""

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
        if len(self._counted) > _MOST_NAMES:
            self._counted.popitem(last=False)
        return Counted(number + times, ends - now)
