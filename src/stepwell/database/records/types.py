"""Finding and keeping records: a seam. The queue changes runs and threads while they are driven; this is for everything else.

`owner` in every call is whose things may be seen: a user, or `None` for the program itself. A thing of somebody else is
not found. The filter is part of the query that the database answers, never a check afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from stepwell.database.types import (
    Assistant,
    Document,
    KeptStep,
    Lease,
    ModelUsage,
    PendingInterrupt,
    RequestKey,
    Run,
    RunStatus,
    Step,
    Thread,
    ThreadStatus,
)


@dataclass(frozen=True)
class Page:
    limit: int = 10
    offset: int = 0
    sort_by: str = "created_at"
    descending: bool = True


@dataclass(frozen=True)
class ThreadFilter:
    """`metadata` and `values` match when every given key has the given value (JSON containment)."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    status: ThreadStatus | None = None
    ids: Sequence[str] = ()


@dataclass(frozen=True)
class AssistantFilter:
    metadata: Mapping[str, Any] = field(default_factory=dict)
    graph_id: str | None = None
    name: str | None = None
    """Part of the name, in any case."""


@dataclass(frozen=True)
class UsageRow:
    """A sum of usage; `key` is what it was grouped by (a run, a thread, an owner, a day, a model)."""

    key: str
    runs: int
    usage: ModelUsage
    unpriced_runs: int = 0
    """Runs among them whose price nobody knows: the cost is that of the others."""

    def as_json(self) -> dict[str, Any]:
        """As it goes out, over HTTP and on the command line."""
        used = self.usage
        return {
            "key": self.key,
            "runs": self.runs,
            "model": used.model,
            "calls": used.calls,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cost_usd": used.cost_usd,
            "unpriced_runs": self.unpriced_runs,
        }


@dataclass(frozen=True)
class ThreadUsage:
    """What all runs of a thread used, the one under way included, and what its last model call read and wrote."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unpriced_runs: int
    context_tokens: int | None = None
    context_model: str | None = None


@dataclass(frozen=True)
class DeviceClaim:
    """A device is about to carry out what an interrupt asks. Until `expires_at`, only an answer of its own is taken."""

    device_id: str
    expires_at: datetime


@dataclass(frozen=True)
class HeldClaim:
    """A claim, and the id by which its holder answers, renews it and gives it back. Nobody else is told the id."""

    claim_id: str
    claim: DeviceClaim


@dataclass(frozen=True)
class Waiting:
    """A question that waits for somebody, with what a list of them shows."""

    question: PendingInterrupt
    thread_id: str
    thread_metadata: Mapping[str, Any]
    run_id: str
    """The run that asked."""
    assistant_id: str
    created_at: datetime | None
    cursor: str
    claim: DeviceClaim | None = None


@dataclass(frozen=True)
class Turn:
    """A run that brought an input, and those that went on after answers to its questions: one step of a conversation.

    Turns with the same `previous` are versions of one message. `fork_from` is the checkpoint to start another version from.
    """

    turn_id: str
    previous: str | None
    run_ids: Sequence[str]
    status: RunStatus
    created_at: datetime
    checkpoint_id: str | None
    last_checkpoint_id: str | None
    fork_from: str | None
    input: Any
    cursor: int


@dataclass(frozen=True)
class Turns:
    """A page of turns, newest first. `head` is the one whose branch the thread stands on."""

    turns: Sequence[Turn]
    head: str | None
    more: bool


EffectOutcome = Literal["unknown", "under_way", "done", "not_done"]


@dataclass(frozen=True)
class EffectFilter:
    """`open`: only those that a person should look at, because nobody knows their outcome or no thread tells of them."""

    open: bool = True
    thread_id: str | None = None


@dataclass(frozen=True)
class EffectRecord:
    """Something that a tool which runs at most once did, or began to do. It outlives its thread, without what the thread said."""

    key: str
    tool: str
    outcome: EffectOutcome
    begun_at: datetime
    thread_id: str | None = None
    """`None`: the thread was deleted."""
    run_id: str | None = None
    owner: str | None = None
    taken_back: bool = False
    """Its run was rolled back with everything it said: no thread tells of it."""
    note: str | None = None
    settled_at: datetime | None = None
    settled_by: str | None = None
    """Who found out about an outcome that was unknown, what they noted, and when."""

    def as_json(self) -> dict[str, Any]:
        """As it goes out, over HTTP and on the command line."""
        return {
            "key": self.key,
            "tool": self.tool,
            "outcome": self.outcome,
            "begun_at": self.begun_at.isoformat(),
            "thread_id": self.thread_id,
            "run_id": self.run_id,
            "owner": self.owner,
            "taken_back": self.taken_back,
            "note": self.note,
            "settled_at": None if self.settled_at is None else self.settled_at.isoformat(),
            "settled_by": self.settled_by,
        }


UsageGroup = Literal["run", "thread", "owner", "day", "model"]


class Repository(Protocol):
    """Records in a database."""

    async def create_assistant(self, assistant: Assistant, *, if_exists: Literal["raise", "do_nothing"]) -> Assistant: ...
    async def get_assistant(self, owner: str | None, assistant_id: str) -> Assistant: ...
    async def search_assistants(self, owner: str | None, wanted: AssistantFilter, page: Page) -> list[Assistant]: ...
    async def count_assistants(self, owner: str | None, wanted: AssistantFilter) -> int: ...
    async def save_assistant_version(self, owner: str | None, assistant: Assistant) -> Assistant:
        """Keep `assistant` as a new version (the next number), and make that the current one."""
        ...

    async def assistant_versions(
        self, owner: str | None, assistant_id: str, metadata: Mapping[str, Any], page: Page
    ) -> list[Assistant]: ...
    async def set_assistant_version(self, owner: str | None, assistant_id: str, version: int) -> Assistant: ...
    async def delete_assistant(self, owner: str | None, assistant_id: str, *, delete_threads: bool = False) -> None: ...

    async def create_thread(
        self, thread: Thread, *, if_exists: Literal["raise", "do_nothing"], key: RequestKey | None = None
    ) -> Thread:
        """`do_nothing` gives the caller's own existing thread; somebody else's thread of that id is `AlreadyExistsError`. With a key that
        has made a thread before, it is that one, as long as it is there."""
        ...

    async def get_thread(self, owner: str | None, thread_id: str, *, with_values: bool = True) -> Thread:
        """Values may be large, and cost what they weigh: whoever does not need them leaves them out, and gets `None`."""
        ...

    async def merge_thread_metadata(self, owner: str | None, thread_id: str, metadata: Mapping[str, Any]) -> Thread: ...
    async def save_thread_state(
        self, lease: Lease, *, values: bytes | Document, interrupts: Sequence[PendingInterrupt], status: ThreadStatus
    ) -> Thread:
        """Show what somebody who holds the thread (`RunQueue.hold`) has written into its checkpoints, and end the hold.

        `values` is JSON. Interrupts that are not among `interrupts` are dropped, and an earlier error is forgotten. What a hold
        wrote and did not save is gone after a crash. Refused with `LeaseLostError` like any write.
        """
        ...

    async def search_threads(
        self, owner: str | None, wanted: ThreadFilter, page: Page, *, with_values: bool = True
    ) -> list[Thread]: ...
    async def count_threads(self, owner: str | None, wanted: ThreadFilter) -> int: ...
    async def copy_thread(self, owner: str | None, thread_id: str, new_id: str, key: RequestKey | None = None) -> Thread:
        """A thread with the same checkpoints, values and metadata, and no runs. A key is as for `create_thread`."""
        ...

    async def delete_thread(self, owner: str | None, thread_id: str) -> None:
        """Erase the thread and everything that hangs on it: runs, events, checkpoints, interrupts, files, usage detail.

        That it acted is remembered: of an effect stay key, tool, time and outcome.
        A thread with a run under way is refused with `ThreadBusyError`: cancel first.
        """
        ...

    async def get_run(self, owner: str | None, thread_id: str, run_id: str) -> Run: ...
    async def list_runs(self, owner: str | None, thread_id: str, status: RunStatus | None, page: Page) -> list[Run]: ...
    async def delete_run(self, owner: str | None, thread_id: str, run_id: str) -> None:
        """Forget a finished run and its events; its checkpoints stay, the thread stands on them."""
        ...

    async def open_runs(
        self, owner: str | None, thread_id: str | None, status: Literal["pending", "running"] | None
    ) -> list[str]:
        """Ids of runs that have not ended: of a thread or of all, with a status or with either."""
        ...

    async def count_active_runs(self, owner: str) -> int:
        """Runs of this owner that are pending or running."""
        ...

    async def effects(self, owner: str | None, wanted: EffectFilter, page: Page) -> list[EffectRecord]:
        """Newest first. Those of deleted threads are nobody's: only the program itself sees them."""
        ...

    async def settle_effect(self, owner: str | None, key: str, *, happened: bool, note: str = "", by: str) -> EffectRecord:
        """Say what became of an effect whose outcome is unknown; the model is told when the thread goes on.

        Saying the same again changes nothing. `InvalidRequestError` where the outcome is known to be another, `ThreadBusyError`
        while the run is under way.
        """
        ...

    async def usage(
        self, owner: str | None, group_by: UsageGroup, *, thread_id: str | None = None, since: datetime | None = None
    ) -> list[UsageRow]:
        """`since`: only runs that ended then or later."""
        ...

    async def thread_usage(self, owner: str | None, thread_id: str) -> ThreadUsage: ...

    async def add_steps(self, lease: Lease, steps: Sequence[Step]) -> None:
        """Keep what ran, with the thread. Refused with `LeaseLostError` like any write."""
        ...

    async def steps(
        self, owner: str | None, thread_id: str, *, run_id: str | None = None, after: int = 0, limit: int = 100
    ) -> list[KeptStep]:
        """In the order in which they ended, behind number `after`: of the thread, or of one run."""
        ...

    async def turns(self, owner: str | None, thread_id: str, *, before: int | None = None, limit: int = 50) -> Turns:
        """Newest first, behind the cursor `before`."""
        ...

    async def waiting(
        self, owner: str | None, *, thread_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> list[Waiting]:
        """Open questions of a thread or of all threads, those that have waited longest first, behind the cursor `after`."""
        ...

    async def count_waiting(self, owner: str | None, *, thread_id: str | None = None) -> int: ...

    async def claim(
        self,
        owner: str | None,
        thread_id: str,
        interrupt_id: str,
        *,
        device_id: str,
        ttl_s: float,
        claim_id: str | None = None,
    ) -> HeldClaim:
        """Let a device carry out what a `client_tool_execution` asks; with the `claim_id` that it holds, for longer.

        `InterruptClaimedError` while another claim lives, or when the named one is gone; `InterruptGoneError` once the interrupt
        waits no longer; `InvalidRequestError` for an interrupt that a person answers.
        """
        ...

    async def release_claim(self, owner: str | None, thread_id: str, interrupt_id: str, claim_id: str) -> None:
        """Give a claim back. One that is gone already is no error; another device's, while it lives, is."""
        ...
