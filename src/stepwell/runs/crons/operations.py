"""What a caller can do with crons. Every call names an owner; another owner's crons are reported as not found.

A cron's order is checked when it is made, as far as that can be known then: its assistant, its input, its webhook. Gates of products, such
as payments, are asked each time that a run starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from stepwell.clock import Clock
from stepwell.database.callers import stamped
from stepwell.database.crons import Cron, CronAccess, CronFilter, CronSlot, CronTable
from stepwell.database.records.types import Page
from stepwell.database.types import RequestKey, RunFields
from stepwell.errors import AccessError, InvalidRequestError, ThreadBusyError
from stepwell.runs.assistants import Assistants
from stepwell.runs.crons.schedule import Schedule, parse_schedule
from stepwell.runs.engine import Engine
from stepwell.runs.starting import RunOrder

MAX_CRONS_PER_OWNER = 1000
CLOCK_ERROR = timedelta(hours=1)
"""A clock that is further ahead of now than this was wrong."""
_ATTEMPTS = 10
_STORED = (*(each.name for each in fields(RunFields)), "multitask_strategy", "on_completion")
"""The fields of a `RunOrder` that a cron has."""


class Unchanged:
    """Stands for a field that a change leaves as it is, where None means something."""


UNCHANGED = Unchanged()


@dataclass(frozen=True)
class NewCron:
    """A request for a cron. `order` says what its runs do; its thread is the cron's."""

    order: RunOrder
    schedule: str
    timezone: str | None = None
    end_time: datetime | None = None
    enabled: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CronChange:
    """What to change; None leaves a field as it is."""

    order: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `RunOrder` with their new values."""
    schedule: str | None = None
    timezone: str | None = None
    end_time: datetime | Unchanged | None = UNCHANGED
    enabled: bool | None = None
    metadata: Mapping[str, Any] | None = None
    """Merged into the metadata, key by key."""

    @property
    def concerns_runs(self) -> bool:
        """Whether it changes what runs do or when they start, or starts some again. Disabling a cron and its metadata do not."""
        times = self.schedule or self.timezone or not isinstance(self.end_time, Unchanged)
        return bool(self.order or times or self.enabled)


class Crons:
    """Creates, finds, changes and deletes crons."""

    def __init__(
        self, table: CronTable, engine: Engine, assistants: Assistants, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._table = table
        self._engine = engine
        self._assistants = assistants
        self._clock = clock
        self._new_id = new_id

    async def create(self, owner: str, wanted: NewCron, access: CronAccess, key: RequestKey | None = None) -> Cron:
        now = self._clock.now()
        schedule = parse_schedule(wanted.schedule, wanted.timezone)
        end = _check_end(wanted.end_time, now)
        first = _first_run(schedule, now, end)
        assistant = await self._engine.check_order(owner, wanted.order)
        cron = Cron(
            cron_id=self._new_id(),
            owner=str(owner),
            assistant_id=assistant.assistant_id,
            thread_id=wanted.order.thread_id,
            schedule=wanted.schedule,
            timezone=wanted.timezone,
            end_time=end,
            enabled=wanted.enabled,
            order=_stored(wanted.order),
            metadata=stamped(owner, wanted.metadata),
            access=access,
            since=now,
            next_run=first if wanted.enabled else None,
            created_at=now,
            updated_at=now,
        )
        return await self._table.create(cron, MAX_CRONS_PER_OWNER, key)

    async def get(self, owner: str | None, cron_id: str) -> Cron:
        return await self._table.get(owner, cron_id)

    async def change(self, owner: str, cron_id: str, wanted: CronChange, access: CronAccess) -> Cron:
        """Change a cron. Its runs may use what `access` allows from now on. A user whom handlers let see another's cron can stop it, but
        not decide what runs in that user's name. A change of its times, or enabling it again, starts over: slots
        before now are not made up for."""
        for _ in range(_ATTEMPTS):
            before = await self._table.get(owner, cron_id)
            after = await self._changed(owner, before, wanted, access)
            if await self._table.change(before, after, _dropped(before, after)):
                return replace(after, revision=before.revision + 1)
        raise ThreadBusyError(f"Cron '{cron_id}' is being changed by others. Try again in a moment.")

    async def _changed(self, owner: str, before: Cron, wanted: CronChange, access: CronAccess) -> Cron:
        if wanted.concerns_runs and before.owner != str(owner):
            raise AccessError(
                f"The runs of cron '{before.cron_id}' are started for '{before.owner}', so only they can change what they do and when. "
                "You can disable the cron (enabled: false), delete it, or create your own."
            )
        now = self._clock.now()
        end = before.end_time if isinstance(wanted.end_time, Unchanged) else _check_end(wanted.end_time, now)
        after = replace(
            before,
            schedule=wanted.schedule or before.schedule,
            timezone=wanted.timezone or before.timezone,
            end_time=end,
            enabled=before.enabled if wanted.enabled is None else wanted.enabled,
            order={**before.order, **wanted.order},
            metadata={**before.metadata, **stamped(owner, wanted.metadata)},
            access=access if wanted.concerns_runs else before.access,
            updated_at=now,
        )
        if wanted.order:
            await self._engine.check_order(owner, order_of(after))
        schedule = parse_schedule(after.schedule, after.timezone)
        starts_over = wanted.schedule or wanted.timezone or (after.enabled and not before.enabled)
        since = _start_over(before, now) if starts_over or not after.enabled else before.since
        names_times = starts_over or not isinstance(wanted.end_time, Unchanged)
        next_run = (_first_run if names_times else Schedule.next_after)(schedule, since, end) if after.enabled else None
        return replace(after, since=since, next_run=next_run, ended_because=None if after.enabled else before.ended_because)

    async def delete(self, owner: str | None, cron_id: str) -> None:
        """Runs that it has started go on."""
        await self._table.delete(owner, cron_id)

    async def search(self, owner: str | None, wanted: CronFilter, page: Page) -> list[Cron]:
        return await self._table.search(owner, await self._resolved(owner, wanted), page)

    async def count(self, owner: str | None, wanted: CronFilter) -> int:
        return await self._table.count(owner, await self._resolved(owner, wanted))

    async def slots(
        self, owner: str | None, cron_id: str, *, before: datetime | None = None, limit: int = 100
    ) -> Sequence[CronSlot]:
        return await self._table.slots(owner, cron_id, before=before, limit=limit)

    async def _resolved(self, owner: str | None, wanted: CronFilter) -> CronFilter:
        """A filter may name a graph, for its default assistant."""
        if wanted.assistant_id is None:
            return wanted
        return replace(wanted, assistant_id=(await self._assistants.get(owner, wanted.assistant_id)).assistant_id)


def order_of(cron: Cron, slot: datetime | None = None) -> RunOrder:
    """What a run of the cron is asked to do. `slot` is noted in the run's metadata. On a new thread, a run without input would fail
    at every slot, so it begins with an empty one."""
    known: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) and name in _TUPLES else value for name, value in cron.order.items()
    }
    if slot and cron.thread_id is None:
        known["input"] = {} if known.get("input") is None else known["input"]
    names = {"cron_id": cron.cron_id, **({"cron_slot": slot.isoformat()} if slot else {})}
    return RunOrder(
        assistant_id=cron.assistant_id,
        thread_id=cron.thread_id,
        metadata={**cron.metadata, **names},
        cron_id=cron.cron_id,
        **known,
    )


_TUPLES = frozenset({"stream_modes", "interrupt_before", "interrupt_after"})


def _stored(order: RunOrder) -> dict[str, Any]:
    """What differs from the defaults."""
    plain = RunOrder(order.assistant_id)
    return {name: value for name in _STORED if (value := getattr(order, name)) != getattr(plain, name)}


def on_run_completed(cron: Cron) -> Literal["delete", "keep"] | None:
    """What happens to a run's thread when the run has ended. A cron on a thread of its own leaves it."""
    if cron.thread_id:
        return None
    return "keep" if cron.order.get("on_completion") == "keep" else "delete"


def _start_over(cron: Cron, now: datetime) -> datetime:
    """Up to when slots are settled, if none before now is to start a run. The clocks of servers may differ a little; if slots are settled
    that are far from now, the clock was wrong."""
    return now if cron.since > now + CLOCK_ERROR else max(cron.since, now)


def _dropped(before: Cron, after: Cron) -> CronSlot | None:
    """The slots that were due, if a change settles them before their run could start."""
    first, now = before.next_run, after.since
    if first is None or first > now or before.since >= now:
        return None
    try:
        slots, _ = parse_schedule(before.schedule, before.timezone).newest_between(
            before.since, min(now, before.end_time or now), 1
        )
    except InvalidRequestError:  # the machine no longer knows the time zone
        slots = []
    last = slots[-1] if slots and slots[-1] > first else None
    return CronSlot(first, "missed", now, last, note="The cron was changed before this slot's run could start.")


def _first_run(schedule: Schedule, since: datetime, end: datetime | None) -> datetime | None:
    first = schedule.next_after(since, end)
    if first is None and end is not None and (later := schedule.next_after(since)):
        raise InvalidRequestError(
            f"The schedule '{schedule.expression}' comes next at {later.isoformat()}, and end_time is {end.isoformat()}, so nothing would "
            "ever run. Give a later end_time, or leave it out."
        )
    return first


def _check_end(end: datetime | None, now: datetime) -> datetime | None:
    """A time without an offset is in UTC."""
    if end is None:
        return None
    end = end.replace(tzinfo=UTC) if end.tzinfo is None else end.astimezone(UTC)
    if end <= now:
        raise InvalidRequestError(f"end_time {end.isoformat()} is over. Give a time in the future, or leave it out.")
    return end
