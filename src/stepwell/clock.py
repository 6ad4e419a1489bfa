"""Time as an object that is passed in, so that tests can control it; and how a moment is written, for files and for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip


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


def spell_time(at: str) -> str:
    """A moment from a file as a person would write it: `17 November 2026, 02:26 UTC`. Returns text that is not a time unchanged."""
    try:
        moment = datetime.fromisoformat(at)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return at
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M} UTC"
