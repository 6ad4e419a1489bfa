"""Saying that workers live, as long as they have something, and looking after what others have left: the time in leases (`leases`).

A worker that is not heard of for as long as a lease lasts has lost what it had; unless nobody could have been heard, because the database
itself was away: then all have half as long again. One statement for each worker and beat, however many leases it has; a worker that
has none says nothing. One that is heard of again after a silence that was too long has not died of its runs (`suspects.forgive`).

With each beat it is compared what a worker has in the database and what it is at work on: a run that somebody else has by now is given
up, and one that it was given without being told, because the connection was lost while the claim was being stored, is given back.

A step that blocks keeps the event loop from all that. Then a thread stands in for it and says that the worker lives, for
`HELD_UP_S` at most: the process is there, and will go on. One that is stopped or dead says nothing at all.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from types import TracebackType
from typing import Self, cast

from stepwell.database.database import SqlDatabase
from stepwell.database.queue import leases, suspects
from stepwell.database.queue.types import HELD_UP_S, Cancellation
from stepwell.database.types import CancelAction
from stepwell.errors import StorageUnavailableError
from stepwell.sql import Connection

logger = logging.getLogger(__name__)

_BEATS = 4
"""How often a worker is heard of while a lease lasts."""
_LOOKS = 2
"""How often in a beat it is looked for what others have left."""

Driving = Mapping[asyncio.Task[None], str]
"""What drives a run -> which."""


@dataclass
class _Odd:
    """What did not fit at the last beat: only what does not fit twice is acted on, since a lease that is just being taken or given
    back looks the same."""

    lost: set[str] = field(default_factory=set)
    """Driven here, and somebody else has it."""
    unknown: set[str] = field(default_factory=set)
    """Leased to us, and nobody here drives it or holds it."""


class Heartbeats:
    """Those of one process. `sole`: no other process uses the database, so whoever is not known here is gone."""

    def __init__(
        self,
        database: SqlDatabase,
        now: Callable[[], float],
        holder: str,
        cancel: Callable[[Cancellation], None],
        recovered: Callable[[leases.Recovered], None],
        *,
        lease_s: float,
        sole: bool,
    ) -> None:
        self._database = database
        self._now = now
        self.holder = holder
        """As which this process holds threads."""
        self._cancel = cancel
        self._recovered = recovered
        self._lease_s = lease_s
        self._sole = sole
        self.held: set[str] = set()
        """What this process holds threads for."""
        self._since: dict[str, float] = {}
        """Workers of this process -> when they began to work."""
        self._until: dict[str, float] = {}
        """Those that were heard of since they last had something -> how long their leases last."""

    def begin(self, worker: str, now: float) -> None:
        """The worker takes runs from now on."""
        self._since[worker] = now

    def since(self, worker: str) -> float | None:
        return self._since.get(worker)

    def is_said(self, worker: str, now: float) -> bool:
        """Whether a lease taken now lasts for a while without being said."""
        return self._until.get(worker, 0.0) > now + self._lease_s / 2

    def say(self, connection: Connection, worker: str, now: float) -> None:
        """Inside a transaction; `said` after it is committed."""
        if self._until.get(worker, now) < now:  # it was silent for so long that it may have been believed dead
            suspects.forgive(connection, worker)
        leases.stay_alive(connection, worker, now + self._lease_s, self._since.get(worker, now))

    def said(self, worker: str, now: float) -> None:
        self._until[worker] = now + self._lease_s

    async def beat(self, worker: str, driving: Driving) -> None:
        """Until cancelled."""
        stands_in = not self._sole and worker != self.holder
        with (
            _StandIn(lambda: self._say_alone(worker, driving), self._lease_s / _BEATS)
            if stands_in
            else nullcontext() as stand_in
        ):
            await self._keep_beating(worker, driving, stand_in)

    async def _keep_beating(self, worker: str, driving: Driving, stand_in: _StandIn | None) -> None:
        odd, pause = _Odd(), self._lease_s / _BEATS / _LOOKS
        for look in count(1):
            began = monotonic()
            await asyncio.sleep(pause)
            if stand_in:
                stand_in.turned()
                self._tell_if_held_up(worker, monotonic() - began - pause)
            try:
                if look % _LOOKS == 0 and (driving or worker in self._until or worker == self.holder):
                    odd = await self._renew(worker, driving, odd)
                    if not driving and worker != self.holder:
                        self._until.pop(
                            worker, None
                        )  # said once more than needed: it may have lost what it had while it was silent
                if not self._sole and worker != self.holder:
                    await self._look_after_others()
            except StorageUnavailableError as error:  # whoever has lost a lease by that finds out by the fence
                logger.warning("it cannot be said now that a worker lives: %s", error, extra={"worker": worker})
            except Exception:
                logger.exception("a worker could not say that it lives", extra={"worker": worker})

    def _tell_if_held_up(self, worker: str, late_s: float) -> None:
        if late_s > self._lease_s / 2:
            logger.warning(
                "the event loop stood still for %.1f s, and all runs of this worker with it; after %g s others would take them over. A "
                "step that blocks belongs in a plain function or in asyncio.to_thread, not in `async def`; or the machine is overloaded",
                late_s,
                HELD_UP_S,
                extra={"worker": worker},
            )

    def _say_alone(self, worker: str, driving: Driving) -> None:
        """In the thread that stands in for the event loop."""
        now = self._now()
        if driving:
            self._database.write_now(lambda connection: self.say(connection, worker, now))

    async def leave(self, worker: str) -> None:
        """What the worker has not given back, others need not wait for."""
        self._until.pop(worker, None)
        self._since.pop(worker, None)
        try:
            await self._database.write(lambda connection: leases.leave(connection, worker), frees=True)
        except StorageUnavailableError as error:
            logger.warning("a worker could not say that it stops: %s", error, extra={"worker": worker})

    async def _renew(self, worker: str, driving: Driving, before: _Odd) -> _Odd:
        """Renew all leases at once, and act on what has not fitted for a while."""
        now, driven = self._now(), dict(driving)

        def work(connection: Connection) -> dict[str, str | None]:
            self.say(connection, worker, now)
            return leases.leased_to(connection, worker)

        ours = await self._database.write(work, frees=True)
        self.said(worker, now)
        for run_id, action in ours.items():
            if action is not None and not self._sole:  # in case the notification was lost
                self._cancel(Cancellation(run_id, cast(CancelAction, action)))
        odd = _Odd(set(driven.values()) - ours.keys(), ours.keys() - set(driven.values()) - set(driving.values()) - self.held)
        for task, run_id in driven.items():
            if run_id in odd.lost & before.lost and not task.done():
                logger.warning("another worker has taken the run over", extra={"run_id": run_id})
                task.cancel()
        if unknown := odd.unknown & before.unknown:
            logger.warning("leases that nobody here knew of are given back", extra={"count": len(unknown)})
            self._recovered(await self._database.write(lambda connection: leases.give_back(connection, worker, unknown, now)))
        return _Odd(odd.lost - before.lost, odd.unknown - before.unknown)

    def recover(self, connection: Connection, worker: str | None, now: float) -> leases.Recovered:
        """Take back what `worker`, which has just started, and those who are not heard of have left."""
        known = [self.holder, *self._since] if self._sole else None
        silence = leases.Silence(self._silent_since(connection, now), self._lease_s, known)
        return leases.recover(connection, worker, now, silence)

    def _silent_since(self, connection: Connection, now: float) -> float:
        """Whoever was heard of until then, and not since, is gone."""
        return now if now > self._database.serving_since(connection) + self._lease_s / 2 else 0.0

    async def _look_after_others(self) -> None:
        now = self._now()

        def look(connection: Connection) -> bool:
            return leases.anything_left(connection, self._silent_since(connection, now))

        if await self._database.read(look):
            self._recovered(await self._database.write(lambda connection: self.recover(connection, None, now)))


class _StandIn:
    """Calls `say` every so often while the event loop does not turn."""

    def __init__(self, say: Callable[[], None], every_s: float) -> None:
        self._say = say
        self._every_s = every_s
        self._over = threading.Event()
        self._turned_at = monotonic()

    def turned(self) -> None:
        """The event loop is there."""
        self._turned_at = monotonic()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="stepwell-beat", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()

    def _watch(self) -> None:
        # Looked at twice as often as said: otherwise the first word may come only when three quarters of a lease are over.
        while not self._over.wait(self._every_s / 2):
            if self._every_s < monotonic() - self._turned_at < HELD_UP_S:
                try:
                    self._say()
                except Exception as error:  # the event loop tries it too, as soon as it can
                    logger.warning("it cannot be said now that a worker lives: %s", error)
