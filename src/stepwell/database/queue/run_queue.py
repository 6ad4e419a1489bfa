"""Which run is driven when, and by which worker.

```
admit ──> pending ──claim──> running ──finish──> success | error | timeout | interrupted
             ^                  │
             └── hand_back ─────┘      (drain, or recovery after a crash: attempt counts up at the next claim;
                                        a run that is to be stopped ends instead)
```

Each arrow is one transaction. Rules to keep:
- At most one run of a thread is running. A claim raises the thread's fence; a write with an older fence is refused (`LeaseLostError`), by a
  check in the transaction of the write.
- Runs of one thread are claimed in the order of admission, except those not due yet.
- An answer to an interrupt is accepted once. If the same answer comes again, the run that received it is returned; a different answer is
  refused.
- An answer that names no interrupt is accepted only if there is just one interrupt it can be meant for (`BareAnswer`).
- A run that names the newest checkpoint, or the one that was newest when the current runs began, continues from the end.
- If more runs wait than can be driven, tenants take turns: one with a thousand runs does not keep another waiting.
- An admitted run is driven until it ends: after a crash it waits again. Only a run that keeps killing its workers is given up: after
  `MAX_COUNTED_CRASHES` crashes that nothing but the run explains. A worker whose heartbeat returns, or that signed off, did not die.
- A lease lasts as long as its worker sends heartbeats, at least `LEASE_S`; the same goes for a hold and its process. Nobody takes a lease
  from a live worker, and any worker may take over the leases of one that is dead or has signed off.
- All workers share one clock. What a lease's holder stores is ordered after everything stored before, whatever the holder's own clock says,
  because a claim includes the newest checkpoint and ids continue from there.
- Work submitted under one lease is stored in that order, without gaps: checkpoints, events and effects are one pipeline. If a piece
  cannot be stored, everything after it is refused. Nothing is promised about the order between two leases. Events may be batched: they are
  never stored before work that was submitted before them, but perhaps after work that was submitted later. So wait until a run's events are
  stored before ending it.

The runs' own rows are the queue, and asyncio events say when to look. With several processes, `hear_of_...` reports what the others do.
The transactions are in `admission`, `leases`, `ending` and `records/interrupts`; this module only notifies after each commit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from random import random
from typing import Literal, TypeVar

from stepwell.clock import Clock
from stepwell.database import fence, sent_messages
from stepwell.database.access import all_of, owned_by
from stepwell.database.checkpoints.serializer import continue_ids_after
from stepwell.database.database import Separate, SqlDatabase
from stepwell.database.events.log import EventLog, insert_events
from stepwell.database.queue import admission, background, ending, leases
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
from stepwell.sql import Clause, Connection
from stepwell.state.steering import SteeringMessage
from stepwell.supervision import Duty

logger = logging.getLogger(__name__)

T = TypeVar("T")
Stops = Sequence[tuple[str, CancelAction]]

_LOOK_AGAIN_S = 30.0
_SOON_S = 0.01
_UNREAD_S = 60.0
_UNHEARD_S = 1.0
"""How long a caller that waits for a run admitted here listens for its end before it reads the database."""
_CANCELLED_AT_ONCE = 50
"""How many runs one transaction cancels. If there were thousands, other work would wait for it, and on Postgres workers that claim runs
would abort it each time."""


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
        """`sole`: no other process uses the database, so any worker not known here is dead."""
        self._database = database
        self._events = events
        self._clock = clock
        self._new_id = new_id
        self._changed = asyncio.Event()
        self._cancellations: asyncio.Queue[Cancellation] = asyncio.Queue()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._open: dict[str, None] = {}
        """Runs that were admitted here and have not ended, as far as this process knows. A caller that waits for one need not read the
        database first."""
        self._readers: dict[str, Callable[[], None]] = {}
        self._unread: set[str] = set()
        self._turn = ""
        self.capacity = 0
        """How many runs are driven here at once; 0 while no runs are claimed."""
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
        """Admit all runs or none. If the key has started runs before, returns those. The key is stored with the runs, in one
        transaction."""
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

        expected, made = [wanted.run.run_id for wanted in admissions], set[str]()
        # Before the commit, because another process may say right after it that one of them has ended.
        self._open.update(dict.fromkeys(expected))
        try:
            admitted, stopped, events = await self._database.write(work)
            made = {one.run.run_id for one in admitted}
        finally:
            for run_id in expected:
                if run_id not in made:
                    self._open.pop(run_id, None)
        self._tell_stopped(stopped, events)
        for one in admitted:
            if one.steered:
                self.hear_of_message(one.run.run_id)
        self._changed.set()
        return admitted

    async def admit_if(self, wanted: Admission, claim: Callable[[Connection], bool]) -> Admitted | None:
        """Admit a run if `claim` returns True, in the same transaction: both are stored, or neither."""
        self._database.require_room()
        now = self._now()

        def work(connection: Connection) -> tuple[Admitted | None, list[Run], list[RunEvent]]:
            if not claim(connection):
                return None, [], []
            admitted, to_stop = admission.admit(connection, wanted, now)
            return admitted, *_cancel(connection, to_stop, "replaced by a newer run", now)

        admitted, stopped, events = await self._database.write(work)
        self._tell_stopped(stopped, events)
        self._changed.set()
        return admitted

    async def recall(self, key: RequestKey) -> list[Admitted] | None:
        """The runs that a key has started; `None` if the key is new. `RequestKeyError` if the request differs, `NotFoundError` if one of
        the runs is deleted."""
        return await self._database.read(lambda connection: _recall(connection, key))

    async def note(self, key: RequestKey) -> None:
        """Store the key of a request that can't take effect twice anyway. From now on, the key is refused with a different request."""
        now = self._now()

        def work(connection: Connection) -> None:
            if request_keys.recall(connection, key) is None:
                request_keys.remember(connection, key, [], now)

        await self._database.write(work)

    async def forget(self, key: RequestKey) -> None:
        """Free a noted key, because its request was refused and nothing was done."""
        await self._database.write(lambda connection: request_keys.forget(connection, key))

    async def work(
        self, drive: Drive, *, worker: str, concurrency: int, draining: asyncio.Event, duty: Duty | None = None
    ) -> None:
        """Claim runs and drive them, `concurrency` at a time. Once `draining` is set, claim no more and return when all have ended.

        A failed claim ends neither this loop nor any run: `duty` is informed, and the claim is retried after a pause. A run that can't be
        read ends with that error, and the others continue.
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
                    # Notifications don't cut this pause short, because then the claim would be retried, and fail, all the time.
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
        """Runs driven here that are to be stopped."""
        while True:
            yield await self._cancellations.get()

    async def cancel(
        self, owner: str | None, run_ids: Sequence[str], action: CancelAction, *, reason: str = "cancelled by the caller"
    ) -> list[Run]:
        """Pending runs end now; running ones are signalled. Returns the affected runs, without unknown and ended ones."""
        now, stopped = self._now(), list[Run]()

        def cancel_some(portion: Sequence[str], connection: Connection) -> tuple[list[Run], list[RunEvent]]:
            known = [run_id for run_id in portion if _is_open(connection, owner, run_id)]
            return _cancel(connection, [(run_id, action) for run_id in known], reason, now)

        for start in range(0, len(run_ids), _CANCELLED_AT_ONCE):
            work = partial(cancel_some, run_ids[start : start + _CANCELLED_AT_ONCE])
            # Allowed even on a full disk, because a thread can be deleted once its runs have ended.
            runs, events = await self._database.write(work, frees=True)
            self._tell_stopped(runs, events)
            self._changed.set()
            stopped += runs
        return stopped

    async def cancel_task(self, task_id: str) -> list[Run]:
        """Stop a background task, whether it works or waits for an answer. Returns the runs that are stopped for it."""
        now = self._now()

        def work(connection: Connection) -> tuple[list[Run], list[RunEvent]]:
            return _cancel(connection, background.cancel(connection, task_id, now), "cancelled by the caller", now)

        runs, events = await self._database.write(work, frees=True)
        self._tell_stopped(runs, events)
        self._changed.set()
        return runs

    async def steer(
        self, owner: str | None, thread_id: str, run_id: str, message: SteeringMessage
    ) -> sent_messages.SentMessage:
        """Let a message wait for the run's next model call. When this returns, it is on disk."""
        self._database.require_room()
        now = self._now()
        (sent,) = await self._database.write(
            lambda connection: sent_messages.send(connection, owner, thread_id, run_id, [message], now)
        )
        self.hear_of_message(sent.run_id)
        return sent

    @contextmanager
    def reading_messages(self, run_id: str, wake: Callable[[], None]) -> Iterator[None]:
        """While the block lasts, `wake` is called for each message to the run."""
        self._readers[run_id] = wake
        if run_id in self._unread:
            self._unread.discard(run_id)
            wake()
        try:
            yield
        finally:
            if self._readers.get(run_id) is wake:
                del self._readers[run_id]

    async def ask(self, lease: Lease, interrupts: Sequence[PendingInterrupt]) -> None:
        """Store interrupts that have just come up while the run is still running, so that they can be answered from now on."""
        now = self._now()

        def work(connection: Connection) -> None:
            fence.require(connection, lease)
            ask(connection, lease.thread_id, lease.run_id, interrupts, now)

        await self._database.write(work)

    async def under_lease(self, lease: Lease, work: Callable[[Connection, float], tuple[T, Stops]]) -> T:
        """Do work for the run that holds the lease, in its lane, and stop the runs that the work names."""
        now = self._now()
        self._database.require_room()

        def checked(connection: Connection) -> tuple[T, list[Run], list[RunEvent]]:
            fence.require(connection, lease)
            result, to_stop = work(connection, now)
            return result, *_cancel(connection, to_stop, f"by run {lease.run_id}", now)

        result, stopped, events = await asyncio.wrap_future(self._database.submit(fence.in_order(lease, checked)))
        self._tell_stopped(stopped, events)
        self._changed.set()
        return result

    async def note_shown(self, thread_id: str, *, asked_by: str | None = None, interrupt_ids: Sequence[str] = ()) -> None:
        """Note that a user who may answer has seen these interrupts: they were in a state that was read, or a client following the run
        received its end."""
        now = self._now()
        # Writes only if necessary: most interrupts are already noted, and many threads ask nothing.
        unshown = await self._database.read(
            Separate(lambda connection: find_unshown(connection, thread_id, asked_by, interrupt_ids))
        )
        if unshown:
            await self._database.write(lambda connection: note_shown(connection, thread_id, unshown, now))

    async def finish(self, lease: Lease, outcome: RunOutcome) -> Run:
        now = self._now()

        def work(connection: Connection) -> tuple[Run, list[RunEvent]]:
            return ending.finish(connection, lease, outcome, now)

        run, events = await self._database.write(fence.guarded(work, lease.thread_id))
        self._tell_ended(lease.thread_id, lease.run_id, events)
        self._changed.set()
        return run

    async def hand_back(self, lease: Lease, events: Sequence[NewEvent] = (), *, usage: Sequence[ModelUsage] = ()) -> None:
        """Leave the run to another attempt. A run that is to be stopped ends here instead. `usage` is that of this attempt; a run's
        totals are the sum of all its attempts."""
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
        """Keep runs off a thread while something else writes to it. `ThreadBusyError` if a run is under way."""
        holder, now = f"hold:{purpose}:{self._new_id()}", self._now()
        taking = self._database.write_soon(lambda connection: self._hold(connection, owner, thread_id, holder, now))
        try:
            lease = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(self._release_unwanted)  # the database may still take the thread
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
        # Allowed even on a full disk, because a thread that stays held cannot even be deleted.
        return self._database.write_soon(lambda connection: leases.release(connection, lease), frees=True)

    def _release_unwanted(self, taking: asyncio.Future[Lease]) -> None:
        """Release a thread whose holder was cancelled before it learnt that it had the thread."""
        if taking.cancelled() or taking.exception() is not None:
            return
        with suppress(StorageUnavailableError):  # closed: the next start gives back abandoned holds
            self._release(taking.result()).add_done_callback(self._released_unwanted)

    def _released_unwanted(self, releasing: asyncio.Future[None]) -> None:
        if not releasing.cancelled() and (error := releasing.exception()) is not None:
            logger.error("could not give a thread back; it is held until the next start", exc_info=error)
        self._changed.set()

    async def recover(self, worker: str) -> list[Run]:
        """Hand back runs left by dead workers, and by `worker`, which has just started and drives nothing yet. With several processes,
        `work` also does this continuously."""
        now = self._now()

        def work(connection: Connection) -> leases.Recovered:
            return self._alive.recover(connection, worker, now)

        recovered = await self._database.write(work)
        self._tell_set_aside(recovered.set_aside)
        return recovered.runs

    def _recovered(self, recovered: leases.Recovered) -> None:
        """Announce recovered runs: they wait again, since nobody drove them."""
        self._tell_set_aside(recovered.set_aside)
        for run in recovered.runs:
            if run.finished:
                self._tell_ended(run.thread_id, run.run_id, ())
        if recovered.runs:
            logger.info("runs that nobody was driving any more will be driven again", extra={"count": len(recovered.runs)})
            self._changed.set()

    async def finished(self, run_id: str, timeout_s: float | None = None) -> Literal["finished", "gone", "timeout"]:
        """Wait until a run has ended."""

        async def look() -> str | None:
            return await self._database.read(Separate(lambda connection: _status(connection, run_id)))

        try:
            status = await self._look_until(run_id, look, lambda status: status is None or status in FINISHED, timeout_s)
        except TimeoutError:
            return "timeout"
        return "gone" if status is None else "finished"

    async def ended(self, run_id: str, read: Callable[[], Awaitable[T]], is_over: Callable[[T], bool]) -> T:
        """Wait until a run has ended, and return what is read then."""
        return await self._look_until(run_id, read, is_over)

    async def _look_until(
        self, run_id: str, look: Callable[[], Awaitable[T]], is_over: Callable[[T], bool], timeout_s: float | None = None
    ) -> T:
        """Look now, or soon if nothing was heard of the run's end yet, and whenever it may have ended, until it is over."""
        ended = asyncio.Event()
        self._waiting.setdefault(run_id, set()).add(ended)
        try:
            if timeout_s is None and run_id in self._open:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_UNHEARD_S):
                        await ended.wait()
                ended.clear()
            while not is_over(found := await look()):
                async with asyncio.timeout(timeout_s):
                    await ended.wait()
                ended.clear()
        finally:
            self._waiting[run_id].discard(ended)
            if not self._waiting[run_id]:
                del self._waiting[run_id]
        return found

    # What other processes have done. Called in the queue's event loop.

    def hear_of_work(self) -> None:
        """A run may have become claimable."""
        self._changed.set()

    def hear_of_end(self, run_id: str | None) -> None:
        """A run has ended; `None` means that any run may have ended."""
        if run_id is None:
            self._open.clear()
        for known in [run_id] if run_id else list(self._waiting):
            self._wake_waiting(known)

    def hear_of_message(self, run_id: str | None) -> None:
        """A message waits for a run; `None` means that one may wait for any run."""
        if run_id is not None and run_id not in self._readers:
            # The run may be claimed just now, from a row without this message. If it is driven elsewhere, this entry is deleted.
            self._unread.add(run_id)
            asyncio.get_running_loop().call_later(_UNREAD_S, self._unread.discard, run_id)
        for known in list(self._readers) if run_id is None else [run_id]:
            if wake := self._readers.get(known):
                wake()

    async def hear_of_cancellation(self, run_id: str) -> None:
        """A run that may be driven here is to be stopped."""
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
        """The runs that can be driven now, and in how many seconds to look again even without a notification."""
        if free <= 0:
            return [], _LOOK_AGAIN_S
        now = self._now()
        turn = self._turn
        # The first claims include a heartbeat, and `Heartbeats.beat` sends the later ones, so most claims need none.
        is_said = self._alive.is_said(worker, now)

        def work(connection: Connection) -> leases.ClaimResult:
            claimed = leases.claim(connection, worker, free, now, turn, since=self._alive.since(worker))
            if (claimed.claims or claimed.suspected) and not is_said:
                self._alive.say(connection, worker, now)
            return claimed

        claimed: leases.ClaimResult | None = await self._database.write_soon(work, exclusive=True)
        if claimed is None:  # another worker is claiming now
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
            logger.error("set aside a run that cannot be read: %s", one.reason, extra=fields)
            self._tell_ended(one.thread_id, one.run_id, one.events)
            self._changed.set()  # the next run of its thread may begin

    async def _drive(self, drive: Drive, claim: ClaimedRun, forgotten: Collection[asyncio.Task[None]]) -> None:
        """Call `drive`, which ends the run itself. If it fails to, the run is left to the next process. `forgotten` are tasks of this
        worker under a claim that the database has lost: the fence cannot tell them from this claim's task, so they must end first."""
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
        """Wait until there is a notification, the next run becomes due, or `stop` ends."""
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
        self._wake_waiting(run_id)

    def _wake_waiting(self, run_id: str) -> None:
        self._open.pop(run_id, None)
        for ended in self._waiting.get(run_id, ()):
            ended.set()


def _recall(connection: Connection, key: RequestKey) -> list[Admitted] | None:
    """The runs a key has started, as they are now."""
    made = request_keys.recall(connection, key)
    return None if made is None else [Admitted(_find_made(connection, run_id), rejoined=True) for run_id in made]


def _find_made(connection: Connection, run_id: str) -> Run:
    row = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    if row is None:
        raise NotFoundError("run", run_id, "This Idempotency-Key started it before, and it has been deleted since.")
    return run_from_row(row)


def _is_open(connection: Connection, owner: str | None, run_id: str) -> bool:
    where = all_of(
        Clause("run_id = ? AND status IN ('pending', 'running')", (run_id,)),
        owned_by(connection.dialect, owner, "runs", by_id=True),
    )
    return connection.execute(f"SELECT 1 FROM runs WHERE {where.sql}", where.bound).fetchone() is not None  # noqa: S608 - clauses of ours


def _cancel(
    connection: Connection, wanted: Sequence[tuple[str, CancelAction]], reason: str, now: float
) -> tuple[list[Run], list[RunEvent]]:
    """Mark running runs, end pending ones. Returns the runs as they are now (a deleted one as it was last)."""
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
    # A thread that is being erased counts as deleted, even while some of its rows remain.
    row = connection.execute(
        "SELECT runs.status FROM runs JOIN threads USING (thread_id) WHERE run_id = ?", (run_id,)
    ).fetchone()
    return row["status"] if row else None
