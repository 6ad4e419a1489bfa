"""When a cron's runs start: five fields, as in Debian's cron, read in a time zone.

| when clocks change | `30 2 * * *`: minute and hour are fixed | `*/15 * * * *`, `30 * * * *`: minute or hour starts with `*` |
|---|---|---|
| an hour is skipped | once, at the first minute after the gap | as time passes; the skipped hour has none |
| an hour comes twice | once, in its first pass | in both passes |

A slot is a moment in UTC. Two times of day that become the same moment, as in a gap, are one slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from stepwell.errors import InvalidRequestError

_FIELDS = 5
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LAST_YEAR = 9900
"""Beyond this, dates have no room for a time zone's offset."""


@dataclass(frozen=True)
class Schedule:
    """An expression and a time zone, both valid: see `parse_schedule`."""

    expression: str
    timezone: str | None = None

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The slots after a moment, in order, in UTC. Few schedules have an end; the iteration is as long as it is read."""
        from cronsim import CronSim  # imported on demand: only schedules need it

        latest = moment
        times = CronSim(_spell_out(self.expression), moment.astimezone(_zone(self.timezone)))
        for time in times:
            slot = time.astimezone(UTC)
            # In an hour's second pass, a fixed time of its first pass is over.
            if slot > latest:
                latest = slot
                yield slot
            if time.year > _LAST_YEAR:
                return

    def next_after(self, moment: datetime, end: datetime | None = None) -> datetime | None:
        """The next slot; None if there is none up to `end`."""
        slot = next(self.after(moment), None)
        return None if slot is None or (end is not None and slot > end) else slot

    def between(self, since: datetime, until: datetime) -> list[datetime]:
        """The slots after `since` and up to `until`."""
        slots = []
        for slot in self.after(since):
            if slot > until:
                break
            slots.append(slot)
        return slots

    def newest_between(self, since: datetime, until: datetime, limit: int) -> tuple[list[datetime], bool]:
        """The newest slots after `since` and up to `until`: at least `limit`, if there are that many, and whether there are older ones.
        What this costs depends on `limit`, and hardly on how long ago `since` was."""
        width = timedelta(hours=1)
        while until - width > since:
            if len(found := self.between(until - width, until)) >= limit:
                return found, self.next_after(since, until - width) is not None
            width *= 2
        return self.between(since, until), False


def parse_schedule(expression: str, timezone: str | None) -> Schedule:
    """Raises `InvalidRequestError` for an expression or a time zone that is not valid, or that never comes."""
    from cronsim import CronSim, CronSimError

    text = _spell_out(expression)
    if (count := len(text.split())) != _FIELDS:
        raise InvalidRequestError(
            f"The schedule '{expression}' has {count} fields. It needs {_FIELDS}: minute, hour, day of month, month, day of week. "
            "'0 9 * * 1-5' is nine o'clock on working days."
        )
    zone = _zone(timezone)
    start = datetime(2024, 1, 1, tzinfo=zone)
    try:
        never = next(CronSim(text, start), None) is None
    except (CronSimError, ValueError, AssertionError, TypeError) as error:
        reason = str(error).lower() if isinstance(error, CronSimError) else "not understood"
        raise InvalidRequestError(
            f"The schedule '{expression}' is not valid: {reason}. Write minute, hour, day of month, month and day of week, such as "
            "'*/15 * * * *' or '0 9 * * mon-fri'."
        ) from error
    if never:
        raise InvalidRequestError(f"The schedule '{expression}' names no day that exists, so nothing would ever run.")
    return Schedule(expression, timezone)


def _spell_out(expression: str) -> str:
    return _NAMED.get(expression.strip().lower(), expression)


def _zone(timezone: str | None) -> tzinfo:
    if timezone is None:
        return UTC
    try:
        zone = ZoneInfo(timezone)
    except (LookupError, ValueError, OSError) as error:
        raise InvalidRequestError(
            f"There is no time zone '{timezone[:80]}'. Give its name in the IANA database, such as 'Europe/Berlin'. Without one, UTC."
        ) from error
    return UTC if timezone == "UTC" else zone
