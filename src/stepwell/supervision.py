"""Loops that run for as long as the process lives, supervised in one place: driving runs, delivering webhooks, housekeeping.

```
start ─> loop ──raises──> logged, counted, a growing pause ─> loop again
           └─ returns: it was told to end
a loop of many steps reports each one to its `Duty`: succeeded, or failed and how long to pause
```

A failure never ends a duty. A duty whose last step failed is *failing*: `/metrics` shows that, and a failing vital duty makes the server
not ready.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from stepwell.errors import StorageUnavailableError

logger = logging.getLogger(__name__)

SHORTEST_S = 1.0
LONGEST_S = 60.0
_MAX_DOUBLINGS = 10


class Duty:
    """One supervised loop, and whether its last step succeeded."""

    def __init__(self, name: str, *, vital: bool = False, shortest_s: float = SHORTEST_S) -> None:
        self.name = name
        self.vital = vital
        self.failures = 0
        self.failing: str | None = None
        """Why its last step failed; `None` if it succeeded."""
        self._shortest_s = shortest_s
        self._in_a_row = 0

    def succeeded(self) -> None:
        if self.failing is not None:
            logger.info("%s: working again", self.name)
        self.failing, self._in_a_row = None, 0

    def failed(self, error: Exception) -> float:
        """Log the error. Returns how many seconds to pause before the next attempt."""
        self.failures += 1
        self.failing = f"{type(error).__name__}: {error}"
        if isinstance(error, StorageUnavailableError):
            # This is expected and ends once space is freed, so we retry soon and log no traceback.
            logger.warning("%s: waiting for the database: %s", self.name, error)
            return self._shortest_s
        self._in_a_row = min(self._in_a_row + 1, _MAX_DOUBLINGS)
        pause_s = min(self._shortest_s * 2.0 ** (self._in_a_row - 1), LONGEST_S)
        logger.error("%s failed; retrying in %g s", self.name, pause_s, exc_info=error)
        return pause_s


Loop = Callable[[Duty], Awaitable[None]]


class Supervisor:
    """Starts duties and keeps them running. Belongs to the event loop it is used in."""

    def __init__(self, *, shortest_s: float = SHORTEST_S) -> None:
        self._shortest_s = shortest_s
        self._duties: dict[str, Duty] = {}

    @property
    def duties(self) -> Sequence[Duty]:
        return tuple(self._duties.values())

    def failing(self, *, vital: bool) -> Sequence[Duty]:
        """Duties whose last step failed; with `vital`, only those the server can't do without."""
        return [duty for duty in self.duties if duty.failing is not None and (duty.vital or not vital)]

    def start(self, name: str, loop: Loop, *, vital: bool = False) -> asyncio.Task[None]:
        """Run a loop until it returns. Cancel the task to stop it."""
        duty = self._duties[name] = Duty(name, vital=vital, shortest_s=self._shortest_s)
        return asyncio.create_task(_keep_going(duty, loop), name=name)

    def repeat(self, name: str, step: Callable[[], Awaitable[object]], every_s: float) -> asyncio.Task[None]:
        """Run a step every `every_s` seconds; after a failure, retry it after the pause of a failing duty instead."""

        async def loop(duty: Duty) -> None:
            while True:
                await step()
                duty.succeeded()
                await asyncio.sleep(every_s)

        return self.start(name, loop)


async def _keep_going(duty: Duty, loop: Loop) -> None:
    while True:
        try:
            return await loop(duty)
        except Exception as error:
            await asyncio.sleep(duty.failed(error))


async def stop(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel duties that would run forever, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
