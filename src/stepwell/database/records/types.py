"""Types for finding and listing records: filters, pages, turns, usage, effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from stepwell.database.types import (
    ModelUsage,
    PendingInterrupt,
    RunStatus,
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
    """Part of the name; case does not matter."""
    served: Sequence[str] | None = None
    """Graphs that are served. Assistants that a server made for other graphs are left out: they are another project's."""


@dataclass(frozen=True)
class UsageRow:
    """A total; `key` is what it was grouped by (a run, a thread, an owner, a day, a model)."""

    key: str
    runs: int
    usage: ModelUsage
    unpriced_runs: int = 0
    """How many of the runs have an unknown price. The cost is that of the other runs."""

    def as_json(self) -> dict[str, Any]:
        """For HTTP and the command line."""
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
    """The usage of all runs of a thread, including the current one, and the tokens of its last model call."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unpriced_runs: int
    context_tokens: int | None = None
    context_model: str | None = None


@dataclass(frozen=True)
class DeviceClaim:
    """A device is about to carry out what an interrupt asks. Until `expires_at`, only this device's answer is accepted."""

    device_id: str
    expires_at: datetime


@dataclass(frozen=True)
class HeldClaim:
    """A claim, and the id with which its holder answers, renews it and gives it back. Nobody else learns the id."""

    claim_id: str
    claim: DeviceClaim


@dataclass(frozen=True)
class Waiting:
    """An open question, with what a list of questions shows about it."""

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
    """A run with an input, and the runs that continued after answers to its questions: one step of a conversation.

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
    """A page of turns, newest first. `head` is the turn at the end of the thread's current branch."""

    turns: Sequence[Turn]
    head: str | None
    more: bool


EffectOutcome = Literal["unknown", "under_way", "done", "not_done"]


@dataclass(frozen=True)
class EffectFilter:
    """`open`: only effects that a person should look at, because their outcome is unknown or no thread mentions them."""

    open: bool = True
    thread_id: str | None = None


@dataclass(frozen=True)
class EffectRecord:
    """Something that a tool which runs at most once has done or begun. The record outlives its thread, without the thread's content."""

    key: str
    tool: str
    outcome: EffectOutcome
    begun_at: datetime
    thread_id: str | None = None
    """`None`: the thread was deleted."""
    run_id: str | None = None
    owner: str | None = None
    taken_back: bool = False
    """The effect's run was rolled back with everything it wrote, so no thread mentions the effect."""
    note: str | None = None
    settled_at: datetime | None = None
    settled_by: str | None = None
    """Who found out what the unknown outcome was; `note` is what they noted, `settled_at` is when they did."""

    def as_json(self) -> dict[str, Any]:
        """For HTTP and the command line."""
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
