"""What an assistant, a thread and a run are, inside the program. On the wire they are LangGraph's (`server/schemas`).

Plain frozen values: whoever changes one writes a new one through the repository or the queue. `owner` is the user a thing belongs
to; the server sets it, never a request. An owner of `None` in a *query* means the program itself, which sees everything.
JSON values are kept as Python values here; how they are stored is up to the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from stepwell.secrets.values import secret_values, without_secrets

Json = Mapping[str, Any]

RunStatus = Literal["pending", "running", "success", "error", "timeout", "interrupted"]
ThreadStatus = Literal["idle", "busy", "interrupted", "error"]
MultitaskStrategy = Literal["reject", "enqueue", "interrupt", "rollback"]
CancelAction = Literal["interrupt", "rollback"]
Durability = Literal["sync", "async", "exit"]

FINISHED: tuple[RunStatus, ...] = ("success", "error", "timeout", "interrupted")
SYSTEM = "system"
"""The owner of what everybody may use and nobody may change: an assistant per graph."""


@dataclass(frozen=True)
class Assistant:
    """A graph with a configuration."""

    assistant_id: str
    graph_id: str
    owner: str
    name: str
    created_at: datetime
    updated_at: datetime
    version: int = 1
    description: str | None = None
    config: Json = field(default_factory=dict)
    context: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)


@dataclass(frozen=True)
class PendingInterrupt:
    """LangGraph's interrupt, waiting for an answer. `task_id` is the task that called `interrupt()`; it stays the same when the task
    runs again."""

    interrupt_id: str
    value: Any
    namespace: str = ""
    task_id: str = ""
    response_schema: Json | None = None
    asker: str | None = None
    """The subagent that asks; `None`: the agent itself."""


@dataclass(frozen=True)
class Thread:
    """A conversation. `values` and `interrupts` are those of the last finished run."""

    thread_id: str
    owner: str
    created_at: datetime
    updated_at: datetime
    state_updated_at: datetime | None = None
    status: ThreadStatus = "idle"
    metadata: Json = field(default_factory=dict)
    config: Json = field(default_factory=dict)
    values: Json | None = None
    interrupts: Sequence[PendingInterrupt] = ()
    error: Json | None = None


@dataclass(frozen=True)
class RunRequest:
    """What a run was asked to do: everything that is needed to drive it, and to drive it again after a crash.

    `resume` is always a map of interrupt id to answer; whoever admits the run has turned a bare answer into one.
    `command` holds the rest of a LangGraph command (`update`, `goto`).
    """

    assistant_id: str
    graph_id: str
    input: Any = None
    resume: Json | None = None
    command: Json | None = None
    config: Json = field(default_factory=dict)
    context: Json | None = None
    checkpoint: Json | None = None
    stream_modes: tuple[str, ...] = ("values",)
    stream_subgraphs: bool = False
    interrupt_before: tuple[str, ...] | Literal["*"] = ()
    interrupt_after: tuple[str, ...] | Literal["*"] = ()
    durability: Durability = "sync"
    webhook: str | None = None
    delete_thread_after: bool = False
    """A stateless run that is not kept: its thread goes when it ends."""
    cancel_on_disconnect: bool = False

    def without_secrets(self) -> RunRequest:
        """The same without what its name calls a secret: as it is shown, and as it is kept once the run has ended."""
        context = None if self.context is None else without_secrets(self.context)
        return replace(self, config=without_secrets(self.config), context=context)

    @property
    def secrets(self) -> frozenset[str]:
        """What must not turn up in an error or a log of the run."""
        return secret_values(self.config, self.context)


@dataclass(frozen=True)
class RequestKey:
    """A caller's own name for a request that starts something (`Idempotency-Key`), by which a repetition of it is known."""

    owner: str
    """Who sends it: callers' keys do not meet."""
    key: str
    fingerprint: str
    """Of the whole request: the same key with another one is a mistake."""


@dataclass(frozen=True)
class Run:
    """One drive through a graph. `attempt` counts how often it was begun; 0 means never."""

    run_id: str
    thread_id: str
    owner: str
    request: RunRequest
    status: RunStatus
    created_at: datetime
    updated_at: datetime
    metadata: Json = field(default_factory=dict)
    multitask_strategy: MultitaskStrategy = "enqueue"
    attempt: int = 0
    due_at: datetime | None = None
    resumes: str | None = None
    """The run whose interrupts this one answers."""
    cancel_action: CancelAction | None = None
    cancel_reason: str | None = None
    error: Json | None = None

    @property
    def finished(self) -> bool:
        return self.status in FINISHED


@dataclass(frozen=True)
class Lease:
    """The right to write to a thread. Every write of a driven run carries it, and is refused when `fence` is not the newest or `worker`
    does not have it."""

    thread_id: str
    run_id: str
    fence: int
    owner: str
    """Whose thread it is."""
    worker: str = ""
    origin: str = ""
    """What the thread's effect keys begin with, the same for its copies; if nothing is said, its id."""
    newest_checkpoint: str | None = None
    """The newest one stored when the lease was taken. Ids of checkpoints are made from clocks and say their order, so whoever
    writes under the lease makes only greater ones (`checkpoints.continue_ids_after`), whatever its own clock says."""


class Document(NamedTuple):
    """JSON of a thread on its way to where it is kept, as what it changes of an earlier one: see `documents`."""

    number: int
    base: int | None
    """The document that it changes; `None`: it is whole."""
    changes: bytes | None
    """`None`: it was handed over before."""
    text: bytes | None = None
    """All of it, where somebody wants it now."""


class StoredDocument(NamedTuple):
    """How an event is kept: as a document, or as a document's beginning, a piece of its own and the document's end."""

    document: Document
    kept: tuple[int, int] | None = None
    """How many bytes of the beginning and of the end."""


class RunEvent(NamedTuple):
    """Something a run said. `seq` grows within the thread; `data` is JSON, encoded once.

    A tuple, like all that is made for every single event: it is made in a third of the time of a frozen dataclass.
    """

    seq: int
    thread_id: str
    run_id: str
    event: str
    data: bytes
    complete: bool = True
    """Whether `data` is there. If not, the log has it: no reader is ever given such an event."""


class NewEvent(NamedTuple):
    """An event that has no place in the log yet. `data` may be empty where `stored` says how to put it together."""

    event: str
    data: bytes
    stored: StoredDocument | None = None


@dataclass(frozen=True)
class ModelUsage:
    """What a run used of one model. `cost_usd` is `None` where no price is known."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None


StepKind = Literal["node", "model", "tool", "agent"]
StepStatus = Literal["success", "error", "interrupted"]


@dataclass(frozen=True)
class Step:
    """Something that ran, from its start to its end."""

    kind: StepKind
    name: str
    started_at: datetime
    seconds: float
    status: StepStatus = "success"
    node: str | None = None
    agent: str | None = None
    """The subagent in which it ran; `None`: the agent itself."""
    namespace: str = ""
    call_id: str | None = None
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True)
class KeptStep:
    """A step as it lies with its thread. Numbers grow in the order in which steps ended."""

    number: int
    run_id: str
    step: Step


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended, for the one transaction that ends it."""

    status: RunStatus
    thread_status: ThreadStatus
    values: bytes | Document | None = None
    """The thread's values as JSON; `None` leaves them as they are."""
    result: bytes | Document | None = None
    """What to give to whoever waits for the run, when its journal has no values."""
    interrupts: Sequence[PendingInterrupt] | None = ()
    """The interrupts that are open now; others are dropped. `None` leaves those of others as they were. In both cases an answer
    that the run took and gave to no task, because it did not succeed, can be given again."""
    error: Json | None = None
    events: Sequence[NewEvent] = ()
    usage: Sequence[ModelUsage] = ()
    steps: Sequence[Step] = ()
    """What ran and is not kept yet."""
    nothing_ran: bool = False
    """The run failed before any of its steps began, as on an input that the graph cannot take. What it wrote is taken back, and the
    thread stands as before, with its open interrupts."""
    rolled_back: bool = False
    """The run is to be forgotten, with its checkpoints. If an effect stands behind it they stay, and the rest of this says how."""


@dataclass(frozen=True)
class BareAnswer:
    """An answer that names no interrupt. It is taken when exactly one is open, nothing runs, and it can only be meant for that one:
    the checkpoint it comes with, if any, is the one that asks; and where that checkpoint has asked before, the question had been shown to
    somebody (`note_shown`) when the answer came, so that it is no repetition of the one before."""

    answer: Any
    refused: bool = False
    """The server takes no bare answers at all."""
