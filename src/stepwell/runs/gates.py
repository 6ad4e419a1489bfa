"""What a product has to say about runs: whether and how one is admitted, what its graph is given, and what happens when it ends.

```
order ─> Gate.admit, one after the other ─> admitted            a gate refuses by raising, before anything is stored
claim ─> Gate.attend ─> Attendance.given ─> the graph's config
                        Attendance.before_end ─> the run is ended ─> Attendance.after_end
```
The engine knows no product: no money, no bucket, no evidence. Each gate sees what the gates before it have made of the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from stepwell.database.types import Assistant, Lease, Run, RunStatus
from stepwell.runs.starting import Place, RunOrder

SaidUntilStopped = Callable[[str], tuple[int, int] | None]
"""Checkpoint namespace -> input and output tokens of the answer that was cut off there; None if nothing was."""


@dataclass(frozen=True)
class Arrival:
    """A run that asks to be admitted."""

    caller: str | None
    """Who asks; None for an operator."""
    owner: str
    """Whom the run will belong to."""
    thread_id: str
    """Also if the thread is only about to be created."""
    assistant: Assistant
    order: RunOrder
    grants: object = None
    """What the caller's key or token says for gates."""
    place: Place = field(default_factory=Place)


@dataclass(frozen=True)
class Attendance:
    """A product's part in one attempt at a run. The methods do nothing; a product overrides what it needs."""

    @property
    def given(self) -> Mapping[str, Any]:
        """What the graph finds in its configuration, under names that no caller can set."""
        return {}

    async def before_end(self, *, delivered: bool) -> None:
        """Before the run is ended, while its lease holds. `delivered`: the caller got all of its answers."""

    async def after_end(self, status: RunStatus) -> None:
        """After the run is ended."""


class Gate:
    """A product's say in every run. The methods do nothing; a product overrides what it needs."""

    takes: ClassVar[bool] = False
    """Its admission takes something, such as money: it comes after all gates that only look."""

    async def admit(self, arrival: Arrival) -> Arrival:
        """The arrival, changed or not. Raises a `RunError` to refuse the run: nothing of it was stored yet."""
        return arrival

    def check_stored(self, values: Any) -> None:
        """Look at values that are stored without a run, such as an update of a thread's state. Raises a `RunError` to refuse them."""

    def attend(self, run: Run, lease: Lease, said_until_stopped: SaidUntilStopped) -> Attendance | None:
        """The product's part in an attempt; None if it has none."""
        return None
