"""Starts the runs of crons: sleeps until the next slot, and is woken when a cron is made or changed.

```
due ─> one slot        its run is admitted, in the transaction that settles the slot                          fired
    ─> several slots   (after an outage) the newest as above; the others                                      missed
    ─> after end_time  nothing starts                                                                         missed
    ─> not admitted    too many runs, a busy thread, no payment: the cron goes on with its next slot          refused
    ─> its assistant, its thread or its owner's key no longer exists                                          refused, and the cron ends
```
Of all processes with the database, the one that maintains it does this. Even if two did, each slot would start one run (`database/crons`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from stepwell.backends.objects.grants import Grants
from stepwell.clock import Clock
from stepwell.database.crons import Cron, CronSlot, CronTable, settling
from stepwell.database.keys_and_sessions import AccessRecords
from stepwell.database.types import Run
from stepwell.errors import InfrastructureError, InvalidRequestError, NotFoundError, StepwellError
from stepwell.runs.crons.operations import CLOCK_ERROR, order_of
from stepwell.runs.crons.schedule import parse_schedule
from stepwell.runs.engine import Engine
from stepwell.sql import Connection
from stepwell.supervision import Duty, Supervisor, stop

logger = logging.getLogger(__name__)

LISTED_MISSES = 100
"""How many missed slots of one outage are stored singly. The older ones are stored as one row."""
_AT_ONCE = 100
_LOOK_S = 60.0
"""How long to sleep at most: the machine may have slept too, or its clock may have been set."""
_LEAD_S = 2.0
_LATE = timedelta(minutes=1)


class _OwnerGoneError(StepwellError):
    """Nobody can sign in as the cron's owner any more."""


@dataclass(frozen=True)
class _Due:
    """What to do about a cron's slots up to now."""

    newest: datetime | None
    """The slot that starts a run; None if all are missed."""
    missed: list[CronSlot]
    next_run: datetime | None


class CronScheduler:
    """`async with CronScheduler(...)`: starts scheduled runs until the block is left."""

    def __init__(
        self,
        table: CronTable,
        engine: Engine,
        access: AccessRecords,
        clock: Clock,
        *,
        leads: Callable[[], bool] = lambda: True,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`leads`: whether this process is the one that starts scheduled runs now."""
        self._table = table
        self._engine = engine
        self._access = access
        self._clock = clock
        self._leads = leads
        self._supervisor = supervisor or Supervisor()
        self._task: asyncio.Task[None] | None = None
        self._seen: datetime | None = None
        """The time of the last look."""

    async def __aenter__(self) -> Self:
        self._task = self._supervisor.start("scheduled runs", self._work)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            await stop([self._task])

    async def _work(self, duty: Duty) -> None:
        while True:
            if not self._leads():
                await asyncio.sleep(_LEAD_S)
                continue
            self._table.changed.clear()
            upcoming = await self._table.next_due()
            if upcoming is not None and (upcoming <= self._clock.now() or self._clock_was_ahead()):
                await self.step()
                upcoming = await self._table.next_due()
            duty.succeeded()
            await self._sleep_until(upcoming)

    async def _sleep_until(self, upcoming: datetime | None) -> None:
        """Sleep until a slot is due, a cron changes or another process takes over. Asks the database nothing."""
        while self._leads():
            if upcoming is not None and self._clock_was_ahead():
                return
            left_s = _LOOK_S if upcoming is None else (upcoming - self._clock.now()).total_seconds()
            if left_s <= 0:
                return
            try:
                async with asyncio.timeout(min(left_s, _LOOK_S)):
                    await self._table.changed.wait()
                return
            except TimeoutError:
                continue

    async def step(self) -> int:
        """Settle all slots that are due now. Returns how many runs were started."""
        if self._clock_was_ahead():
            await self._take_back()
        self._seen = self._clock.now()
        started = 0
        while due := await self._table.due(self._clock.now(), _AT_ONCE):
            for cron in due:
                started += await self._settle(cron)
        return started

    def _clock_was_ahead(self) -> bool:
        """Whether the clock has been set back since the last look. At the first look nobody knows, so it counts as that."""
        return self._seen is None or self._clock.now() + CLOCK_ERROR < self._seen

    async def _take_back(self) -> None:
        """Let crons whose slots were settled by a clock that was far ahead go on from now."""
        now = self._clock.now()
        for cron in await self._table.ahead(now + CLOCK_ERROR):
            logger.warning(
                "slots of a cron were settled by a clock that was ahead; it goes on from now", extra={"cron_id": cron.cron_id}
            )
            try:
                upcoming = parse_schedule(cron.schedule, cron.timezone).next_after(now, cron.end_time) if cron.enabled else None
            except InvalidRequestError:  # the machine does not know the time zone: said when a slot is due
                continue
            await self._table.change(cron, replace(cron, since=now, next_run=upcoming))

    async def _settle(self, cron: Cron) -> bool:
        """Returns whether a run was started."""
        now = self._clock.now()
        try:
            due = _look_at(cron, now, await self._table.noted(cron))
        except InvalidRequestError as error:  # the machine no longer knows the time zone
            await self._end(cron, _Due(None, [], None), str(error))
            return False
        if due.missed:
            logger.warning("missed slots of a cron", extra={"cron_id": cron.cron_id, "count": len(due.missed)})
        if due.newest is None:
            await self._table.settle(cron, due.missed, due.next_run)
            return False
        try:
            return await self._fire(cron, due, due.newest, now)
        except InfrastructureError:
            raise
        except _OwnerGoneError as error:
            await self._end(cron, due, str(error))
        except NotFoundError as error:
            if error.kind in ("assistant", "thread"):
                await self._end(cron, due, str(error))
            else:
                await self._refuse(cron, due, str(error))
        except StepwellError as error:
            await self._refuse(cron, due, str(error))
        except Exception as error:  # other crons must not wait for this one
            logger.exception("a scheduled run could not be started", extra={"cron_id": cron.cron_id})
            await self._refuse(cron, due, f"The run could not be started: {type(error).__name__}. The server's log says more.")
        return False

    async def _fire(self, cron: Cron, due: _Due, slot: datetime, now: datetime) -> bool:
        late = now - slot
        note = f"Started {_spell(late)} late." if late >= _LATE else None

        def claim(connection: Connection, run: Run) -> bool:
            fired = CronSlot(slot, "fired", now, run_id=run.run_id, thread_id=run.thread_id, note=note)
            return settling(cron, [*due.missed, fired], due.next_run)(connection)

        grants = await self._find_grants(cron, now)
        return await self._engine.start_scheduled(cron.caller, order_of(cron, slot), grants, claim) is not None

    async def _refuse(self, cron: Cron, due: _Due, reason: str) -> None:
        logger.warning("a scheduled run was refused: %s", reason, extra={"cron_id": cron.cron_id})
        await self._table.settle(cron, self._refused(due, reason), due.next_run)

    async def _end(self, cron: Cron, due: _Due, reason: str) -> None:
        logger.warning("a cron has ended: %s", reason, extra={"cron_id": cron.cron_id})
        await self._table.settle(cron, self._refused(due, reason), None, reason)

    def _refused(self, due: _Due, reason: str) -> list[CronSlot]:
        if due.newest is None:
            return due.missed
        return [*due.missed, CronSlot(due.newest, "refused", self._clock.now(), note=reason)]

    async def _find_grants(self, cron: Cron, now: datetime) -> Grants:
        """What the cron's owner may use now. A user with a key is one as long as a key of theirs is valid; users of an identity provider
        are not known here, so their crons go on until someone deletes them."""
        access = cron.access
        if access.key_id is None:
            return access.grants
        key = await self._access.find_key(access.key_id)
        if key is not None and key.usable(now):
            return key.grants
        grants = [key.grants for key in await self._access.list_keys() if key.owner == cron.owner and key.usable(now)]
        if not grants:
            raise _OwnerGoneError(
                f"User '{cron.owner}' has no valid API key any more, so nothing runs for them. Create a key, then enable the cron again."
            )
        found = grants[0]
        for more in grants[1:]:
            found = found.with_more(more)
        return found


def _look_at(cron: Cron, now: datetime, noted: Container[datetime]) -> _Due:
    schedule = parse_schedule(cron.schedule, cron.timezone)
    is_over = cron.end_time is not None and now > cron.end_time
    until = min(now, cron.end_time) if cron.end_time else now
    slots, more = schedule.newest_between(cron.since, until, LISTED_MISSES + 2)
    newest = slots[-1] if slots and not is_over and slots[-1] not in noted else None
    slots = [slot for slot in slots if slot != newest and slot not in noted]
    missed = [CronSlot(slot, "missed", now) for slot in slots[-LISTED_MISSES:]]
    if older := slots[:-LISTED_MISSES]:
        first = next(slot for slot in schedule.after(cron.since) if slot not in noted) if more else older[0]
        note = "The slots from the first to the last were missed, except those listed singly."
        missed.insert(0, CronSlot(first, "missed", now, last_slot=older[-1], note=note))
    return _Due(newest, missed, schedule.next_after(now, cron.end_time))


def _spell(late: timedelta) -> str:
    minutes = int(late.total_seconds() // 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"
