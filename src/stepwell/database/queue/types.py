"""The queue's input and output (admissions, claims, cancellations), and how long a lease lasts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.database.types import BareAnswer, CancelAction, Lease, Run
from stepwell.errors import AnswerShapeError
from stepwell.state.steering import SteeringMessage

MAX_COUNTED_CRASHES = 5
"""How many worker deaths must point at a run before it is given up."""
LEASE_S = 8.0
"""How long a worker keeps its leases without a heartbeat. It sends four in that time."""
IS_PENDING = "status IN ('pending', 'running') AND status = 'pending'"
"""A condition on `runs`. The first half repeats the condition of the partial index `runs_open`, because SQLite uses the index only then."""
HELD_UP_S = 120.0
"""How long a step may block a worker's event loop before others, if any, take its runs over."""


@dataclass(frozen=True)
class Admission:
    """A requested run. `run.request.resume` is empty here; `answers` holds the answers."""

    run: Run
    answers: Mapping[str, Any] | BareAnswer | None = None
    create_thread: bool = False
    """If the thread is missing, create it with the run's metadata instead of refusing."""
    thread_metadata: Mapping[str, Any] | None = None
    """The graph and the assistant, by which clients find their threads; merged into the thread's metadata."""
    title: str | None = None
    """The thread's title, if it has none yet."""
    max_active: int | None = None
    """Refuse with `LimitReachedError` if the owner has this many runs under way."""
    tenant: str = ""
    """Whose turn the run uses: the `tenant` of its workspace, or `owner:` followed by the owner."""
    max_of_tenant: int | None = None
    """Refuse with `LimitReachedError` if the tenant has this many runs under way."""
    temporary_thread: bool = False
    """The thread is created for this run only, and is not listed."""
    steering: Sequence[SteeringMessage] = ()
    """The messages of the run, if they are to enter the run under way."""
    given: frozenset[str] = frozenset()
    """The names in the run's `configurable` and `context` that this request gives; others are its assistant's."""
    caller: str | None = None
    """Who starts it, with the filters that decide whether the thread is theirs; None for the run's owner."""
    trusted: bool = False
    """Whether the program itself starts it, after its own checks: on whatever thread."""
    checked: Mapping[str, AnswerShapeError | None] | None = None
    """Interrupt -> what is wrong with its answer, for interrupts that were open when the answers were checked; `None` if they were not
    checked. An answer to any other interrupt is refused, since it was not checked."""


@dataclass(frozen=True)
class Admitted:
    run: Run
    rejoined: bool = False
    """Whether the answer was given before, and this is the run that received it."""
    steered: bool = False
    """Whether the messages were sent to this run, which is under way."""


@dataclass(frozen=True)
class ClaimedRun:
    """A run for this worker to drive."""

    run: Run
    lease: Lease


@dataclass(frozen=True)
class Cancellation:
    run_id: str
    action: CancelAction


Drive = Callable[[ClaimedRun], Awaitable[None]]
