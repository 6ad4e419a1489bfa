"""Time as an object that is passed in, so that tests can control it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time of day."""

    def now(self) -> datetime:
        """The current moment, with its time zone."""
        ...


class SystemClock:
    """The machine's own clock, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def timestamp(clock: Clock) -> str:
    """The current time as ISO 8601, the format used in files."""
    return clock.now().isoformat()
