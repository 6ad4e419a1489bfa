"""What records are found by and listed as: filters, pages, turns, usage, effects."""

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
