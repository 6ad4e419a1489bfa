"""What an assistant, a thread and a run are, inside the program. On the wire they have LangGraph's form (`server/schemas`).

Plain frozen values: to change one, write a new one through the repository or the queue. `owner` is the user a record belongs to; it is set
by the server and never taken from a request. In a *query*, an owner of `None` means the program itself, which sees everything. JSON is held
as Python values here; the database decides how to store it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple

from stepwell.secrets.values import secret_values, without_secrets
from stepwell.tools.background import TaskStatus

Json = Mapping[str, Any]

RunStatus = Literal["pending", "running", "success", "error", "timeout", "interrupted"]
ThreadStatus = Literal["idle", "busy", "interrupted", "error"]
MultitaskStrategy = Literal["reject", "enqueue", "interrupt", "rollback", "steer"]
STEER: MultitaskStrategy = "steer"
"""Our name for: let the message enter the run under way. LangGraph has not chosen one (langgraph #9046)."""
CancelAction = Literal["interrupt", "rollback"]
Durability = Literal["sync", "async", "exit"]

FINISHED: tuple[RunStatus, ...] = ("success", "error", "timeout", "interrupted")
SYSTEM = "system"
"""Owns what everybody may use and nobody may change: one assistant per graph."""


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
    """The subagent that asks; `None` for the agent itself."""


TtlStrategy = Literal["delete", "keep_latest"]


@dataclass(frozen=True)
class ThreadTtl:
    """How long a thread lives without being used. `keep_latest` deletes only its history."""

    strategy: TtlStrategy
    minutes: float | None
    """None takes a thread's time to live away."""
    expires_at: datetime | None = None


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
    ttl: ThreadTtl | None = None
    """Its own time to live. It is read only if asked for."""


@dataclass(frozen=True, kw_only=True)
class RunFields:
    """The fields that a caller's order for a run and the stored request have in common, with the same meaning as in LangGraph."""

    input: Any = None
    command: Json | None = None
    config: Json = field(default_factory=dict)
    context: Json | None = None
    checkpoint: Json | None = None
    stream_modes: Sequence[str] = ("values",)
    stream_subgraphs: bool = False
    interrupt_before: Sequence[str] | Literal["*"] = ()
    interrupt_after: Sequence[str] | Literal["*"] = ()
    durability: Durability = "sync"
    webhook: str | None = None

    def shared(self) -> dict[str, Any]:
        """These fields by name."""
        return {each.name: getattr(self, each.name) for each in fields(RunFields)}


@dataclass(frozen=True)
class RunRequest(RunFields):
    """What a run was asked to do: everything needed to drive it, and to drive it again after a crash.

    `resume` is always a map of interrupt id to answer; bare answers were converted when the run was admitted.
    `command` holds the rest of a LangGraph command (`update`, `goto`).
    """

    assistant_id: str
    graph_id: str
    resume: Json | None = None
    delete_thread_after: bool = False
    """Whether this is a stateless run, whose thread is deleted when the run ends."""
    keep_if_asked: bool = False
    """Whether such a thread stays, like any other, if the run ends with a question."""
    cancel_on_disconnect: bool = False
    counts_for: str | None = None
    """The thread that the usage of a side question counts for. Never taken from a caller."""
    background: Json | None = None
    """What a run of a background task has to know of its task and its parent (`queue/background`). Never taken from a caller."""
    user: Json | None = None
    """What the project's `authenticate` returned about the run's user. Never taken from a caller."""
    stamp: Json | None = None
    """What the project's auth handlers put into the metadata, also for threads that the run creates. Never taken from a caller."""

    def without_secrets(self) -> RunRequest:
        """A copy without secrets, recognised by their names: for display, and for storage once the run has ended."""
        context = None if self.context is None else without_secrets(self.context)
        user = None if self.user is None else without_secrets(self.user)
        return replace(self, config=without_secrets(self.config), context=context, user=user)

    @cached_property
    def secrets(self) -> frozenset[str]:
        """Values that must not appear in the run's errors or logs."""
        return secret_values(self.config, self.context, self.user)


@dataclass(frozen=True)
class RequestKey:
    """A caller's own name for a request that starts something (`Idempotency-Key`); it identifies repeats of the request."""

    owner: str
    """The caller. Keys of different callers don't conflict."""
    key: str
    fingerprint: str
    """Hash of the whole request: the same key with a different request is a mistake. Empty to find what the key has started, whatever the
    request was."""


@dataclass(frozen=True)
class Run:
    """One drive through a graph. `attempt` counts how often it was started; 0 means never."""

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
    steered: int = 0
    """How many messages were sent to it while it worked."""

    @property
    def finished(self) -> bool:
        return self.status in FINISHED


@dataclass(frozen=True)
class BackgroundTask:
    """A subagent's task that runs on a thread of its own, as it is now."""

    task_id: str
    """Also the id of its thread."""
    parent_thread_id: str
    owner: str
    agent_name: str
    description: str
    run_id: str
    """Its newest run."""
    status: TaskStatus
    created_at: datetime
    updated_at: datetime
    result: str | None = None
    error: str | None = None
    question: str | None = None
    """What it asks, as JSON, if it waits for an answer."""
    spent: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Lease:
    """The right to write to a thread. Every write of a driven run carries it, and is refused if `fence` is not the newest or `worker`
    is not the holder."""

    thread_id: str
    run_id: str
    fence: int
    owner: str
    """The thread's owner."""
    worker: str = ""
    origin: str = ""
    """Prefix of the thread's effect keys, shared with its copies. Default: the thread's id."""
    newest_checkpoint: str | None = None
    """The newest checkpoint when the lease was taken. Checkpoints are ordered by their ids, which are made from clocks. So a worker that
    writes under the lease only makes greater ids (`checkpoints.continue_ids_after`), whatever its own clock says."""


class Document(NamedTuple):
    """A thread's JSON on its way to storage, as changes to an earlier document: see `documents`."""

    number: int
    base: int | None
    """The number of the document that this one changes; `None` if this one is complete."""
    changes: bytes | None
    """`None` if the document was already submitted."""
    text: bytes | None = None
    """The whole text, if it is needed now."""
    marks: str | None = None
    """The marks of a thread's values, if these are meant (`marks`)."""


class StoredDocument(NamedTuple):
    """How an event is stored: as a document, or as the beginning of a document, a piece of its own and the document's end."""

    document: Document
    kept: tuple[int, int] | None = None
    """How many bytes of the document's beginning and of its end are used."""


class RunEvent(NamedTuple):
    """An event of a run. `seq` grows within the thread; `data` is JSON, encoded once.

    It is a tuple, like everything that is created for each event, because a tuple takes a third of the time of a frozen dataclass.
    """

    seq: int
    thread_id: str
    run_id: str
    event: str
    data: bytes
    complete: bool = True
    """Whether `data` is present. If not, the data is only in the log; readers never receive such an event."""


class NewEvent(NamedTuple):
    """An event without a place in the log yet. `data` may be empty if `stored` says how to rebuild it."""

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
    """The subagent in which it ran; `None` for the agent itself."""
    namespace: str = ""
    call_id: str | None = None
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True)
class KeptStep:
    """A step stored with its thread. Numbers grow in the order in which steps ended."""

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
    """What to return to clients waiting for the run, if its journal has no values."""
    interrupts: Sequence[PendingInterrupt] | None = ()
    """The interrupts open now; all others are dropped. `None` leaves existing ones as they were. In both cases, an answer that the run
    accepted but no task received, because the run failed, can be given again."""
    error: Json | None = None
    events: Sequence[NewEvent] = ()
    usage: Sequence[ModelUsage] = ()
    steps: Sequence[Step] = ()
    """Steps that ran and are not stored yet."""
    titles: Mapping[str, str | None] = field(default_factory=dict)
    """Title of the thread -> the one that takes its place; None takes it away. For titles made of a message that was changed."""
    nothing_ran: bool = False
    """The run failed before any of its steps began, for example on input the graph can't accept. Its writes are undone, and the thread
    stays as it was, with its open interrupts."""
    rolled_back: bool = False
    """Delete the run with its checkpoints. If an effect requires them to be kept (`must_keep_steps`), they stay, and the other fields say
    how the run ended."""


@dataclass(frozen=True)
class BareAnswer:
    """An answer that names no interrupt. It is accepted if exactly one interrupt is open, no run is under way, and the answer can only be
    meant for that interrupt. This means that the answer's checkpoint, if given, is the one that asks. And if the same checkpoint asked
    another question before, the open question must have been shown to a user (`note_shown`) before the answer came, so that the answer
    can't be a repeat of the previous one."""

    answer: Any
    refused: bool = False
    """The server accepts no bare answers at all."""
