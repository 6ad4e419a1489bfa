"""Which run is driven when, and by which worker.

```
admit ──> pending ──claim──> running ──finish──> success | error | timeout | interrupted
             ^                  │
             └── hand_back ─────┘      (drain, or recovery after a crash: attempt counts up at the next claim;
                                        one that is to be stopped ends instead)
```

Each arrow is one transaction. Rules to keep:
- At most one run of a thread is running. A claim raises the thread's fence; a write with an older one is refused
  (`LeaseLostError`), in the same transaction as the write.
- Runs of one thread are claimed in the order of admission, those that are not due yet aside.
- An answer to an interrupt is taken once. The same answer again gives the run that took it; another one is refused.
- An answer that names no interrupt is taken only for one that its sender must mean (`BareAnswer`).
- A run that names the newest checkpoint, or the one that was newest when the runs under way began, goes on from the end.
- Where more runs wait than can be driven, tenants take turns: one with a thousand runs does not keep another waiting.
- What was admitted is driven until it ends: a crash hands it back. Only a run that its workers die of, time and again, is given up:
  after `MAX_COUNTED_CRASHES` that nothing but the run explains. A worker that is heard of again, or said goodbye, did not die.
- A lease lasts as long as its worker is heard of, `LEASE_S` at least; so does a hold, by the process that holds. Nobody takes a lease
  of a worker that is alive, and anybody may take over what one has left that is not, or that says it has stopped.
- All times are of one clock that every worker shares. What a lease's holder stores comes after everything that was stored before,
  whatever its own clock says: a claim tells the newest checkpoint, and ids go on from there.
- What is handed in under one lease is stored in that order, without gaps: checkpoints, events and effects are one pipeline. Where a
  piece cannot be stored, what comes after it is refused. Nothing is promised about the order between two leases. Events may be gathered:
  they are never stored before what was handed in ahead of them, but perhaps after what was handed in behind them. So whoever ends a
  run waits for its events first.

The runs' own rows are the queue, and asyncio events say when to look. What other processes do is heard of by `hear_of_...`, where there are
any. The transactions are in `admission`, `leases`, `ending` and `records/interrupts`; here is only who hears of what after a commit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from random import random
from typing import Literal

from stepwell.clock import Clock
from stepwell.database import fence
from stepwell.database.checkpoints.serializer import continue_ids_after
from stepwell.database.database import Separate, SqlDatabase
from stepwell.database.events.log import EventLog, insert_events
from stepwell.database.queue import admission, ending, leases
from stepwell.database.queue.heartbeat import Heartbeats
from stepwell.database.queue.types import LEASE_S, Admission, Admitted, Cancellation, ClaimedRun, Drive
from stepwell.database.queue.unreadable_runs import UnreadableRun
from stepwell.database.records import request_keys
from stepwell.database.records.interrupts import ask, find_unshown, note_shown
from stepwell.database.records.usage import keep_usage
from stepwell.database.rows import run_from_row, to_time
from stepwell.database.types import (
    FINISHED,
    CancelAction,
    Lease,
    ModelUsage,
    NewEvent,
    PendingInterrupt,
    RequestKey,
    Run,
    RunEvent,
    RunOutcome,
)
from stepwell.errors import LeaseLostError, NotFoundError, StorageUnavailableError
from stepwell.sql import Connection
from stepwell.supervision import Duty

logger = logging.getLogger(__name__)

_LOOK_AGAIN_S = 30.0
_SOON_S = 0.01
_CANCELLED_AT_ONCE = 50
"""In one transaction. With thousands, others would wait for it, and on Postgres workers that take runs would undo it each time."""


class RunQueue:
    """Belongs to the event loop that calls `work`."""

    def __init__(
        self,
        database: SqlDatabase,
        events: EventLog,
        clock: Clock,
        new_id: Callable[[], str],
        *,
        lease_s: float = LEASE_S,
        sole: bool = True,
    ) -> None:
        """`sole`: no other process uses the database, so whoever is not known here is gone."""
        self._database = database
        self._events = events
        self._clock = clock
        self._new_id = new_id
        self._changed = asyncio.Event()
        self._cancellations: asyncio.Queue[Cancellation] = asyncio.Queue()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._turn = ""
        self.capacity = 0
        """How many runs are driven here at once; 0 while none are taken."""
        self._alive = Heartbeats(
            database,
            self._now,
            f"{leases.HOLDER}{new_id()}",
            self._cancellations.put_nowait,
            self._recovered,
            lease_s=lease_s,
            sole=sole,
        )

    async def admit(self, wanted: Admission, key: RequestKey | None = None) -> Admitted:
        return (await self.admit_many([wanted], key))[0]

    async def admit_many(self, admissions: Sequence[Admission], key: RequestKey | None = None) -> list[Admitted]:
        """All of them or none. With a key that has started runs before, it is those; the key is kept with the runs, in one transaction."""
        self._database.require_room()
        now = self._now()

        def work(connection: Connection) -> tuple[list[Admitted], list[Run], list[RunEvent]]:
            if key and (before := _recall(connection, key)) is not None:
                return before, [], []
            admitted, stopped, events = [], [], []
            for wanted in admissions:
                one, to_stop = admission.admit(connection, wanted, now)
                runs, said = _cancel(connection, to_stop, "replaced by a newer run", now)
                admitted.append(one)
                stopped += runs
                events += said
            if key:
                request_keys.remember(connection, key, [each.run.run_id for each in admitted], now)
            return admitted, stopped, events

        admitted, stopped, events = await self._database.write(work)
        self._tell_stopped(stopped, events)
        self._changed.set()
        return admitted

    async def recall(self, key: RequestKey) -> list[Admitted] | None:
        """What a key has started; `None` if it is new. `RequestKeyError` if that was another request, `NotFoundError` if it is gone."""
        return await self._database.read(lambda connection: _recall(connection, key))

    async def note(self, key: RequestKey) -> None:
        """Keep a key for something that is done once by itself: from now on it is refused with another request."""
        now = self._now()

        def work(connection: Connection) -> None:
            if request_keys.recall(connection, key) is None:
                request_keys.remember(connection, key, [], now)

        await self._database.write(work)

    async def forget(self, key: RequestKey) -> None:
        """Free a noted key: its request was refused, and nothing was done."""
        await self._database.write(lambda connection: request_keys.forget(connection, key))

    async def work(
        self, drive: Drive, *, worker: str, concurrency: int, draining: asyncio.Event, duty: Duty | None = None
    ) -> None:
        """Claim runs and drive them, `concurrency` at a time. Once `draining` is set, claim no more and return when all have ended.

        A claim that fails ends neither this nor a run under way: `duty` is told, and it is tried again after a pause. A run that
        cannot be read ends with that as its error, and the others go on.
        """
        duty = duty or Duty("driving runs")
        stop = asyncio.create_task(draining.wait())
        driving: dict[asyncio.Task[None], str] = {}
        beating = asyncio.create_task(self._alive.beat(worker, driving))
        self.capacity = concurrency
        self._alive.begin(worker, self._now())
        try:
            while not draining.is_set():
                self._changed.clear()
                try:
                    claims, due_in_s = await self._claim(worker, concurrency - len(driving))
                except Exception as error:
                    # Not cut short by news: they would have it tried, and fail, all the time.
                    await asyncio.wait({stop}, timeout=duty.failed(error))
                    continue
                duty.succeeded()
                for claim in claims:
                    forgotten = [task for task, run_id in driving.items() if run_id == claim.run.run_id]
                    task = asyncio.create_task(self._drive(drive, claim, forgotten), name=f"run {claim.run.run_id}")
                    driving[task] = claim.run.run_id
                    task.add_done_callback(driving.pop)
                await self._until_changed(stop, due_in_s)
            self.capacity = 0
            while driving:
                await asyncio.wait(driving)
        finally:
            stop.cancel()
            beating.cancel()
            for task in list(driving):
                task.cancel()
            await asyncio.gather(*driving, return_exceptions=True)
            await self._alive.leave(worker)

    async def cancellations(self) -> AsyncIterator[Cancellation]:
        """Runs under way here that somebody wants stopped."""
        while True:
            yield await self._cancellations.get()

    async def cancel(
        self, owner: str | None, run_ids: Sequence[str], action: CancelAction, *, reason: str = "cancelled by the caller"
    ) -> list[Run]:
        """Pending runs end now; running ones are told. Gives the runs concerned as they stand, unknown and ended ones left out."""
        now, stopped = self._now(), list[Run]()

        def cancel_some(portion: Sequence[str], connection: Connection) -> tuple[list[Run], list[RunEvent]]:
            known = [run_id for run_id in portion if _is_open(connection, owner, run_id)]
            return _cancel(connection, [(run_id, action) for run_id in known], reason, now)

        for start in range(0, len(run_ids), _CANCELLED_AT_ONCE):
            work = partial(cancel_some, run_ids[start : start + _CANCELLED_AT_ONCE])
            # Also on a full disk: a thread can be deleted once its runs have ended.
            runs, events = await self._database.write(work, frees=True)
            self._tell_stopped(runs, events)
            self._changed.set()
            stopped += runs
        return stopped

    async def ask(self, lease: Lease, interrupts: Sequence[PendingInterrupt]) -> None:
        """Keep interrupts that have just come up while the run still goes on: they may be answered from now on."""
        now = self._now()

        def work(connection: Connection) -> None:
            fence.require(connection, lease)
            ask(connection, lease.thread_id, lease.run_id, interrupts, now)

        await self._database.write(work)

    async def note_shown(self, thread_id: str, *, asked_by: str | None = None, interrupt_ids: Sequence[str] = ()) -> None:
        """Whoever may answer has been told of these interrupts: they stand in a state that was read, or the end of the run that asks was
        told to whoever followed it."""
        now = self._now()
        # Most have been noted before, and many threads ask nothing: that costs no write.
        unshown = await self._database.read(
            Separate(lambda connection: find_unshown(connection, thread_id, asked_by, interrupt_ids))
        )
        if unshown:
            await self._database.write(lambda connection: note_shown(connection, thread_id, unshown, now))

    async def finish(self, lease: Lease, outcome: RunOutcome) -> Run:
        now = self._now()

        def work(connection: Connection) -> tuple[Run, list[RunEvent]]:
            fence.require(connection, lease)
            return ending.finish(connection, lease, outcome, now)

        run, events = await self._database.write(fence.guarded(work))
        self._tell_ended(lease.thread_id, lease.run_id, events)
        self._changed.set()
        return run

    async def hand_back(self, lease: Lease, events: Sequence[NewEvent] = (), *, usage: Sequence[ModelUsage] = ()) -> None:
        """Let another attempt go on. A run that somebody wants stopped ends here instead. `usage` is that of this attempt; the sums
        of a run are those of all its attempts."""
        now = self._now()

        def work(connection: Connection) -> tuple[list[RunEvent], bool]:
            fence.require(connection, lease)
            keep_usage(connection, lease, usage, now)
            said = insert_events(connection, lease.thread_id, lease.run_id, events, now)
            last = leases.hand_back(connection, lease, now)
            return [*said, *(last or ())], last is not None

        said, ended = await self._database.write(work)
        if ended:
            self._tell_ended(lease.thread_id, lease.run_id, said)
        else:
            self._events.announce(lease.thread_id, events=said)
        self._changed.set()

    @asynccontextmanager
    async def hold(self, owner: str | None, thread_id: str, purpose: str) -> AsyncIterator[Lease]:
        """Keep runs off a thread while something else writes to it. `ThreadBusyError` when a run is under way."""
        holder, now = f"hold:{purpose}:{self._new_id()}", self._now()
        taking = self._database.write_soon(lambda connection: self._hold(connection, owner, thread_id, holder, now))
        try:
            lease = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(self._release_unwanted)  # it is being taken all the same
            raise
        self._alive.held.add(holder)
        continue_ids_after(lease.newest_checkpoint or "")
        beating = asyncio.create_task(self._alive.beat(self._alive.holder, {}))
        try:
            yield lease
        finally:
            beating.cancel()
            self._alive.held.discard(holder)
            await self._release(lease)
            self._changed.set()

    def _hold(self, connection: Connection, owner: str | None, thread_id: str, holder: str, now: float) -> Lease:
        self._alive.say(connection, self._alive.holder, now)
        return leases.hold(connection, owner, thread_id, holder, now, self._alive.holder)

    def _release(self, lease: Lease) -> asyncio.Future[None]:
        # Also on a full disk: a thread that stays held cannot even be deleted.
        return self._database.write_soon(lambda connection: leases.release(connection, lease), frees=True)

    def _release_unwanted(self, taking: asyncio.Future[Lease]) -> None:
        """Whoever wanted the thread was cancelled before it was told that it has it."""
        if taking.cancelled() or taking.exception() is not None:
            return
        with suppress(StorageUnavailableError):  # closed: the next start gives back what nobody holds
            self._release(taking.result()).add_done_callback(self._released_unwanted)

    def _released_unwanted(self, releasing: asyncio.Future[None]) -> None:
        if not releasing.cancelled() and (error := releasing.exception()) is not None:
            logger.error("a thread could not be given back; it is held until the next start", exc_info=error)
        self._changed.set()

    async def recover(self, worker: str) -> list[Run]:
        """Hand back what `worker`, which has just started and drives nothing yet, and workers that are not heard of have left running.
        While `work` goes on, an implementation that several processes use does so by itself."""
        now = self._now()

        def work(connection: Connection) -> leases.Recovered:
            return self._alive.recover(connection, worker, now)

        recovered = await self._database.write(work)
        self._tell_set_aside(recovered.set_aside)
        return recovered.runs

    def _recovered(self, recovered: leases.Recovered) -> None:
        """What nobody was at work on waits again."""
        self._tell_set_aside(recovered.set_aside)
        for run in recovered.runs:
            if run.finished:
                self._tell_ended(run.thread_id, run.run_id, ())
        if recovered.runs:
            logger.info("runs that nobody drove any more are driven again", extra={"count": len(recovered.runs)})
            self._changed.set()

    async def finished(self, run_id: str, timeout_s: float | None = None) -> Literal["finished", "gone", "timeout"]:
        """Wait until a run has ended."""
        ended = asyncio.Event()
        self._waiting.setdefault(run_id, set()).add(ended)
        try:
            while True:
                status = await self._database.read(Separate(lambda connection: _status(connection, run_id)))
                if status is None:
                    return "gone"
                if status in FINISHED:
                    return "finished"
                async with asyncio.timeout(timeout_s):
                    await ended.wait()
                ended.clear()
        except TimeoutError:
            return "timeout"
        finally:
            self._waiting[run_id].discard(ended)
            if not self._waiting[run_id]:
                del self._waiting[run_id]

    # What other processes have done. Called in the event loop that the queue belongs to.

    def hear_of_work(self) -> None:
        """A run may have become claimable."""
        self._changed.set()

    def hear_of_end(self, run_id: str | None) -> None:
        """A run has ended, or perhaps any."""
        for known in [run_id] if run_id else list(self._waiting):
            for ended in self._waiting.get(known, ()):
                ended.set()

    async def hear_of_cancellation(self, run_id: str) -> None:
        """Somebody wants a run stopped that may be driven here."""
        row = await self._database.read(
            lambda connection: connection.execute(
                "SELECT r.cancel_action FROM runs AS r JOIN threads AS t ON t.lease_run = r.run_id AND t.thread_id = r.thread_id"
                " WHERE r.run_id = ? AND r.status = 'running' AND r.cancel_action IS NOT NULL",
                (run_id,),
            ).fetchone()
        )
        if row is not None:
            self._cancellations.put_nowait(Cancellation(run_id, row["cancel_action"]))

    def _now(self) -> float:
        return to_time(self._clock.now())

    async def _claim(self, worker: str, free: int) -> tuple[list[ClaimedRun], float]:
        """What can be driven now, and in how many seconds to look again even without news."""
        if free <= 0:
            return [], _LOOK_AGAIN_S
        now = self._now()
        turn = self._turn
        # Said with the first claims, and from then on by the heartbeat: most claims need not say it again.
        is_said = self._alive.is_said(worker, now)

        def work(connection: Connection) -> leases.ClaimResult:
            claimed = leases.claim(connection, worker, free, now, turn, since=self._alive.since(worker))
            if (claimed.claims or claimed.suspected) and not is_said:
                self._alive.say(connection, worker, now)
            return claimed

        claimed: leases.ClaimResult | None = await self._database.write_soon(work, exclusive=True)
        if claimed is None:  # another worker is at it just now
            return [], _SOON_S * (0.5 + random())
        if (claimed.claims or claimed.suspected) and not is_said:
            self._alive.said(worker, now)
        self._turn = claimed.turn
        for claim in claimed.claims:
            continue_ids_after(claim.lease.newest_checkpoint or "")
        self._tell_set_aside(claimed.set_aside)
        for run in claimed.given_up:
            self._tell_ended(run.thread_id, run.run_id, ())
            self._changed.set()  # the next run of its thread may begin
        due = claimed.next_due
        return claimed.claims, _LOOK_AGAIN_S if due is None else min(max(due - now, 0.0), _LOOK_AGAIN_S)

    def _tell_set_aside(self, unread: Sequence[UnreadableRun]) -> None:
        for one in unread:
            fields = {"run_id": one.run_id, "thread_id": one.thread_id}
            logger.error("a run cannot be read and was set aside: %s", one.reason, extra=fields)
            self._tell_ended(one.thread_id, one.run_id, one.events)
            self._changed.set()  # the next run of its thread may begin

    async def _drive(self, drive: Drive, claim: ClaimedRun, forgotten: Collection[asyncio.Task[None]]) -> None:
        """A drive ends its run itself. One that fails to leaves the run to the next process. `forgotten` are ours too, under a claim that
        the database has lost: the fence cannot tell them from this one, so they end first."""
        try:
            for task in forgotten:
                task.cancel()
            if forgotten:
                await asyncio.wait(forgotten)
            await drive(claim)
        except asyncio.CancelledError:
            raise
        except LeaseLostError:
            logger.warning("another attempt has taken the run over", extra={"run_id": claim.run.run_id})
        except Exception:
            logger.exception(
                "a run could not be ended; it is driven again at the next start", extra={"run_id": claim.run.run_id}
            )
        finally:
            self._changed.set()

    async def _until_changed(self, stop: asyncio.Task[bool], due_in_s: float) -> None:
        """Wait for news, for the next run that is due, or for the end."""
        changed = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait({changed, stop}, timeout=due_in_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()

    def _tell_stopped(self, runs: Sequence[Run], events: Sequence[RunEvent]) -> None:
        for run in runs:
            if run.status == "running" and run.cancel_action:
                self._cancellations.put_nowait(Cancellation(run.run_id, run.cancel_action))
            else:
                mine = [event for event in events if event.run_id == run.run_id]
                self._tell_ended(run.thread_id, run.run_id, mine)

    def _tell_ended(self, thread_id: str, run_id: str, events: Sequence[RunEvent]) -> None:
        self._events.announce(thread_id, run_id, events=events)
        for ended in self._waiting.get(run_id, ()):
            ended.set()


def _recall(connection: Connection, key: RequestKey) -> list[Admitted] | None:
    """What a key has started, as it stands now."""
    made = request_keys.recall(connection, key)
    return None if made is None else [Admitted(_find_made(connection, run_id), rejoined=True) for run_id in made]


def _find_made(connection: Connection, run_id: str) -> Run:
    row = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    if row is None:
        raise NotFoundError("run", run_id, "This Idempotency-Key has started it before, and it was deleted since.")
    return run_from_row(row)


def _is_open(connection: Connection, owner: str | None, run_id: str) -> bool:
    row = connection.execute(
        "SELECT 1 FROM runs WHERE run_id = :run AND status IN ('pending', 'running') AND (CAST(:owner AS TEXT) IS NULL OR owner = :owner)",
        {"run": run_id, "owner": owner},
    ).fetchone()
    return row is not None


def _cancel(
    connection: Connection, wanted: Sequence[tuple[str, CancelAction]], reason: str, now: float
) -> tuple[list[Run], list[RunEvent]]:
    """Mark the running, end the pending. Gives the runs as they stand (a forgotten one as it last stood)."""
    runs, events = [], []
    for run_id, action in wanted:
        before = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        if before["status"] == "pending":
            events += ending.end_pending(connection, run_id, action, reason, now)
        else:
            connection.execute(
                "UPDATE runs SET cancel_action = ?, cancel_reason = ?, updated_at = ? WHERE run_id = ?",
                (action, reason, now, run_id),
            )
        after = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        runs.append(run_from_row(after or before))
    return runs, events


def _status(connection: Connection, run_id: str) -> str | None:
    # A thread that is being erased is gone, whatever is still there of its rows.
    row = connection.execute(
        "SELECT runs.status FROM runs JOIN threads USING (thread_id) WHERE run_id = ?", (run_id,)
    ).fetchone()
    return row["status"] if row else None
