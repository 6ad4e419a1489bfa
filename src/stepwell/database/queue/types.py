"""What the queue takes and gives: admissions, claims, cancellations; and how long a lease lasts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stepwell.database.types import BareAnswer, CancelAction, Lease, Run
from stepwell.errors import AnswerShapeError

MAX_COUNTED_CRASHES = 5
"""How many deaths of a worker must point at a run until it is given up."""
LEASE_S = 8.0
"""For how long a worker that is not heard of keeps its leases. It says four times as often that it lives."""
HELD_UP_S = 120.0
"""For how long a step may keep the event loop of a worker to itself until others take its runs over, where there are any."""


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
