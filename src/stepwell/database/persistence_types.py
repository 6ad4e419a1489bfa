"""All that must outlive the process, as one thing that is opened and closed: the seams together.

A saver is bound to a lease: what it writes is fenced and carries the run's id. A saver without a lease only reads.
A store is bound to an owner: nothing of anybody else can be reached through it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from stepwell.audit.vault import EvidenceVault
from stepwell.database.access_types import AccessRecords
from stepwell.database.events.types import EventLog
from stepwell.database.queue.types import RunQueue
from stepwell.database.types import Lease, PendingInterrupt, Run
from stepwell.database.records.types import Repository
from stepwell.database.shared_counts import SharedCounts
from stepwell.runs.upkeep.maintenance import Maintenance
from stepwell.runs.webhooks.sender import WebhookOutbox
from stepwell.tools.effect_journal import EffectJournal

if TYPE_CHECKING:
    from stepwell.payments.ledger import Ledger


class Persistence(Protocol):
    """Records, queue, events, checkpoints and store over one database."""

    @property
    def records(self) -> Repository: ...
    @property
    def queue(self) -> RunQueue: ...
    @property
    def events(self) -> EventLog: ...
    @property
    def access(self) -> AccessRecords: ...

    @property
    def maintenance(self) -> Maintenance: ...

    @property
    def webhooks(self) -> WebhookOutbox: ...

    @property
    def counts(self) -> SharedCounts:
        """What is limited for all servers together."""
        ...

    def saver(self, lease: Lease | None = None) -> BaseCheckpointSaver[Any]: ...
    def store(self, owner: str) -> BaseStore: ...

    def effects(self, lease: Lease) -> EffectJournal: ...

    def vault(self, thread_id: str, lease: Lease | None = None) -> EvidenceVault:
        """A thread's evidence; without a lease for reading only."""
        ...

    def ledger(self, lease: Lease | None = None) -> Ledger:
        """The money, which is nobody's thread: opened where somebody is paid, with the extra `payments`. With a lease, what is reserved,
        charged and confirmed is refused to whoever has lost it, and comes after everything that was stored under it before."""
        ...

    async def stored_charges(self, thread_id: str, keys: Sequence[str]) -> ChargesStored:
        """Which of these charges stand in the thread with their answers (`payment_charged`), and whether it is at rest."""
        ...

    async def run_wrote(self, thread_id: str, run_id: str) -> RunTraces:
        """What a run that is driven again has already left in the thread's checkpoints."""
        ...

    async def interrupt_tasks(self, thread_id: str) -> Mapping[str, str]:
        """Interrupt id -> the task that asked, for every interrupt but those the thread went on without."""
        ...

    async def keeps_steps(self, run: Run) -> bool:
        """Whether the run's steps stay when it is rolled back: an effect began in them that the thread must go on telling of."""
        ...

    async def open_interrupts(self, owner: str | None, thread_id: str) -> Sequence[PendingInterrupt]:
        """What waits for an answer on the owner's thread, in the order in which it was first seen."""
        ...

    async def run_result(self, run_id: str) -> bytes | None:
        """The final values of a finished run as JSON, if any are kept."""
        ...

    async def check(self) -> None:
        """Raise `StorageUnavailableError` when nothing can be written now (readiness)."""
        ...

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True)
class ChargesStored:
    """What a thread knows of charges."""

    kept: frozenset[str]
    """Of a thread that is gone, all: what it owes stays."""
    at_rest: bool
    """No run of it is under way or waits: what is not kept is lost."""


class RunTraces(Protocol):
    """What an earlier attempt of a run left behind."""

    @property
    def checkpointed(self) -> bool:
        """The root graph has a checkpoint of this run: go on from there, do not give the input again."""
        ...

    @property
    def resumed_tasks(self) -> frozenset[str]:
        """Tasks that have taken their answer in this run already: do not give it to them twice."""
        ...
