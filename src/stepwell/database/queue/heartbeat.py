"""Sends heartbeats for workers that have leases (`leases`), and recovers what dead workers left.

A worker that sends no heartbeat for the length of a lease loses its leases. Exception: if the database itself was unreachable, all workers
get half as long again. A heartbeat is one statement per worker, however many leases the worker has; a worker without leases sends none. If
a worker sends heartbeats again after too long a silence, its runs have not killed it (`suspects.forgive`).

Each beat compares the worker's leases in the database with the runs it drives. The worker stops driving a run that another worker has taken
over. It also gives back a lease of which it never learnt because the connection was lost while the claim was being stored.

A blocking step stops the event loop from doing any of this. Then a thread sends the heartbeats instead, for at most `HELD_UP_S`: the
process is alive and will continue. A process that is suspended or dead sends nothing at all.
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
"""How many heartbeats a worker sends per lease time."""
_LOOKS = 2
"""How many times per heartbeat we look for runs abandoned by dead workers."""

Driving = Mapping[asyncio.Task[None], str]
"""Task that drives a run -> the run's id."""


@dataclass
class _Odd:
    """Mismatches at the last beat. We only act on a mismatch seen twice, since a lease that is just being taken or given back looks the
    same."""

    lost: set[str] = field(default_factory=set)
    """Driven here, but leased to another worker."""
    unknown: set[str] = field(default_factory=set)
    """Leased to us, but neither driven nor held here."""


class Heartbeats:
    """The heartbeats of one process. `sole`: no other process uses the database, so any worker not known here is dead."""

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
        """The name under which this process holds threads."""
        self._cancel = cancel
        self._recovered = recovered
        self._lease_s = lease_s
        self._sole = sole
        self.held: set[str] = set()
        """Ids of the holds this process has."""
        self._since: dict[str, float] = {}
        """Workers of this process -> when they started."""
        self._until: dict[str, float] = {}
        """Workers that have sent a heartbeat since they last had leases -> until when their leases last."""

    def begin(self, worker: str, now: float) -> None:
        """The worker claims runs from now on."""
        self._since[worker] = now

    def since(self, worker: str) -> float | None:
        return self._since.get(worker)

    def is_said(self, worker: str, now: float) -> bool:
        """Whether the last heartbeat is so recent that a lease taken now is covered for a while."""
        return self._until.get(worker, 0.0) > now + self._lease_s / 2

    def say(self, connection: Connection, worker: str, now: float) -> None:
        """Send a heartbeat, inside a transaction; call `said` after the commit."""
        if self._until.get(worker, now) < now:  # the worker was silent for so long that others may have declared it dead
            suspects.forgive(connection, worker)
        leases.stay_alive(connection, worker, now + self._lease_s, self._since.get(worker, now))

    def said(self, worker: str, now: float) -> None:
        self._until[worker] = now + self._lease_s

    async def beat(self, worker: str, driving: Driving) -> None:
        """Send heartbeats until cancelled."""
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
                        )  # only after one extra heartbeat, because the worker may have lost its leases while it was silent
                if not self._sole and worker != self.holder:
                    await self._look_after_others()
            except StorageUnavailableError as error:  # a worker that loses a lease because of this is stopped by the fence
                logger.warning("could not send a worker's heartbeat: %s", error, extra={"worker": worker})
            except Exception:
                logger.exception("a worker's heartbeat failed", extra={"worker": worker})

    def _tell_if_held_up(self, worker: str, late_s: float) -> None:
        if late_s > self._lease_s / 2:
            logger.warning(
                "the event loop was blocked for %.1f s, and all runs of this worker with it; after %g s others would take them over. Put "
                "a blocking step in a plain function or asyncio.to_thread, not in `async def`; or the machine is overloaded",
                late_s,
                HELD_UP_S,
                extra={"worker": worker},
            )

    def _say_alone(self, worker: str, driving: Driving) -> None:
        """Send a heartbeat in the thread that stands in for the blocked event loop."""
        now = self._now()
        if driving:
            self._database.write_now(lambda connection: self.say(connection, worker, now))

    async def leave(self, worker: str) -> None:
        """Sign the worker off, so that others need not wait for leases it has not given back."""
        self._until.pop(worker, None)
        self._since.pop(worker, None)
        try:
            await self._database.write(lambda connection: leases.leave(connection, worker), frees=True)
        except StorageUnavailableError as error:
            logger.warning("a worker could not sign off: %s", error, extra={"worker": worker})

    async def _renew(self, worker: str, driving: Driving, before: _Odd) -> _Odd:
        """Renew all leases at once, and act on repeated mismatches."""
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
            logger.warning("giving back leases that nobody here knew of", extra={"count": len(unknown)})
            self._recovered(await self._database.write(lambda connection: leases.give_back(connection, worker, unknown, now)))
        return _Odd(odd.lost - before.lost, odd.unknown - before.unknown)

    def recover(self, connection: Connection, worker: str | None, now: float) -> leases.Recovered:
        """Take back what dead workers left, and what `worker`, which has just started, had before."""
        known = [self.holder, *self._since] if self._sole else None
        silence = leases.Silence(self._silent_since(connection, now), self._lease_s, known)
        return leases.recover(connection, worker, now, silence)

    def _silent_since(self, connection: Connection, now: float) -> float:
        """Workers whose heartbeat expired by then are dead."""
        return now if now > self._database.serving_since(connection) + self._lease_s / 2 else 0.0

    async def _look_after_others(self) -> None:
        now = self._now()

        def look(connection: Connection) -> bool:
            return leases.anything_left(connection, self._silent_since(connection, now))

        if await self._database.read(look):
            self._recovered(await self._database.write(lambda connection: self.recover(connection, None, now)))


class _StandIn:
    """Calls `say` at regular intervals while the event loop is blocked."""

    def __init__(self, say: Callable[[], None], every_s: float) -> None:
        self._say = say
        self._every_s = every_s
        self._over = threading.Event()
        self._turned_at = monotonic()

    def turned(self) -> None:
        """The event loop is running."""
        self._turned_at = monotonic()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="stepwell-beat", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()

    def _watch(self) -> None:
        # Checks twice as often as it sends, because otherwise the first heartbeat might come only after three quarters of a lease.
        while not self._over.wait(self._every_s / 2):
            if self._every_s < monotonic() - self._turned_at < HELD_UP_S:
                try:
                    self._say()
                except Exception as error:  # the event loop retries as soon as it can
                    logger.warning("could not send a worker's heartbeat: %s", error)
