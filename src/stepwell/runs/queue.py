"""Which run is driven when, by whom: a seam.

```
admit ──> pending ──claim──> running ──finish──> success | error | timeout | interrupted
             ^                  │
             └── hand_back ─────┘      (drain, or recovery after a crash: attempt counts up at the next claim;
                                        one that is to be stopped ends instead)
```

Each arrow is one transaction. Rules every implementation keeps:
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
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from stepwell.errors import AnswerShapeError
from stepwell.runs.records import CancelAction, Lease, ModelUsage, NewEvent, PendingInterrupt, RequestKey, Run, RunOutcome
from stepwell.runs.supervision import Duty

MAX_COUNTED_CRASHES = 5
"""How many deaths of a worker must point at a run until it is given up."""
LEASE_S = 8.0
"""For how long a worker that is not heard of keeps its leases. It says four times as often that it lives."""
HELD_UP_S = 120.0
"""For how long a step may keep the event loop of a worker to itself until others take its runs over, where there are any."""


@dataclass(frozen=True)
class BareAnswer:
    """An answer that names no interrupt. It is taken when exactly one is open, nothing runs, and it can only be meant for that one:
    the checkpoint it comes with, if any, is the one that asks; and where that checkpoint has asked before, the question had been shown to
    somebody (`note_shown`) when the answer came, so that it is no repetition of the one before."""

    answer: Any
    refused: bool = False
    """The server takes no bare answers at all."""


@dataclass(frozen=True)
class Admission:
    """A run that somebody asks for. `run.request.resume` is empty here; `answers` says what is answered."""

    run: Run
    answers: Mapping[str, Any] | BareAnswer | None = None
    create_thread: bool = False
    """Make the thread when it is not there, with the run's metadata, instead of refusing."""
    thread_metadata: Mapping[str, Any] | None = None
    """Merged into the thread's: graph and assistant, by which clients find their threads."""
    max_active: int | None = None
    """Refuse with `LimitReachedError` when the owner has this many runs under way."""
    tenant: str = ""
    """Whose turn the run takes: `tenant` of its workspace, or `owner:` with the owner."""
    max_of_tenant: int | None = None
    """Refuse with `LimitReachedError` when the tenant has this many runs under way."""
    temporary_thread: bool = False
    """The thread is made for this run only, and is not listed."""
    checked: Mapping[str, AnswerShapeError | None] | None = None
    """Interrupt -> what is wrong with its answer, for those that were open when somebody looked; `None`: nobody did. An answer that is
    to be taken for any other interrupt is refused, since nobody knows whether it fits."""


@dataclass(frozen=True)
class Admitted:
    run: Run
    rejoined: bool = False
    """The answer had been given before: this is the run that took it."""


@dataclass(frozen=True)
class ClaimedRun:
    """A run that is ours to drive."""

    run: Run
    lease: Lease


@dataclass(frozen=True)
class Cancellation:
    run_id: str
    action: CancelAction


Drive = Callable[[ClaimedRun], Awaitable[None]]


class RunQueue(Protocol):
    """Admits, hands out and ends runs."""

    async def admit(self, admission: Admission, key: RequestKey | None = None) -> Admitted: ...
    async def admit_many(self, admissions: Sequence[Admission], key: RequestKey | None = None) -> list[Admitted]:
        """All of them or none. With a key that has started runs before, it is those; the key is kept with the runs, in one transaction."""
        ...

    async def recall(self, key: RequestKey) -> list[Admitted] | None:
        """What a key has started; `None` if it is new. `RequestKeyError` if that was another request, `NotFoundError` if it is gone."""
        ...

    async def note(self, key: RequestKey) -> None:
        """Keep a key for something that is done once by itself: from now on it is refused with another request."""
        ...

    async def forget(self, key: RequestKey) -> None:
        """Free a noted key: its request was refused, and nothing was done."""
        ...

    async def work(
        self, drive: Drive, *, worker: str, concurrency: int, draining: asyncio.Event, duty: Duty | None = None
    ) -> None:
        """Claim runs and drive them, `concurrency` at a time. Once `draining` is set, claim no more and return when all have ended.

        A claim that fails ends neither this nor a run under way: `duty` is told, and it is tried again after a pause. A run that
        cannot be read ends with that as its error, and the others go on.
        """
        ...

    def cancellations(self) -> AsyncIterator[Cancellation]:
        """Runs under way here that somebody wants stopped."""
        ...

    async def cancel(
        self, owner: str | None, run_ids: Sequence[str], action: CancelAction, *, reason: str = "cancelled by the caller"
    ) -> list[Run]:
        """Pending runs end now; running ones are told. Gives the runs concerned as they stand, unknown and ended ones left out."""
        ...

    async def ask(self, lease: Lease, interrupts: Sequence[PendingInterrupt]) -> None:
        """Keep interrupts that have just come up while the run still goes on: they may be answered from now on."""
        ...

    async def note_shown(self, thread_id: str, *, asked_by: str | None = None, interrupt_ids: Sequence[str] = ()) -> None:
        """Whoever may answer has been told of these interrupts: they stand in a state that was read, or the end of the run that asks was
        told to whoever followed it."""
        ...

    async def finish(self, lease: Lease, outcome: RunOutcome) -> Run: ...
    async def hand_back(self, lease: Lease, events: Sequence[NewEvent] = (), *, usage: Sequence[ModelUsage] = ()) -> None:
        """Let another attempt go on. A run that somebody wants stopped ends here instead. `usage` is that of this attempt; the sums
        of a run are those of all its attempts."""
        ...

    def hold(self, owner: str | None, thread_id: str, purpose: str) -> AbstractAsyncContextManager[Lease]:
        """Keep runs off a thread while something else writes to it. `ThreadBusyError` when a run is under way."""
        ...

    async def recover(self, worker: str) -> list[Run]:
        """Hand back what `worker`, which has just started and drives nothing yet, and workers that are not heard of have left running.
        While `work` goes on, an implementation that several processes use does so by itself."""
        ...

    async def finished(self, run_id: str, timeout_s: float | None = None) -> Literal["finished", "gone", "timeout"]:
        """Wait until a run has ended."""
        ...
